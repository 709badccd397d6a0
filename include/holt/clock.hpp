// SPDX-License-Identifier: Apache-2.0
#pragma once
// The clock of every deadline in Holt: CLOCK_BOOTTIME, corrected for time namespaces.
// It never steps with the wall clock and keeps running while the machine sleeps, so a lease
// that ended during a suspend is seen as ended on waking. docs/adr/0002-clocks.md says why.

#include <chrono>

#pragma GCC visibility push(default)
namespace holt {

/// A standard Clock over the host's time since boot.
struct BootClock {
  using duration = std::chrono::nanoseconds;
  using rep = duration::rep;
  using period = duration::period;
  using time_point = std::chrono::time_point<BootClock, duration>;
  static constexpr bool is_steady = true;

  /// Reads the clock. Never fails, costs some tens of nanoseconds.
  static time_point now() noexcept;
};

/// A moment on BootClock.
using Instant = BootClock::time_point;

}  // namespace holt
#pragma GCC visibility pop
