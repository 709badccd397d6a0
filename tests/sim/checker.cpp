// SPDX-License-Identifier: Apache-2.0
#include "sim/checker.hpp"

#include "base/check.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace holt::sim {
namespace {

/// How long a lost lease is looked at.
constexpr Nanos remembered = std::chrono::seconds(5);

std::string who(SimEnv const& env, KeptLease const& lease) {
  return fmt::format("{} (fence {}, {})", lease.owner().text(), lease.fence().value(),
                     env.world().name(env.node()));
}

}  // namespace

void Checker::violated(std::string what) {
  if (violation_) return;
  world_.trace().line("VIOLATION " + what);
  violation_ = std::move(what);
}

void Checker::object(Ledger::Objection objection) {
  if (objection) violated(std::move(*objection));
}

void Checker::answered(LeaseRequest const& request, std::expected<LeaseGrant, Busy> const& answer,
                       Nanos started) {
  if (!answer) {
    waits(line(request.names.front()), request, answer.error());
    return;
  }
  if (answer->fences.size() != request.names.size()) {
    violated("a grant has one fence per name");
    return;
  }
  for (std::size_t i = 0; i < request.names.size(); ++i) {
    granted(request, request.names[i], answer->fences[i], started);
  }
}

/// Who is answered Busy hears to whom the name was offered, if it was: also when this very question
/// found the lease ended.
void Checker::waits(Line& line, LeaseRequest const& request, Busy const& answer) {
  auto const is_in_line = [&line](Owner const& owner) {
    return std::ranges::find(line.waiting, owner, &Waiter::owner) != line.waiting.end();
  };
  if (is_in_line(answer.holder)) {
    if (options_.calm && !line.offered) check_order(request.names.front(), line, answer.holder);
    served(line, answer.holder);
    line.offered = answer.holder;
  }
  if (answer.place == 0 || is_in_line(request.owner)) return;
  if (request.priority != LeaseRequest::usual_priority) line.ranked = true;
  auto const next = std::ranges::upper_bound(line.waiting, request.priority, {}, &Waiter::priority);
  line.waiting.insert(next, {request.owner, request.priority});
}

void Checker::served(Line& line, Owner const& owner) {
  std::erase_if(line.waiting, [&owner](Waiter const& waiter) { return waiter.owner == owner; });
}

/// As the store does when a name becomes free: later comers do not change it, whoever they are.
void Checker::offer(Line& line) {
  line.offered.reset();
  if (line.waiting.empty()) return;
  line.offered = line.waiting.front().owner;
  line.waiting.pop_front();
}

void Checker::granted(LeaseRequest const& request, Name const& name, Fence fence, Nanos started) {
  object(ledger_.granted(request, name, fence, started, world_.now()));
  auto& line = this->line(name);
  if (line.holder == request.owner && line.last == fence) return;
  ++grants_;
  if (options_.calm) check_order(name, line, request.owner);
  served(line, request.owner);
  line.offered.reset();
  line.certain = true;
  line.free_since.reset();
  line.last = fence;
  line.holder = request.owner;
  line.occupied = true;
}

void Checker::renewed(LeaseRenewal const& renewal, std::expected<void, Lost> const& answer,
                      Nanos started) {
  if (answer) object(ledger_.renewed(renewal, started, world_.now()));
}

void Checker::releasing(Name const& name, Owner const& owner) {
  ledger_.releasing(name, owner);
  auto const found = work_.find(owner.text());
  if (found == work_.end()) return;
  if (*found->second) violated(name.text() + " is released while its work goes on");
}

/// An offer may be freed by any break, a lease only by the unsafe one.
void Checker::breaking(BreakRequest const& request) {
  if (request.now) ledger_.freeing(request.name);
}

/// Without faults: first come, first served within a priority, and promptly.
void Checker::check_order(Name const& name, Line& line, Owner const& owner) {
  auto const first = line.offered           ? line.offered
                     : line.waiting.empty() ? std::optional<Owner>()
                                            : line.waiting.front().owner;
  if (line.certain && first && *first != owner) {
    violated(fmt::format("first come, first served: {} got {} although {} was before it",
                         owner.text(), name.text(), first->text()));
  }
  if (line.free_since && world_.now() - *line.free_since > handover) {
    violated(fmt::format("prompt hand-over: {} was free for {} ms before {} had it", name.text(),
                         (world_.now() - *line.free_since).count() / 1'000'000, owner.text()));
  }
}

