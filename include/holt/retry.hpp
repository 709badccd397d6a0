// SPDX-License-Identifier: Apache-2.0
#pragma once
// Trying again by the clock, for those who do not want to stand in line: Holt::retry_lock().
// Standing in line (LockOptions::wait) is fairer, quicker and cheaper for the store; trying again
// suits callers who would rather lose than block others.

#include <chrono>
#include <cstdint>
#include <type_traits>

#pragma GCC visibility push(default)
namespace holt {

enum class Backoff {
  fixed,       ///< the same pause each time
  exponential  ///< twice as long each time
};

/// What chance does to a pause, so that those who failed together do not try together again.
enum class Jitter {
  none,
  equal,  ///< half of it is certain, half of it chance
  full    ///< anything from zero to all of it
};

/// How often and how fast. Trivially destructible on purpose: docs/adr/0005-coroutine-rules.md.
struct RetryOptions {
  std::uint32_t attempts = 11;                  ///< tries in all, at least 1
  std::chrono::milliseconds delay{100};         ///< the first pause
  std::chrono::milliseconds max_delay{10'000};  ///< no pause is longer
  Backoff backoff = Backoff::exponential;
  Jitter jitter = Jitter::equal;
  std::chrono::milliseconds timeout{5'000};  ///< for all tries and pauses together
};
static_assert(std::is_trivially_destructible_v<RetryOptions>);

}  // namespace holt
#pragma GCC visibility pop
