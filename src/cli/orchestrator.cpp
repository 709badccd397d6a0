// SPDX-License-Identifier: Apache-2.0
#include "cli/orchestrator.hpp"

#include "cli/command_line.hpp"
#include "cli/descriptor.hpp"
#include "cli/exit_code.hpp"
#include "cli/failure.hpp"
#include "cli/instance_refusal.hpp"
#include "cli/interruptible.hpp"
#include "cli/signals.hpp"
#include "cli/stream.hpp"
#include "cli/text.hpp"

#include <holt/instance.hpp>
#include <holt/log.hpp>
#include <holt/name.hpp>

#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <optional>
#include <stop_token>
#include <string>
#include <system_error>
#include <utility>

namespace holt::cli {
namespace {

using std::chrono::milliseconds;

/// Of the second that a signal leaves us.
constexpr milliseconds time_to_release{700};

InstanceOptions options_of(InstanceFlags const& flags) {
  InstanceOptions options;
  if (flags.name) options.name = *flags.name;
  options.workspace = *flags.workspace;
  options.force = flags.force;
  options.join = flags.join;
  if (flags.ttl) options.ttl = *flags.ttl;
  if (flags.heartbeat) options.heartbeat = *flags.heartbeat;
  if (flags.address) options.address = *flags.address;
  if (flags.max_instances) {
    options.max_instances =
        static_cast<std::uint32_t>(std::min<std::uint64_t>(*flags.max_instances, UINT32_MAX));
  }
  return options;
}

LogLevel level_of(InstanceEventKind kind) {
  return kind == InstanceEventKind::trouble ? LogLevel::warn : LogLevel::info;
}

std::string status_of(InstanceEvent const& event) {
  std::string text(to_string(event.kind));
  if (event.kind == InstanceEventKind::leading) return text + ", fence " + event.fence.decimal();
  if (!event.detail.empty()) text += ": " + event.detail;
  return text;
}

/// Waits for a signal, which is the answer, or (0) until the instance is over.
int wait_for_end(Instance const& instance, ServiceNotice const& service) {
  auto const set = ending_signals();
  Descriptor const signals(::signalfd(-1, &set, SFD_CLOEXEC));
  Descriptor const over(::eventfd(0, EFD_CLOEXEC));
  if (!signals.is_open() || !over.is_open()) {
    throw std::system_error(errno, std::system_category(), "cannot watch for signals");
  }
  std::stop_callback const hear(instance.ended(), [&] { ::eventfd_write(over.get(), 1); });
  std::array<pollfd, 2> events{pollfd{signals.get(), POLLIN, 0}, pollfd{over.get(), POLLIN, 0}};
  int const pause = service.alive_every() ? static_cast<int>(service.alive_every()->count()) : -1;
  while (true) {
    if (::poll(events.data(), events.size(), pause) == 0) service.alive();
    if (events[1].revents != 0) return 0;
    signalfd_siginfo info{};
    if (events[0].revents != 0 && ::read(signals.get(), &info, sizeof info) == sizeof info) {
      return static_cast<int>(info.ssi_signo);
    }
  }
}

int status_of_end(Instance const& instance, int signal) {
  if (signal != 0) return number(signal == SIGINT ? ExitCode::interrupted : ExitCode::ok);
  return number(instance.end() == InstanceEnd::lost ? ExitCode::lease_lost : ExitCode::ok);
}

}  // namespace

void InstanceFlags::declare(CommandLine& line) {
  line.value("--name", "INSTANCE", name, "its name (default: default-N, N never used before)");
  line.value("--workspace", "FOLDER", workspace, "the folder that it works in (the current one)");
  line.flag("--force", force, "come up although another instance has the workspace");
  line.flag("--join", join, "be one more replica if it is up already; needs --name");
  line.duration("--ttl", ttl, "how long the name outlives a crash (1m; 100ms to 1d)");
  line.duration("--heartbeat", heartbeat, "between two renewals (half of the ttl, at most)");
  line.value("--address", "ADDRESS", address, "where others reach it (default: its host)");
  line.count("--max-instances", max_instances, "no more than so many in this store (256)");
  store.declare_store(line);
}

void InstanceFlags::check() {
  if (name) {
    auto const parsed = parse_instance(*name);
    if (!parsed) throw UsageError("--name: " + parsed.error());
  }
  if (join && !name) throw UsageError("--join needs --name: which instance is to be joined?");
  workspace = canonical_workspace(workspace.value_or(""));
}

void tell_started(Instance const& instance) {
  if (!instance.overridden().empty()) {
    talk_plainly("Warning: Overriding workspace path collision check");
  }
  write_data((instance.leads() ? "Started instance: " : "Joined instance: ") + instance.name() +
             '\n');
}

Orchestrator::Orchestrator(InstanceFlags const& flags, ServiceLog const& log,
                           ServiceNotice const& service, Tell tell)
    : flags_(flags), log_(log), service_(service), tell_(std::move(tell)) {}

int Orchestrator::run(CommandLine& line, StoreOptions::Opening opening) const {
  line.doing = flags_.name ? "start instance " + in_quotes(*flags_.name) : "start an instance";
  BlockedSignals const blocked(ending_signals());
  std::optional<Interruptible> starting(std::in_place);
  log_.attach(opening.options);
  auto instances = open_instances(opening.url, std::move(opening.options));
  auto instance = instances.up(options_of(flags_), listener());
  if (!instance) {
    line.doing.clear();
    refuse(instance.error());
  }
  if (int const signal = starting->signal(); signal != 0) {
    instance->stop(time_to_clean_up);
    end_by_signal(signal);
  }
  starting.reset();
  tell_(*instance);
  line.doing.clear();
  service_.ready(instance->leads() ? "leading" : "following");
  return serve(*instance);
}

/// It owns what it needs: the last event may be on its way when everything else is gone.
Instances::Listener Orchestrator::listener() const {
  return [log = log_, service = service_,
          name = flags_.name.value_or("")](InstanceEvent const& event) {
    log.write({.level = level_of(event.kind),
               .event = std::string(to_string(event.kind)),
               .instance = name,
               .name = {},
               .owner = {},
               .fence = event.fence.value(),
               .reason = event.kind == InstanceEventKind::leading ? "" : event.detail});
    service.status(status_of(event));
  };
}

int Orchestrator::serve(Instance& instance) const {
  int const signal = wait_for_end(instance, service_);
  service_.stopping();
  LogEvent last{.level = LogLevel::info, .event = "stopped", .instance = instance.name()};
  last.reason =
      signal != 0 ? std::string("signal ") + ::sigabbrev_np(signal) : instance.end_reason();
  int const status = status_of_end(instance, signal);
  if (!instance.stop(time_to_release)) {
    last.level = LogLevel::warn;
    last.reason += "; the store was not reached: free when the ttl is over";
    log_.write(last);
    ::_exit(status);  // closing the client would take as long as the store does
  }
  log_.write(last);
  return status;
}

}  // namespace holt::cli
