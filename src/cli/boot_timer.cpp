// SPDX-License-Identifier: Apache-2.0
#include "cli/boot_timer.hpp"

#include <holt/clock.hpp>

#include <sys/timerfd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <ctime>
#include <system_error>

namespace holt::cli {

BootTimer::BootTimer() : fd_(::timerfd_create(CLOCK_BOOTTIME, TFD_CLOEXEC | TFD_NONBLOCK)) {
  if (!fd_.is_open()) throw std::system_error(errno, std::system_category(), "cannot make a timer");
}

void BootTimer::set(Instant when) noexcept {
  // Relative: BootClock has the shift of time namespaces taken out, the system's clock has not.
  // Zero would disarm it.
  auto const left = std::max(when - BootClock::now(), std::chrono::nanoseconds(1));
  auto const seconds = std::chrono::floor<std::chrono::seconds>(left);
  itimerspec time{};
  time.it_value.tv_sec = seconds.count();
  time.it_value.tv_nsec = (left - seconds).count();
  ::timerfd_settime(fd_.get(), 0, &time, nullptr);
}

}  // namespace holt::cli
