// SPDX-License-Identifier: Apache-2.0
// holt lock extend

#include "cli/command_line.hpp"
#include "cli/commands.hpp"
#include "cli/duration.hpp"
#include "cli/exit_code.hpp"
#include "cli/failure.hpp"
#include "cli/lock_handle.hpp"
#include "cli/store.hpp"
#include "cli/stream.hpp"
#include "cli/text.hpp"

#include <chrono>
#include <optional>
#include <string>

namespace holt::cli {
namespace {

int lock_extend(CommandLine& line) {
  HandleOptions options;
  std::optional<std::chrono::milliseconds> ttl;
  StoreOptions store;
  options.declare(line);
  line.duration("--ttl", ttl, "how long the lease lives from now (100ms to 1d)");
  store.declare(line);
  if (!line.parse()) return number(ExitCode::ok);
  if (!ttl) throw UsageError("--ttl is missing: how long should the lease live from now?");
  line.doing = "extend lock " + in_quotes(options.name());
  auto const handle = options.handle();
  auto holt = store.open();
  if (!holt.extend(handle, *ttl)) refuse_lost(holt, handle);
  talk("lock " + in_quotes(options.name()) + " is yours for " + format_duration(*ttl) + " more");
  return number(ExitCode::ok);
}

}  // namespace

constinit Command const lock_extend_command{
    .words = "lock extend",
    .synopsis = "NAME --owner OWNER --ttl DURATION [options]",
    .summary = "Give a lock that you hold more time",
    .examples = "  holt lock extend deploy --owner OWNER --ttl 10m\n",
    .details = "Exit code 3: nobody holds it any more. 5: another owner holds it.\n",
    .run = &lock_extend,
    .guide = "lock",
};

}  // namespace holt::cli
