// SPDX-License-Identifier: Apache-2.0
#pragma once
// The orchestrator of an instance: the process that holds its name, behind `holt serve` and
// `holt up`. It comes up, says so, and serves until it is told to stop, by a signal or by
// somebody's `holt down`, or until the name is another's.

#include "cli/command_line.hpp"
#include "cli/log.hpp"
#include "cli/service_notice.hpp"
#include "cli/store.hpp"

#include <holt/instance.hpp>

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>

namespace holt::cli {

/// What both commands accept.
struct InstanceFlags {
  std::optional<std::string> name;
  std::optional<std::string> workspace;
  bool force = false;
  bool join = false;
  std::optional<std::chrono::milliseconds> ttl;
  std::optional<std::chrono::milliseconds> heartbeat;
  std::optional<std::string> address;
  std::optional<std::uint64_t> max_instances;
  StoreOptions store;

  void declare(CommandLine& line);

  /// Refuses what can be refused without asking the store, and makes the workspace canonical.
  /// Throws UsageError, InvalidArgument.
  void check();
};

class Orchestrator {
 public:
  /// Called once it is up. What it throws ends it.
  using Tell = std::function<void(Instance const& instance)>;

  /// The flags are checked. All must outlive it.
  Orchestrator(InstanceFlags const& flags, ServiceLog const& log, ServiceNotice const& service,
               Tell tell);

  /// Runs to its end. Answers the exit status; throws Failure when it does not come up.
  int run(CommandLine& line, StoreOptions::Opening opening) const;

 private:
  [[nodiscard]] Instances::Listener listener() const;
  int serve(Instance& instance) const;

  InstanceFlags const& flags_;
  ServiceLog const& log_;
  ServiceNotice const& service_;
  Tell tell_;
};

/// What a person sees first: that it is up, and a warning if it went over another's claim.
void tell_started(Instance const& instance);

}  // namespace holt::cli
