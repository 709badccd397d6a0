// SPDX-License-Identifier: Apache-2.0
// holt lock acquire

#include "cli/command_line.hpp"
#include "cli/commands.hpp"
#include "cli/exit_code.hpp"
#include "cli/lock_take.hpp"
#include "cli/progress.hpp"

#include <holt/lock.hpp>

#include <chrono>
#include <optional>

namespace holt::cli {
namespace {

int lock_acquire(CommandLine& line) {
  LockTakeOptions options;
  ProgressOption progress;
  std::optional<std::chrono::milliseconds> wait;
  line.duration("--wait", wait, "give up when it is not free by then (default: wait for ever)");
  options.declare(line);
  progress.declare(line);
  if (!line.parse()) return number(ExitCode::ok);
  return take_and_leave(line, options, wait.value_or(wait_forever), progress.form());
}

}  // namespace

constinit Command const lock_acquire_command{
    .words = "lock acquire",
    .synopsis = "NAME [options]",
    .summary = "Take a lock, waiting for it, and leave it taken",
    .examples =
        "  holt lock acquire deploy --ttl 10m\n"
        "  holt lock acquire deploy --ttl 10m --wait 1m -o json\n",
    .details =
        "Prints the owner: who knows it can extend and release the lock. Nobody renews it;\n"
        "it ends after its ttl. Waiting is first come, first served; Ctrl-C leaves the\n"
        "line. Exit code 5: not free in time.\n",
    .run = &lock_acquire,
    .guide = "lock",
};

}  // namespace holt::cli
