// SPDX-License-Identifier: Apache-2.0
#pragma once
// Crew: the worker of one node and its handlers, which are quick, slow, fail, want to be tried
// again, or do not heed that they are to stop. In the storm it stops and starts now and then. When
// the world has healed it works until every task has come to its end. The foreman judges.

#include "primitives/nursery.hpp"
#include "primitives/worker.hpp"
#include "sim/client.hpp"
#include "sim/foreman.hpp"

#include <memory>
#include <string>

namespace holt::sim {

/// Handlers of this kind do not heed their stop tokens; its tasks need a timeout.
inline constexpr char const* stuck_kind = "stuck";

class Crew {
 public:
  Crew(Tools tools, WorkTools parts, Foreman& foreman, TaskLedger& ledger);

  /// Works until all tasks have ended in a healthy world, or until the end, or until its node is
  /// dead.
  asio::awaitable<void> run();

  void die();
  [[nodiscard]] bool served() const { return dead_ || served_; }

 private:
  [[nodiscard]] bool over() const { return dead_ || served_ || tools_.phase.ending; }
  asio::awaitable<void> sleep(Nanos for_how_long);
  asio::awaitable<void> stop_and_start();
  asio::awaitable<void> work_at_bench();
  asio::awaitable<void> handle(std::shared_ptr<HeldTask> held);
  asio::awaitable<void> be_stuck(std::shared_ptr<HeldTask> held);
  TaskEnd choose_end(std::shared_ptr<HeldTask> held);
  void expect(bool is_so, std::string const& promise);

  Tools tools_;
  Foreman& foreman_;
  TaskLedger& ledger_;
  Random random_;
  std::string inbox_;
  TaskWorker worker_;
  Nursery handlers_;
  bool dead_ = false;
  bool served_ = false;
};

}  // namespace holt::sim
