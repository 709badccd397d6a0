// SPDX-License-Identifier: Apache-2.0
#include "primitives/lease_view.hpp"

#include <algorithm>
#include <utility>

namespace holt {
namespace {

using Kind = LeaseEventKind;

// A lease whose time is over but that is still shown rests for a while before it can be taken.
constexpr std::chrono::seconds resting_look{1};
// Ends are told in whole milliseconds, rounded up.
constexpr std::chrono::milliseconds rounding{1};

bool same_grant(LeaseInfo const& one, LeaseInfo const& other) {
  return one.fence == other.fence && one.owner == other.owner;
}

/// What one name's events are made of.
class Events {
 public:
  Events(std::vector<LeaseEvent>& into, std::chrono::system_clock::time_point wall)
      : into_(into), wall_(wall) {}

  void add(Kind kind, LeaseInfo const& lease) { into_.push_back({kind, wall_, lease}); }

  void gone(LeaseInfo const& lease, bool over) {
    add(over ? Kind::expired : Kind::released, lease);
  }

  void came(LeaseInfo const& lease) {
    add(lease.offered ? Kind::offered : Kind::acquired, lease);
    if (!lease.broken.empty()) add(Kind::broken, lease);
  }

  void changed(LeaseInfo const& before, LeaseInfo const& after) {
    if (before.offered && !after.offered) add(Kind::acquired, after);
    if (before.broken != after.broken && !after.broken.empty()) add(Kind::broken, after);
    if (before.waiting != after.waiting) add(Kind::waiting, after);
  }

 private:
  std::vector<LeaseEvent>& into_;
  std::chrono::system_clock::time_point wall_;
};

}  // namespace

std::vector<LeaseEvent> LeaseView::update(std::vector<LeaseInfo> leases, Instant asked, Instant now,
                                          std::chrono::system_clock::time_point wall) {
  Names current;
  for (auto& lease : leases) {
    auto const left = lease.expires_in.count() > 0 ? lease.expires_in + rounding : resting_look;
    auto name = lease.name.text();
    auto const may_end = asked + lease.expires_in - rounding;
    current.insert_or_assign(std::move(name), Seen{std::move(lease), now + left, may_end});
  }
  std::vector<LeaseEvent> happened;
  Events events(happened, wall);
  for (auto const& [name, before] : seen_) {
    auto const after = current.find(name);
    bool const stays = after != current.end() && same_grant(before.lease, after->second.lease);
    if (!stays) events.gone(before.lease, now >= before.may_end);
  }
  for (auto const& [name, after] : current) {
    auto const before = seen_.find(name);
    if (!looked_) {
      events.add(Kind::present, after.lease);
    } else if (before == seen_.end() || !same_grant(before->second.lease, after.lease)) {
      events.came(after.lease);
    } else {
      events.changed(before->second.lease, after.lease);
    }
  }
  looked_ = true;
  seen_ = std::move(current);
  std::ranges::stable_sort(happened, {}, [](LeaseEvent const& event) -> std::string const& {
    return event.lease.name.text();
  });
  return happened;
}

std::optional<Instant> LeaseView::next_end() const {
  std::optional<Instant> end;
  for (auto const& [name, seen] : seen_) end = std::min(end.value_or(seen.end), seen.end);
  return end;
}

}  // namespace holt
