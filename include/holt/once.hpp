// SPDX-License-Identifier: Apache-2.0
#pragma once
// Once per period across a fleet: a run is counted while its lock is still held, and answered to
// everybody until its period is over.
//   auto lock = holt.lock("nightly", {.wait = wait_forever});
//   if (lock && !holt.last_run("nightly")) {
//     auto const started = BootClock::now();
//     work();                                      // what throws here does not count
//     holt.count_run(*lock, {.period = 20h, .started = started});
//   }

#include <holt/clock.hpp>
#include <holt/fence.hpp>

#include <chrono>
#include <string>
#include <string_view>
#include <type_traits>

#pragma GCC visibility push(default)
namespace holt {

/// A run that counted, and whose period is not over.
struct CountedRun {
  std::chrono::system_clock::time_point started_at;  ///< for people; decides nothing
  std::chrono::milliseconds period{};
  Fence fence;       ///< of the lock that it ran under
  std::string note;  ///< who it was
};

/// What to count. Trivially destructible on purpose: docs/adr/0005-coroutine-rules.md.
struct CountOptions {
  std::chrono::milliseconds
      period{};             ///< from `started` on, by the engine's clock; 100 ms to 366 d
  Instant started;          ///< on BootClock
  std::string_view note{};  ///< shown to those who are too late; at most 4 KiB
};
static_assert(std::is_trivially_destructible_v<CountOptions>);

}  // namespace holt
#pragma GCC visibility pop
