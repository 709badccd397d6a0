// SPDX-License-Identifier: Apache-2.0
#pragma once
// What the kernel's CLOCK_BOOTTIME says minus what BootClock says: nothing outside of a time
// namespace. Timers given to the kernel need it added back.

#include <holt/clock.hpp>

#include <chrono>

namespace holt {

[[nodiscard]] std::chrono::nanoseconds boot_clock_shift() noexcept;

}  // namespace holt