/// The holder lets go, or a waiter leaves: then an offer made to it goes on to the next.
void Checker::released(Name const& name, Owner const& owner,
                       std::expected<void, Lost> const& answer) {
  auto& line = this->line(name);
  bool const ended = !answer && answer.error().reason == LossReason::expired;
  bool const had = line.holder == owner && line.occupied && (answer || ended);
  bool const was_offered = line.offered == owner;
  auto const stood = line.waiting.size();
  served(line, owner);
  if (answer && line.holder == owner) line.occupied = false;
  line.free_since.reset();
  if (answer && !line.occupied && !line.waiting.empty()) line.free_since = world_.now();
  if (had || was_offered) offer(line);
  // The store may have found the lease ended and offered it to the next, whom we do not hear of:
  // it is the first in line, unless somebody comes who goes before.
  if (stood != line.waiting.size() && !had && !was_offered) line.certain = !line.ranked;
}

void Checker::broke(BreakRequest const& request, BreakResult answer) {
  auto& line = this->line(request.name);
  if (request.now) ledger_.freed(request.name);
  if (answer == BreakResult::asked) broken_.try_emplace(line.holder.text(), world_.now());
  if (answer != BreakResult::freed) return;
  if (request.now) line.excused = line.last;
  // Taken from its holder, or from the waiter it was offered to, who has to start again.
  line.occupied = false;
  line.free_since.reset();
  if (!line.waiting.empty()) line.free_since = world_.now();
  offer(line);
}

void Checker::power_cut() {
  ledger_.power_cut(world_.now());
  believers_.clear();
  former_.clear();
  for (auto& [name, line] : lines_) {
    line.occupied = false;
    line.waiting.clear();
    line.offered.reset();
    line.certain = true;
    line.free_since.reset();
  }
}

/// Who believes to hold a name is whom the store shows.
void Checker::found(Name const& name, std::optional<LeaseInfo> const& answer) {
  for (auto const& believer : believers_) {
    auto const& lease = *believer.lease;
    if (lease.name() != name || !lease.held(believer.env->now())) continue;
    if (lease.fence() <= line(name).excused) continue;
    if (answer && answer->owner == lease.owner() && answer->fence == lease.fence()) continue;
    violated(fmt::format("find shows the holder: {} holds {}, shown is {}",
                         who(*believer.env, lease), name.text(),
                         answer ? answer->owner.text() : "nobody"));
  }
}

void Checker::holds(SimEnv& env, std::shared_ptr<KeptLease> lease, bool renewed) {
  believers_.push_back({&env, std::move(lease), renewed, false, std::nullopt});
}

void Checker::lets_go(KeptLease const& lease) {
  for (auto& believer : believers_) {
    if (believer.lease.get() == &lease) believer.let_go = true;
  }
}

void Checker::writes(SimEnv const& env, KeptLease const& lease) {
  auto& line = this->line(lease.name());
  if (lease.fence() >= line.register_fence) {
    line.register_fence = lease.fence();
    ++accepted_;
    return;
  }
  ++refused_;
  if (lease.fence() <= line.excused) return;
  violated(
      fmt::format("a holder's write must be accepted: {} holds {}, but the register has seen "
                  "fence {}",
                  who(env, lease), lease.name().text(), line.register_fence.value()));
}

void Checker::writes_late(Name const& name, Fence fence) {
  auto& line = this->line(name);
  if (fence < line.register_fence) {
    ++refused_;
    return;
  }
  if (fence > line.last) violated("a write came with a fence that was never granted");
  line.register_fence = fence;
  ++accepted_;
}

std::vector<Name> Checker::names() const {
  std::vector<Name> names;
  for (auto const& [name, line] : lines_) {
    if (line.last != Fence()) names.emplace_back(name);
  }
  return names;
}

