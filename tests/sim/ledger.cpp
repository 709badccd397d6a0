// SPDX-License-Identifier: Apache-2.0
#include "sim/ledger.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace holt::sim {

Ledger::Objection Ledger::granted(LeaseRequest const& request, Name const& name, Fence fence,
                                  Nanos started, Nanos now) {
  auto& entry = entries_[name.text()];
  bool const again = entry.owner == request.owner && entry.fence == fence;
  if (!again && fence <= entry.fence) {
    return fmt::format("fences grow: {} got fence {} for {} after {} was granted to {}",
                       request.owner.text(), fence.value(), name.text(), entry.fence.value(),
                       entry.owner.text());
  }
  if (!again && !entry.let_go && now < entry.not_before) {
    return fmt::format("a name is granted once: {} got {} {} ms before that of {} can have ended",
                       request.owner.text(), name.text(),
                       (entry.not_before - now) / std::chrono::milliseconds(1), entry.owner.text());
  }
  if (!again) {
    bool const let_go = entry.being_freed > 0 || leaving_.contains(request.owner.text());
    entry = Entry{request.owner, fence, let_go, {}, {}, entry.being_freed};
  }
  entry.not_before = std::max(entry.not_before, started + request.ttl);
  entry.not_after = std::max(entry.not_after, now + request.ttl);
  return std::nullopt;
}

Ledger::Objection Ledger::renewed(LeaseRenewal const& renewal, Nanos started, Nanos now) {
  auto& entry = entries_[renewal.name.text()];
  if (entry.owner != renewal.owner) {
    return fmt::format("only the owner renews: {} renewed {} of {}", renewal.owner.text(),
                       renewal.name.text(), entry.owner.text());
  }
  if (entry.not_after <= started) {
    return fmt::format("what has ended is not renewed: {} of {}", renewal.name.text(),
                       renewal.owner.text());
  }
  entry.not_before = std::max(entry.not_before, started + renewal.ttl);
  entry.not_after = std::max(entry.not_after, now + renewal.ttl);
  return std::nullopt;
}

Ledger::Objection Ledger::trusted(Name const& name, Owner const& owner, Nanos until) const {
  auto const found = entries_.find(name.text());
  if (found == entries_.end()) return fmt::format("{} trusts what nobody granted", owner.text());
  auto const& entry = found->second;
  if (entry.owner != owner) {
    return fmt::format("held() means that nobody else was granted it: {} trusts {}, which {} has",
                       owner.text(), name.text(), entry.owner.text());
  }
  if (entry.let_go || until <= entry.not_before) return std::nullopt;
  return fmt::format("trust ends before the lease: {} trusts {} {} us too long", owner.text(),
                     name.text(), (until - entry.not_before) / std::chrono::microseconds(1));
}

void Ledger::releasing(Name const& name, Owner const& owner) {
  leaving_.insert(owner.text());
  auto& entry = entries_[name.text()];
  if (entry.owner == owner) entry.let_go = true;
}

void Ledger::freeing(Name const& name) {
  auto& entry = entries_[name.text()];
  entry.let_go = true;
  ++entry.being_freed;
}

void Ledger::freed(Name const& name) { --entries_[name.text()].being_freed; }

void Ledger::power_cut(Nanos now) {
  for (auto& [name, entry] : entries_) {
    entry.let_go = true;
    entry.not_before = std::min(entry.not_before, now);
    entry.not_after = std::min(entry.not_after, now);
    entry.being_freed = 0;
  }
}

}  // namespace holt::sim
