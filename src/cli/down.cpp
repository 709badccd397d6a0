// SPDX-License-Identifier: Apache-2.0
// holt down: asks an instance to stop, wherever it runs, and waits until it has.

#include "cli/command_line.hpp"
#include "cli/commands.hpp"
#include "cli/duration.hpp"
#include "cli/exit_code.hpp"
#include "cli/failure.hpp"
#include "cli/interruptible.hpp"
#include "cli/nearest.hpp"
#include "cli/signals.hpp"
#include "cli/store.hpp"
#include "cli/stream.hpp"
#include "cli/text.hpp"

#include <holt/instance.hpp>
#include <holt/name.hpp>

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

namespace holt::cli {
namespace {

struct DownFlags {
  std::optional<std::string> name;
  std::optional<std::string> workspace;
  std::optional<std::string> reason;
  std::optional<std::chrono::milliseconds> wait;
  bool force = false;
  StoreOptions store;

  void declare(CommandLine& line) {
    line.value("--name", "INSTANCE", name, "which (default: the newest of this workspace)");
    line.value("--workspace", "FOLDER", workspace, "of this folder, not of the current one");
    line.flag("--force", force, "free name and workspace at once, whatever it does: unsafe");
    line.duration("--wait", wait, "how long it may take (10s)");
    line.value("--reason", "TEXT", reason, "why; its log tells it (up to 256 bytes)");
    store.declare_store(line);
    line.exclusive("--name", "--workspace");
  }

  void check() const {
    if (name && workspace) throw UsageError("--name and --workspace exclude each other");
    if (!name) return;
    auto const parsed = parse_instance(*name);
    if (!parsed) throw UsageError("--name: " + parsed.error());
  }

  [[nodiscard]] DownOptions options() const {
    DownOptions options;
    if (wait) options.deadline = *wait;
    options.force = force;
    return options;
  }
};

bool is_here(InstanceInfo const& instance, std::string const& workspace) {
  auto const host = instance_host();
  auto const runs_here = [&](ReplicaInfo const& replica) { return replica.hostname == host; };
  return instance.workspace == workspace && instance.status != InstanceStatus::stopped &&
         (instance.hostname == host || std::ranges::any_of(instance.replicas, runs_here));
}

std::string candidates(std::vector<InstanceInfo> const& all) {
  std::string text;
  for (auto const& instance : all) {
    text.append("\n  ").append(instance.name).append("  ");
    text.append(to_string(instance.status)).append("  ").append(printable(instance.workspace));
    text.append(" on ").append(printable(instance.hostname));
  }
  return all.empty() ? "" : "\nThe instances of this store:" + text;
}

[[noreturn]] void refuse(std::string const& message, std::vector<InstanceInfo> const& all) {
  throw Failure(ExitCode::not_found, message + candidates(all),
                all.empty() ? "holt up (to start one in this folder)"
                            : "holt down --name INSTANCE (to stop one of these)\n"
                              "holt list (to see more of them)");
}

/// The newest of the workspace. Two that started in the same moment: the later grant.
std::string name_in(std::string const& workspace, std::vector<InstanceInfo> const& all) {
  InstanceInfo const* newest = nullptr;
  auto const age = [](InstanceInfo const& it) { return std::tuple(it.started_at, it.fence); };
  for (auto const& instance : all) {
    if (!is_here(instance, workspace)) continue;
    if (newest == nullptr || age(*newest) < age(instance)) newest = &instance;
  }
  if (newest != nullptr) return newest->name;
  refuse("no instance runs in workspace '" + printable(workspace) + "' on this host", all);
}

[[noreturn]] void refuse_unknown(std::string const& name, std::vector<InstanceInfo> const& all) {
  std::vector<std::string_view> names;
  names.reserve(all.size());
  for (auto const& instance : all) names.emplace_back(instance.name);
  auto const meant = nearest(name, names);
  refuse("there is no instance '" + name + "'" +
             (meant.empty() ? "" : "; did you mean '" + std::string(meant) + "'?"),
         all);
}

[[noreturn]] void refuse_late(std::string const& name, std::chrono::milliseconds waited) {
  throw Failure(ExitCode::conflict,
                "instance '" + name + "' was asked to stop and has not within " +
                    format_duration(waited) + "; it ends by itself when its ttl is over",
                "holt list (to see whether it has)\nholt down --name " + name +
                    " --force (to free its name at once, though it may still work)");
}

int report(DownResult result, Instances& instances, std::string const& name,
           DownOptions const& options) {
  switch (result) {
    case DownResult::stopped:
      write_data("Stopped instance: " + name + '\n');
      return number(ExitCode::ok);
    case DownResult::cleaned:
      write_data("Cleaned up instance: " + name + '\n');
      talk("it was dead already; what was left of it is gone");
      return number(ExitCode::ok);
    case DownResult::late:
      refuse_late(name, options.deadline);
    case DownResult::not_found:
      refuse_unknown(name, instances.list());
  }
  return number(ExitCode::failed);
}

int down(CommandLine& line) {
  DownFlags flags;
  flags.declare(line);
  if (!line.parse()) return number(ExitCode::ok);
  flags.check();
  std::string const workspace = flags.name ? "" : canonical_workspace(flags.workspace.value_or(""));
  line.doing = flags.name ? "stop instance " + in_quotes(*flags.name) : "stop an instance";
  auto const options = flags.options();
  BlockedSignals const blocked(ending_signals());
  Interruptible const interruptible;
  auto [url, open_options] = flags.store.opening();
  auto instances = open_instances(url, std::move(open_options));
  auto const usual_reason =
      "holt down by pid " + std::to_string(::getpid()) + " on " + printable(instance_host());
  if (!flags.name) line.doing.clear();
  auto const name = flags.name ? *flags.name : name_in(workspace, instances.list());
  if (flags.force) {
    talk_plainly("Warning: name and workspace are freed at once, though '" + name +
                 "' may still work until it notices");
  }
  auto const result = instances.down(name, flags.reason.value_or(usual_reason), options);
  line.doing.clear();
  return report(result, instances, name, options);
}

}  // namespace

constinit Command const down_command{
    .words = "down",
    .synopsis = "[options]",
    .summary = "Stop an instance, wherever it runs",
    .examples =
        "  holt down                           the newest instance of this folder\n"
        "  holt down --name myproject\n"
        "  holt down --name myproject --reason \"host is being replaced\"\n",
    .details =
        "It is asked through the store, with all its replicas, and waited for; no process is ever\n"
        "signalled. What is left of one that is dead already is cleaned up. --force does not "
        "wait:\n"
        "another may take the name while this one still works.\n"
        "Exit code 3: there is none. 5: it has not stopped in time.\n",
    .run = &down,
};

}  // namespace holt::cli
