// SPDX-License-Identifier: Apache-2.0
// Preloaded into a process (LD_PRELOAD), this shifts its wall clock by the nanoseconds in the file
// that CLOCKSHIM_FILE names, which may change at any time. Other clocks are left alone.

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <ctime>

namespace {

std::int64_t volatile const* shared_shift() {
  static std::int64_t const none = 0;
  char const* path = std::getenv("CLOCKSHIM_FILE");
  int const file = path != nullptr ? ::open(path, O_RDONLY | O_CLOEXEC) : -1;
  if (file < 0) return &none;
  void* mapped = ::mmap(nullptr, sizeof(std::int64_t), PROT_READ, MAP_SHARED, file, 0);
  ::close(file);
  return mapped == MAP_FAILED ? &none : static_cast<std::int64_t const*>(mapped);
}

std::int64_t shift() {
  static std::int64_t volatile const* const value = shared_shift();
  return *value;
}

}  // namespace

extern "C" {

int clock_gettime(clockid_t clock, timespec* time) noexcept {
  auto const result = static_cast<int>(::syscall(SYS_clock_gettime, clock, time));
  if (result != 0 || (clock != CLOCK_REALTIME && clock != CLOCK_REALTIME_COARSE)) return result;
  std::int64_t const nanos = time->tv_sec * 1'000'000'000 + time->tv_nsec + shift();
  time->tv_sec = nanos / 1'000'000'000;
  time->tv_nsec = nanos % 1'000'000'000;
  return 0;
}

int gettimeofday(timeval* time, void*) noexcept {
  timespec now{};
  auto const result = clock_gettime(CLOCK_REALTIME, &now);
  time->tv_sec = now.tv_sec;
  time->tv_usec = now.tv_nsec / 1000;
  return result;
}

time_t time(time_t* out) noexcept {
  timespec now{};
  clock_gettime(CLOCK_REALTIME, &now);
  if (out != nullptr) *out = now.tv_sec;
  return now.tv_sec;
}

}  // extern "C"
