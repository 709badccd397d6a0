// SPDX-License-Identifier: Apache-2.0
// holt lock release

#include "cli/command_line.hpp"
#include "cli/commands.hpp"
#include "cli/exit_code.hpp"
#include "cli/lock_handle.hpp"
#include "cli/store.hpp"
#include "cli/stream.hpp"
#include "cli/text.hpp"

namespace holt::cli {
namespace {

int lock_release(CommandLine& line) {
  HandleOptions options;
  StoreOptions store;
  options.declare(line);
  store.declare(line);
  if (!line.parse()) return number(ExitCode::ok);
  line.doing = "release lock " + in_quotes(options.name());
  auto const handle = options.handle();
  auto holt = store.open();
  if (!holt.release(handle)) refuse_lost(holt, handle);
  talk("released lock " + in_quotes(options.name()));
  return number(ExitCode::ok);
}

}  // namespace

constinit Command const lock_release_command{
    .words = "lock release",
    .synopsis = "NAME --owner OWNER [options]",
    .summary = "Let go of a lock that you hold",
    .examples = "  holt lock release deploy --owner OWNER\n",
    .details = "Exit code 3: nobody holds it any more. 5: another owner holds it.\n",
    .run = &lock_release,
    .guide = "lock",
};

}  // namespace holt::cli
