// SPDX-License-Identifier: Apache-2.0
#pragma once
// Foreman: sees every handler of every node, in true time, and judges: who holds a task is the only
// one who was given it; who has lost it is told soon; no task is started more often than it has
// attempts (and once more, if a worker died); what a handler handed in is taken, or it is told that
// it came too late, and never both. The store alone is judged by the TaskLedger.

#include "primitives/held_task.hpp"
#include "sim/options.hpp"
#include "sim/task_ledger.hpp"
#include "support/sim_env.hpp"

#include <holt/queue.hpp>

#include <map>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

namespace holt::sim {

class Foreman {
 public:
  Foreman(World& world, Options const& options, TaskLedger& ledger)
      : world_(world), options_(options), ledger_(ledger) {}

  /// A handler begins with it; it has returned, and hands it in.
  void begins(SimEnv& env, std::shared_ptr<HeldTask> held);
  void ends(SimEnv const& env, HeldTask const& held, TaskOutcome outcome);
  /// A worker is told that what it handed in came too late.
  void late(SimEnv const& env, LateFinish const& finish);
  /// Its process is gone, or its worker: nothing more is told.
  void leaves(SimEnv const& env);

  /// Looks at everything.
  void after_event();
  /// What this node's worker handed in has been dealt with.
  void check_heard(SimEnv const& env);

 private:
  /// How long after a loss its handler may not have been told.
  static constexpr Nanos tell_within = std::chrono::milliseconds(50);

  struct Run {
    SimEnv* env;
    std::shared_ptr<HeldTask> held;
    TaskLedger::Job* job;
    Instant trusted{};           ///< until when it was, the last time somebody looked
    std::optional<Nanos> ended;  ///< when held() was first seen false
  };
  using Handed = std::pair<TaskId, Fence>;

  void look_at(Run& run);
  void check_told(Run& run);

  World& world_;
  Options const& options_;
  TaskLedger& ledger_;
  std::vector<Run> runs_;
  std::map<NodeId, std::map<Handed, bool>> handed_in_;  ///< and whether it came too late
};

}  // namespace holt::sim
