// SPDX-License-Identifier: Apache-2.0
#include "cli/lock_take.hpp"

#include "cli/command_line.hpp"
#include "cli/exit_code.hpp"
#include "cli/failure.hpp"
#include "cli/lease_record.hpp"
#include "cli/output.hpp"
#include "cli/signals.hpp"
#include "cli/take_lock.hpp"
#include "cli/text.hpp"

#include <holt/clock.hpp>
#include <holt/lock.hpp>
#include <holt/name.hpp>

#include <algorithm>
#include <chrono>

namespace holt::cli {

using std::chrono::milliseconds;

void LockTakeOptions::declare(CommandLine& line) {
  line.word("NAME", name);
  take.declare(line);
  store.declare(line);
  output.declare(line);
}

int take_and_leave(CommandLine& line, LockTakeOptions const& options, milliseconds wait,
                   Progress progress) {
  auto const form = options.output.form();
  line.doing = "take lock " + in_quotes(options.name);
  Name const name(options.name);
  auto holt = options.store.open();
  BlockedSignals const blocked(ending_signals());
  auto const ttl = options.take.ttl_or_default();
  auto const note = options.take.note.value_or("");
  auto lock =
      take_lock(holt, name, {.ttl = ttl, .wait = wait, .renew = false, .note = note}, progress);
  if (!lock) {
    line.doing.clear();
    throw Failure(ExitCode::conflict, refusal(name, lock.error(), wait),
                  "holt lock show " + as_argument(name.text()));
  }
  auto const fence = lock->fence();
  auto const left = std::chrono::floor<milliseconds>(lock->deadline() - BootClock::now());
  auto const handle = lock->detach();
  write_record(form, grant_record(handle, fence, ttl, std::max(left, milliseconds(0))));
  return number(ExitCode::ok);
}

}  // namespace holt::cli
