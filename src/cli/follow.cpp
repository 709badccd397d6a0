// SPDX-License-Identifier: Apache-2.0
#include "cli/follow.hpp"

#include "cli/exit_code.hpp"
#include "cli/failure.hpp"
#include "cli/interrupt.hpp"

#include <holt/clock.hpp>
#include <holt/lock.hpp>

#include <poll.h>
#include <unistd.h>

#include <algorithm>

namespace holt::cli {
namespace {

using std::chrono::milliseconds;

bool nobody_reads() {
  pollfd output{STDOUT_FILENO, 0, 0};
  return ::poll(&output, 1, 0) > 0 && (output.revents & (POLLERR | POLLHUP)) != 0;
}

/// When it all is to end; what is near the end of the clock means never.
Instant end_after(std::optional<milliseconds> duration) {
  constexpr std::chrono::hours longest{24 * 365 * 100};
  if (!duration || *duration >= longest) return Instant::max();
  return BootClock::now() + *duration;
}

/// How long to wait now when it all is to end at `end`.
milliseconds time_until(Instant end) {
  if (end == Instant::max()) return wait_forever;
  return std::max(std::chrono::ceil<milliseconds>(end - BootClock::now()), milliseconds(0));
}

}  // namespace

int follow(Watch watch, std::optional<milliseconds> duration,
           std::function<void(std::vector<LeaseEvent> const&)> const& write) {
  auto const end = end_after(duration);
  try {
    Interrupt interrupt(STDOUT_FILENO);
    do {
      write(watch.next(time_until(end), interrupt.token()));
    } while (!interrupt.token().stop_requested() && BootClock::now() < end);
    auto const signal = interrupt.finish();
    return signal == 0 ? number(ExitCode::ok) : 128 + signal;
  } catch (Failure const&) {
    if (nobody_reads()) return number(ExitCode::ok);
    throw;
  }
}

}  // namespace holt::cli
