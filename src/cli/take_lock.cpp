// SPDX-License-Identifier: Apache-2.0
#include "cli/take_lock.hpp"

#include "cli/command_line.hpp"
#include "cli/duration.hpp"
#include "cli/exit_code.hpp"
#include "cli/failure.hpp"
#include "cli/interrupt.hpp"
#include "cli/interruptible.hpp"
#include "cli/lease_record.hpp"
#include "cli/progress.hpp"
#include "cli/text.hpp"
#include "cli/wait_progress.hpp"

#include <holt/lock.hpp>
#include <holt/open.hpp>

#include <chrono>
#include <expected>
#include <string>

namespace holt::cli {

void TakeOptions::declare(CommandLine& line) {
  line.duration("--ttl", ttl, "how long the lease lives without renewal (30s; 100ms to 1d)");
  line.value("--note", "TEXT", note, "what others see of you in show and list");
}

namespace {

[[noreturn]] void refuse_interrupted(int signal) {
  throw Failure(static_cast<ExitCode>(128 + signal), "interrupted while waiting");
}

std::expected<Lock, Busy> try_once(Holt& holt, Name const& name, LockOptions const& options,
                                   Progress progress) {
  Interruptible const interruptible(slow_store_line(progress));
  auto tried = holt.try_lock(name, options);
  // A lock that came with the signal goes again.
  if (auto const signal = interruptible.signal(); signal != 0) refuse_interrupted(signal);
  return tried;
}

std::expected<Lock, Busy> stand_in_line(Holt& holt, Name const& name, LockOptions const& options,
                                        Progress form) {
  Interrupt interrupt;
  WaitProgress progress(holt, name, form);
  auto taken = holt.lock(name, options, interrupt.token());
  progress.finish(taken ? "acquired" : "gave_up");
  if (auto const signal = interrupt.finish(); signal != 0) refuse_interrupted(signal);
  return taken;
}

}  // namespace

std::expected<Lock, Busy> take_lock(Holt& holt, Name const& name, LockOptions const& options,
                                    Progress progress) {
  auto tried = try_once(holt, name, options, progress);
  if (tried || options.wait == std::chrono::milliseconds(0)) return tried;
  return stand_in_line(holt, name, options, progress);
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
