// SPDX-License-Identifier: Apache-2.0
#pragma once
// Customer: adds tasks from one node, cancels some, waits for some, as long as there is a storm.
// Each task has a payload of its own, so that one that is there twice is noticed.

#include "primitives/task_calls.hpp"
#include "sim/client.hpp"
#include "sim/task_ledger.hpp"

#include <string>
#include <vector>

namespace holt::sim {

class Customer {
 public:
  Customer(Tools tools, TaskStore& tasks, SignalBus& signals, TaskLedger& ledger);

  /// Until the world has healed, or its node is dead.
  asio::awaitable<void> run();

  void die() { dead_ = true; }
  [[nodiscard]] bool served() const { return dead_ || served_; }

 private:
  [[nodiscard]] bool over() const { return dead_ || tools_.phase.ending; }
  asio::awaitable<void> add();
  asio::awaitable<void> cancel(TaskId id);
  asio::awaitable<void> wait(TaskId id);
  NewTask choose_task();
  void fault(EngineError const& error);

  Tools tools_;
  TaskStore& tasks_;
  SignalBus& signals_;
  TaskLedger& ledger_;
  Random random_;
  TaskCalls calls_;
  std::vector<TaskId> ours_;
  int orders_ = 0;
  bool dead_ = false;
  bool served_ = false;
};

}  // namespace holt::sim
