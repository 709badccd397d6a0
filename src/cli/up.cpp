// SPDX-License-Identifier: Apache-2.0
// holt up: starts the orchestrator of an instance, and ends when it is up.

#include "cli/background.hpp"
#include "cli/command_line.hpp"
#include "cli/commands.hpp"
#include "cli/exit_code.hpp"
#include "cli/failure.hpp"
#include "cli/log.hpp"
#include "cli/log_place.hpp"
#include "cli/orchestrator.hpp"
#include "cli/service_notice.hpp"
#include "cli/stream.hpp"

#include <holt/instance.hpp>

#include <unistd.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <optional>
#include <string>
#include <utility>

namespace holt::cli {
namespace {

/// For coming up, with a store that takes its time.
constexpr std::chrono::minutes patience{1};
constexpr std::chrono::milliseconds time_to_end{1'000};
constexpr std::chrono::milliseconds no_time{0};
constexpr std::uint64_t usual_log_size = 1 << 20;

int up_in_background(CommandLine& line, InstanceFlags const& flags, std::size_t log_size) {
  auto opening = flags.store.opening_unlogged();  // it may have to be read from our stdin
  Background background;
  line.doing = "start an instance";
  if (!background.is_child()) return background.wait(patience);
  ::unsetenv("NOTIFY_SOCKET");  // systemd has not started this process
  ServiceLog const log(ServiceLog::Place::file);
  ServiceNotice const service;
  auto const tell = [&](Instance const& instance) {
    // Who leads has no equal here, but for one that is ending just now.
    auto const place = log_place(instance.name(), instance.leads() ? time_to_end : no_time);
    tell_started(instance);
    write_data("Workspace: " + instance.workspace() + "\nLog: " + place +
               "\nNext: holt list\n      holt down --name " + instance.name() + '\n');
    log.open_file(place, log_size);
    // So that it keeps nobody's folder from being unmounted; if it cannot, it stays where it is.
    [[maybe_unused]] int const there = ::chdir(instance.workspace().c_str());
    background.go_on();
  };
  return Orchestrator(flags, log, service, tell).run(line, std::move(opening));
}

int up(CommandLine& line) {
  InstanceFlags flags;
  bool detach = false;
  bool foreground = false;
  std::optional<std::uint64_t> log_size;
  flags.declare(line);
  line.flag("--detach", detach, "go on in the background (the default)");
  line.flag("--foreground", foreground, "stay, and log to stderr: for containers; as holt serve");
  line.count("--log-size", log_size, "bytes after which another log file begins (1048576)");
  line.exclusive("--detach", "--foreground");
  if (!line.parse()) return number(ExitCode::ok);
  if (detach && foreground) throw UsageError("--detach and --foreground exclude each other");
  if (log_size == 0) throw UsageError("--log-size 0 leaves no room for a log");
  flags.check();
  if (!foreground) return up_in_background(line, flags, log_size.value_or(usual_log_size));
  ServiceLog const log(ServiceLog::Place::standard_error);
  ServiceNotice const service;
  return Orchestrator(flags, log, service, &tell_started).run(line, flags.store.opening_unlogged());
}

}  // namespace

constinit Command const up_command{
    .words = "up",
    .synopsis = "[options]",
    .summary = "Start an instance: a name and a workspace that nobody else has",
    .examples =
        "  holt up                             default-1, default-2, ... for this folder\n"
        "  holt up --name myproject\n"
        "  holt up --name web --join           one more replica, here or on another machine\n"
        "  holt up --foreground --name web --join     in a container\n",
    .details =
        "It starts the orchestrator in the background, waits until it is up, and says where its\n"
        "log is. The orchestrator holds the name and the workspace until holt down, a signal or\n"
        "its end; after a crash both are free when the ttl is over. The log has three files of\n"
        "--log-size bytes each at most, and says as much as HOLT_LOG_LEVEL asks for (info).\n"
        "A name is 1 to 63 of a-z, 0-9 and -, a letter first and no - last. --force overrides the\n"
        "check of the workspace, never that of the name.\n"
        "Exit code 5: the name or the workspace is taken, or there are too many instances.\n",
    .run = &up,
};

}  // namespace holt::cli
