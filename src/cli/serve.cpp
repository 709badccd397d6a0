// SPDX-License-Identifier: Apache-2.0
// holt serve

#include "cli/command_line.hpp"
#include "cli/commands.hpp"
#include "cli/exit_code.hpp"
#include "cli/log.hpp"
#include "cli/orchestrator.hpp"
#include "cli/service_notice.hpp"

namespace holt::cli {
namespace {

int serve(CommandLine& line) {
  InstanceFlags flags;
  flags.declare(line);
  if (!line.parse()) return number(ExitCode::ok);
  flags.check();
  ServiceLog const log(ServiceLog::Place::standard_error);
  ServiceNotice const service;
  return Orchestrator(flags, log, service, &tell_started).run(line, flags.store.opening_unlogged());
}

}  // namespace

constinit Command const serve_command{
    .words = "serve",
    .synopsis = "[options]",
    .summary = "Be the orchestrator of an instance, in the foreground",
    .examples =
        "  holt serve --name web --join        in a container, under systemd\n"
        "  HOLT_LOG_FORMAT=json holt serve --name web --join\n",
    .details =
        "What holt up starts in the background. It holds the name, logs to stderr (info and "
        "above,\n"
        "if HOLT_LOG_LEVEL says nothing else) and tells systemd how it is doing, if it is asked "
        "to\n"
        "(Type=notify, WatchdogSec=).\n"
        "TERM and INT end it within a second, with everything released: exit code 0, or 130 for\n"
        "INT. 0 also when somebody said holt down; 123: the name is another's now. 5: the name or\n"
        "the workspace is taken.\n",
    .run = &serve,
};

}  // namespace holt::cli
