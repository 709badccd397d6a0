// SPDX-License-Identifier: Apache-2.0
#include "engines/sqlite/lease_steps.hpp"

#include <algorithm>
#include <utility>

namespace holt::sqlite {
namespace {

using std::chrono::ceil;
using std::chrono::milliseconds;

constexpr std::uint64_t grants_per_sweep = 4096;
constexpr int last_alert = 3;  ///< so many in line watch for the end of a lease

/// How long a name stays offered; the contract's clamp(ttl/10, 100 ms, 1 s).
std::int64_t offer_ns(std::int64_t ttl_ns) {
  return std::clamp<std::int64_t>(ttl_ns / 10, 100'000'000, 1'000'000'000);
}

bool is_live(LeaseRow const& lease, std::int64_t now_ns) {
  return lease.until_ns + lease.delay_ns > now_ns;
}

Owner owner_of(std::string const& text) {
  auto owner = Owner::parse(text);
  return owner ? std::move(*owner) : Owner();
}

Busy busy_with(LeaseRow const& lease, std::int64_t now_ns) {
  Busy busy;
  busy.holder = owner_of(lease.owner);
  busy.fence = Fence(lease.fence);
  busy.expires_in = ceil<milliseconds>(Nanos(lease.until_ns + lease.delay_ns - now_ns));
  busy.note = lease.note;
  return busy;
}

LeaseWrite lease_for(LeaseRequest const& request) {
  return {.owner = request.owner.text(),
          .state = LeaseState::held,
          .ttl_ns = request.ttl.count(),
          .delay_ns = request.delay.count(),
          .live_ns = request.ttl.count(),
          .note = request.note,
          .request = request.request};
}

LeaseWrite offer_for(Head const& head) {
  return {.owner = head.owner,
          .state = LeaseState::offered,
          .ttl_ns = head.ttl_ns,
          .delay_ns = 0,
          .live_ns = offer_ns(head.ttl_ns),
          .note = head.note,
          .request = head.request};
}

std::unexpected<Lost> lost(LossReason reason, std::string detail = {}) {
  return std::unexpected(Lost{reason, std::move(detail)});
}

}  // namespace

void LeaseStep::run(Connection& store) {
  offers_.clear();
  risen_.clear();
  LeaseRows rows(store, env_, instance_);
  decide(rows);
}

bool LeaseStep::pass_on(LeaseRows& rows, Name const& name, std::string_view unless) {
  auto const head = rows.live_head(name);
  if (!head || head->owner == unless) return false;
  rows.put(name, rows.draw_fence(), offer_for(*head));
  rows.drop_ticket(name, head->owner);
  offers_.push_back({name, head->owner});
  tell_waiter_at(rows, name, 1);
  return true;
}

void LeaseStep::tell_waiter_at(LeaseRows& rows, Name const& name, int place) {
  if (auto owner = rows.waiter_at(name, place)) risen_.push_back(std::move(*owner));
}

/// How a name stands for the owner who asks.
struct AcquireStep::Found {
  enum class Kind { free, mine, busy };
  Kind kind = Kind::free;
  Look look;
  [[nodiscard]] bool offered() const {
    return kind == Kind::mine && look.lease->state == LeaseState::offered;
  }
};

/// A free name with somebody else first in line is offered to that one here, and busy for us.
AcquireStep::Found AcquireStep::look(LeaseRows& rows, Name const& name) {
  Found found{Found::Kind::free, rows.look(name)};
  auto const& lease = found.look.lease;
  if (lease && is_live(*lease, rows.now_ns())) {
    bool const mine =
        lease->owner == request_.owner.text() && !lease->broken && lease->until_ns > rows.now_ns();
    found.kind = mine ? Found::Kind::mine : Found::Kind::busy;
  } else if (found.look.has_tickets && pass_on(rows, name, request_.owner.text())) {
    found = {Found::Kind::busy, rows.look(name)};
  }
  return found;
}

void AcquireStep::decide(LeaseRows& rows) {
  std::vector<Found> found;
  found.reserve(request_.names.size());
  for (auto const& name : request_.names) found.push_back(look(rows, name));
  auto const busy = std::ranges::find(found, Found::Kind::busy, &Found::kind);
  if (busy != found.end()) {
    refuse(rows, found, static_cast<std::size_t>(busy - found.begin()));
    return;
  }
  LeaseGrant granted;
  for (std::size_t i = 0; i < found.size(); ++i) {
    granted.fences.push_back(grant(rows, request_.names[i], found[i]));
  }
  result_ = std::move(granted);
}

/// The fence is drawn here, after every name was looked at under the writer's lock.
Fence AcquireStep::grant(LeaseRows& rows, Name const& name, Found const& found) {
  if (found.look.has_tickets) {
    if (!found.offered()) rows.drop_ticket(name, request_.owner.text());  // an offer took it away
    tell_waiter_at(rows, name, last_alert);
  }
  if (found.kind == Found::Kind::mine) {
    rows.confirm(name, lease_for(request_));
    return Fence(found.look.lease->fence);
  }
  auto const fence = rows.draw_fence();
  rows.put(name, fence, lease_for(request_));
  // All processes draw from one counter, so this comes round however short-lived they are.
  if (fence % grants_per_sweep == 0) rows.sweep();
  return Fence(fence);
}

void AcquireStep::refuse(LeaseRows& rows, std::vector<Found> const& found, std::size_t busy) {
  for (std::size_t i = 0; i < found.size(); ++i) {
    if (i != busy) give_up(rows, request_.names[i], found[i]);
  }
  auto answer = busy_with(*found[busy].look.lease, rows.now_ns());
  // Who holds it and was asked to stop does not wait for itself.
  bool const own = answer.holder == request_.owner;
  if (request_.stand_in_line && !own) {
    answer.place = rows.stand_in_line(request_.names[busy], request_);
  }
  result_ = std::unexpected(std::move(answer));
}

/// One of several names, of which another is busy: an offer goes on to the next, and so does a
/// place in line, because an owner stands in one line only. What is held stays held.
void AcquireStep::give_up(LeaseRows& rows, Name const& name, Found const& found) {
  auto const& owner = request_.owner.text();
  if (found.offered()) rows.drop(name);
  bool const stood =
      found.look.has_tickets && request_.stand_in_line && rows.drop_ticket(name, owner);
  bool const is_free = found.offered() || (stood && found.kind == Found::Kind::free);
  if (is_free && found.look.has_tickets) pass_on(rows, name);
}

void RenewStep::decide(LeaseRows& rows) {
  results_.clear();
  results_.reserve(renewals_.size());
  for (auto const& renewal : renewals_) results_.push_back(renew(rows, renewal));
}

/// About a lease that is held and nothing else: an offer or a place in line of the same owner is
/// not what its holder believes to have.
std::expected<void, Lost> RenewStep::renew(LeaseRows& rows, LeaseRenewal const& renewal) {
  if (rows.renew(renewal)) return {};
  auto const lease = rows.look(renewal.name).lease;
  if (!lease || lease->owner != renewal.owner.text()) return lost(LossReason::taken);
  if (lease->state == LeaseState::offered) return lost(LossReason::taken);
  if (lease->broken) return lost(LossReason::broken, *lease->broken);
  return lost(LossReason::expired);
}

void ReleaseStep::decide(LeaseRows& rows) {
  auto const& [name, owner] = handle_;
  result_ = {};
  if (rows.give_back(name, owner.text())) return;
  auto const look = rows.look(name);
  bool const had = look.lease && look.lease->owner == owner.text();
  bool const stood = look.has_tickets && rows.drop_ticket(name, owner.text());
  bool const is_free = had || !look.lease || !is_live(*look.lease, rows.now_ns());
  bool const next = is_free && look.has_tickets && (had || stood) && pass_on(rows, name);
  if (had && !next) rows.drop(name);  // an offer is written over it
  if (stood) tell_waiter_at(rows, name, last_alert);
  if (had && look.lease->until_ns <= rows.now_ns()) result_ = lost(LossReason::expired);
  if (!had && !stood) result_ = lost(LossReason::taken);
}

void BreakStep::decide(LeaseRows& rows) {
  holder_.clear();
  result_ = BreakResult::not_held;
  auto const look = rows.look(request_.name);
  if (!look.lease || !is_live(*look.lease, rows.now_ns())) return;
  auto const& lease = *look.lease;
  bool const resting = lease.until_ns <= rows.now_ns();
  if (resting && !request_.now) return;
  if (request_.fence != Fence() && request_.fence != Fence(lease.fence)) {
    result_ = BreakResult::other_fence;
    return;
  }
  if (lease.state == LeaseState::held) holder_ = lease.owner;
  if (request_.now || lease.state == LeaseState::offered) {
    rows.drop(request_.name);
    if (look.has_tickets) pass_on(rows, request_.name);
    result_ = BreakResult::freed;
  } else {
    rows.mark_broken(request_.name, request_.reason);
    result_ = BreakResult::asked;
  }
}

void SkipStep::decide(LeaseRows& rows) {
  auto const look = rows.look(offer_.name);
  if (!look.lease || look.lease->owner != offer_.owner) return;
  if (look.lease->state != LeaseState::offered) return;  // alive after all: it confirmed
  rows.drop(offer_.name);
  if (!look.has_tickets) return;
  tell_waiter_at(rows, offer_.name, last_alert);  // nobody confirms: the line moves twice
  pass_on(rows, offer_.name);
}

}  // namespace holt::sqlite
