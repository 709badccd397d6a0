// SPDX-License-Identifier: Apache-2.0
#pragma once
// Spans of time as the server is told them.

#include <holt/clock.hpp>

#include <algorithm>
#include <chrono>
#include <cstdint>

namespace holt::postgres {

/// In whole microseconds, never less than asked for; whatever a caller thinks "for ever" is, a
/// hundred years are enough, and sums stay within the server's times.
[[nodiscard]] inline std::int64_t to_us(std::chrono::nanoseconds span) {
  constexpr std::int64_t longest = std::int64_t{100} * 365 * 86400 * 1'000'000;
  auto const us = std::chrono::ceil<std::chrono::microseconds>(span).count();
  return std::clamp<std::int64_t>(us, 0, longest);
}

/// How long the server may wait for one lock, in ms: not longer than somebody waits for the answer.
[[nodiscard]] inline std::int32_t lock_patience(Instant now, Instant deadline) {
  constexpr std::int64_t longest = 3'600'000;
  auto const ms = std::chrono::ceil<std::chrono::milliseconds>(deadline - now).count();
  return static_cast<std::int32_t>(std::clamp<std::int64_t>(ms, 1, longest));
}

}  // namespace holt::postgres