void Checker::after_event() {
  for (auto& believer : believers_) look_at(believer);
  check_exclusion();
  for (auto const& believer : former_) {
    if (believer.lease->held(believer.env->now())) {
      violated(fmt::format("held() never comes back: {}", who(*believer.env, *believer.lease)));
    }
  }
  std::erase_if(former_, [&](Believer const& b) { return *b.ended + remembered < world_.now(); });
  for (auto& believer : believers_) {
    if (believer.ended && believer.lease->lost().stop_requested()) {
      check_excuse(believer);
      former_.push_back(std::exchange(believer, Believer{}));
    }
  }
  std::erase_if(believers_, [](Believer const& b) { return b.lease == nullptr; });
}

void Checker::look_at(Believer& believer) {
  auto const& lease = *believer.lease;
  auto const held = lease.held(believer.env->now());
  if (held && believer.ended) {
    violated(fmt::format("held() never comes back: {}", who(*believer.env, lease)));
  }
  if (held && lease.loss() != LossReason::none) {
    violated(fmt::format("a lost lease is not held: {}", who(*believer.env, lease)));
  }
  if (held) {
    check_trust(believer);
    check_broken(believer);
    return;
  }
  if (!believer.ended) believer.ended = end_of(believer);
  check_told(believer);
}

/// Stronger than exclusion: it needs no second client that believes.
void Checker::check_trust(Believer const& believer) {
  auto const& lease = *believer.lease;
  if (lease.fence() <= line(lease.name()).excused) return;
  object(ledger_.trusted(lease.name(), lease.owner(), believer.env->true_time(lease.deadline())));
}

/// At its deadline, unless it ended for another reason before.
Nanos Checker::end_of(Believer const& believer) const {
  return std::min(world_.now(), believer.env->true_time(believer.lease->deadline()));
}

void Checker::check_told(Believer const& believer) {
  auto const node = believer.env->node();
  if (believer.lease->lost().stop_requested() || world_.state(node) != World::State::running) {
    return;
  }
  auto const since = std::max(*believer.ended, world_.running_since(node));
  if (world_.now() - since <= tell_within) return;
  violated(fmt::format("lost() fires within 50 ms: {} of {} was not told for {} ms",
                       who(*believer.env, *believer.lease), believer.lease->name().text(),
                       (world_.now() - since).count() / 1'000'000));
}

/// Without faults a holder who was asked to stop hears of it at its next renewal at the latest.
void Checker::check_broken(Believer const& believer) {
  if (!options_.calm || !believer.renewed) return;
  auto const asked = broken_.find(believer.lease->owner().text());
  if (asked == broken_.end()) return;
  if (world_.now() - asked->second <= options_.longest_ttl / 3 + tell_within) return;
  violated(fmt::format("who is asked to stop hears of it: {} still holds {}",
                       who(*believer.env, *believer.lease), believer.lease->name().text()));
}

/// Without faults a lease is only lost because somebody wanted that.
void Checker::check_excuse(Believer const& believer) {
  auto const& lease = *believer.lease;
  auto const excused = believer.let_go || !believer.renewed ||
                       broken_.contains(lease.owner().text()) ||
                       lease.fence() <= line(lease.name()).excused;
  if (!options_.calm || excused) return;
  violated(fmt::format("nothing is lost without a fault: {} lost {} ({})",
                       who(*believer.env, lease), lease.name().text(), to_string(lease.loss())));
}

void Checker::check_exclusion() {
  for (std::size_t i = 0; i < believers_.size(); ++i) {
    auto const& a = believers_[i];
    if (a.ended || a.lease->fence() <= line(a.lease->name()).excused) continue;
    for (std::size_t j = i + 1; j < believers_.size(); ++j) {
      auto const& b = believers_[j];
      if (b.ended || b.lease->name() != a.lease->name()) continue;
      if (b.lease->fence() <= line(b.lease->name()).excused) continue;
      violated(fmt::format("one holder at a time: {} and {} both hold {}", who(*a.env, *a.lease),
                           who(*b.env, *b.lease), a.lease->name().text()));
    }
  }
}

}  // namespace holt::sim
