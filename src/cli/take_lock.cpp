// SPDX-License-Identifier: Apache-2.0
#include "cli/take_lock.hpp"

#include "cli/command_line.hpp"
#include "cli/duration.hpp"
#include "cli/exit_code.hpp"
#include "cli/failure.hpp"
#include "cli/interrupt.hpp"
#include "cli/lease_record.hpp"
#include "cli/stream.hpp"
#include "cli/text.hpp"

#include <holt/lock.hpp>
#include <holt/open.hpp>

#include <unistd.h>

#include <chrono>
#include <expected>
#include <string>

namespace holt::cli {

void TakeOptions::declare(CommandLine& line) {
  line.duration("--ttl", ttl, "how long the lease lives without renewal (30s; 100ms to 1d)");
  line.value("--note", "TEXT", note, "what others see of you in show and list");
}

std::expected<Lock, Busy> take_lock(Holt& holt, Name const& name, LockOptions const& options) {
  // Without a thread for Ctrl-C, which would cost as much as the lock. It waits until the store
  // has answered, the open timeout at most: killed in between, we would leave the lock taken.
  auto tried = holt.try_lock(name, options);
  if (tried || options.wait == std::chrono::milliseconds(0)) return tried;
  // A person wants to know why nothing happens; a log does not.
  if (::isatty(STDERR_FILENO) == 1) {
    talk("waiting for lock " + in_quotes(name.text()) + ", " + holder(tried.error()));
  }
  Interrupt const interrupt;
  auto taken = holt.lock(name, options, interrupt.token());
  if (auto const signal = interrupt.signal(); signal != 0) {  // a lock that came with it goes again
    throw Failure(static_cast<ExitCode>(128 + signal), "interrupted while waiting");
  }
  return taken;
}

std::string refusal(Name const& name, Busy const& busy, std::chrono::milliseconds waited) {
  std::string text = "lock " + in_quotes(name.text());
  if (busy.why == Busy::Why::timed_out) {
    text += " was not free within " + format_duration(waited) + ": ";
  } else {
    text += " is not free: ";
  }
  return text + holder(busy);
}

}  // namespace holt::cli
