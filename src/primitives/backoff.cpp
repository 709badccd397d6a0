// SPDX-License-Identifier: Apache-2.0
#include "primitives/backoff.hpp"

#include <algorithm>

namespace holt::backoff {
namespace {

using std::chrono::nanoseconds;

nanoseconds whole_pause(RetryOptions const& options, std::uint32_t tries) {
  auto const longest = nanoseconds(options.max_delay);
  auto pause = std::min(nanoseconds(options.delay), longest);
  if (options.backoff == Backoff::fixed) return pause;
  for (std::uint32_t i = 1; i < tries && pause < longest; ++i) pause *= 2;
  return std::min(pause, longest);
}

/// Anything from zero to `span`, both included.
nanoseconds chance(nanoseconds span, std::uint64_t random) {
  return nanoseconds(
      static_cast<std::int64_t>(random % (static_cast<std::uint64_t>(span.count()) + 1)));
}

}  // namespace

nanoseconds pause(RetryOptions const& options, std::uint32_t tries, std::uint64_t random) noexcept {
  auto const whole = whole_pause(options, tries);
  switch (options.jitter) {
    case Jitter::none:
      return whole;
    case Jitter::equal:
      return whole / 2 + chance(whole - whole / 2, random);
    case Jitter::full:
      return chance(whole, random);
  }
  return whole;
}

}  // namespace holt::backoff
