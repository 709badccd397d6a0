// SPDX-License-Identifier: Apache-2.0
#pragma once
// The rule of trust, as pure functions: how long a grant may be believed and when to renew it.
//
//   attempt_started                renew_at                 at_risk_at      deadline   store's end
//        |---------- ttl/3 -----------|-----------------------|---------------|-- margin --|
//
// The deadline counts from before the request left, so a slow reply shortens trust and never
// lengthens it; the store counts from when the request arrived, which is later.

#include <holt/clock.hpp>

#include <algorithm>
#include <chrono>

namespace holt::trust {

using Nanos = std::chrono::nanoseconds;

inline constexpr Nanos min_ttl = std::chrono::milliseconds(100);
inline constexpr Nanos max_ttl = std::chrono::hours(24);

/// How much earlier than the store we stop: min(ttl/4, max(50 ms, ttl/100)).
constexpr Nanos margin(Nanos ttl) {
  return std::min(ttl / 4, std::max<Nanos>(std::chrono::milliseconds(50), ttl / 100));
}

/// Until when a grant is believed whose request left after `attempt_started`.
constexpr Instant deadline(Instant attempt_started, Nanos ttl) {
  return attempt_started + ttl - margin(ttl);
}

/// How often to renew unless told otherwise: a third of the ttl, less a hundredth of that, so that
/// three renewals fit into a ttl: who waits and looks at the end that it was told finds the whole
/// ttl before it, and not two thirds.
constexpr Nanos renew_every(Nanos ttl) { return ttl / 3 - ttl / 300; }

/// The rarest renewals that are safe: one may get lost and the next still comes in time.
constexpr Nanos rarest_renewal(Nanos ttl) { return (ttl - margin(ttl)) / 2; }

/// When a renewal that is due `every` so often and still missing becomes a danger: half of the time
/// for it is gone.
constexpr Instant at_risk_at(Instant attempt_started, Nanos ttl, Nanos every) {
  auto const from = attempt_started + every;
  return from + (deadline(attempt_started, ttl) - from) / 2;
}

/// How long to wait before a failed renewal is tried again.
constexpr Nanos retry_after(Nanos ttl) {
  return std::clamp<Nanos>(ttl / 30, std::chrono::milliseconds(5), std::chrono::seconds(1));
}

}  // namespace holt::trust
