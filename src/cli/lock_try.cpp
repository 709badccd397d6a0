// SPDX-License-Identifier: Apache-2.0
// holt lock try

#include "cli/command_line.hpp"
#include "cli/commands.hpp"
#include "cli/exit_code.hpp"
#include "cli/lock_take.hpp"
#include "cli/progress.hpp"

#include <chrono>

namespace holt::cli {
namespace {

int lock_try(CommandLine& line) {
  LockTakeOptions options;
  options.declare(line);
  if (!line.parse()) return number(ExitCode::ok);
  return take_and_leave(line, options, std::chrono::milliseconds(0), Progress::plain);
}

}  // namespace

constinit Command const lock_try_command{
    .words = "lock try",
    .synopsis = "NAME [options]",
    .summary = "Take a lock if it is free, and leave it taken",
    .examples =
        "  holt lock try deploy --ttl 10m\n"
        "  holt lock try deploy --ttl 10m -o json | jq -r .owner\n",
    .details =
        "Prints the owner: who knows it can extend and release the lock. Nobody renews it;\n"
        "it ends after its ttl. Exit code 5: somebody else holds it.\n",
    .run = &lock_try,
    .guide = "lock",
};

}  // namespace holt::cli
