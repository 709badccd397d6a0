// SPDX-License-Identifier: Apache-2.0
// BootClock over CLOCK_BOOTTIME. A time namespace shifts that clock for the processes inside it;
// two containers on one host must agree, so the shift is taken out again.

#include "env/clock.hpp"

#include <cinttypes>
#include <cstdio>
#include <ctime>

namespace holt {
namespace {

std::int64_t read_namespace_shift() {
  std::FILE* file = std::fopen("/proc/self/timens_offsets", "re");
  if (file == nullptr) return 0;
  char clock[16];
  std::int64_t seconds = 0;
  std::int64_t nanoseconds = 0;
  std::int64_t shift = 0;
  while (std::fscanf(file, "%15s %" SCNd64 " %" SCNd64, clock, &seconds, &nanoseconds) == 3) {
    if (clock[0] == 'b') shift = seconds * 1'000'000'000 + nanoseconds;
  }
  std::fclose(file);
  return shift;
}

}  // namespace

std::chrono::nanoseconds boot_clock_shift() noexcept {
  static std::int64_t const shift = read_namespace_shift();
  return std::chrono::nanoseconds(shift);
}

Instant BootClock::now() noexcept {
  timespec time{};
  ::clock_gettime(CLOCK_BOOTTIME, &time);
  auto const raw = std::chrono::seconds(time.tv_sec) + std::chrono::nanoseconds(time.tv_nsec);
  return Instant(raw - boot_clock_shift());
}

}  // namespace holt
