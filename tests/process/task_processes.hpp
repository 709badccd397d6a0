// SPDX-License-Identifier: Apache-2.0
#pragma once
// What the tests of task queues between processes share: a store of any engine that can be hurt,
// worker processes on it, and the judgement: every task is completed, once, by one fence.

#include "process/remote.hpp"
#include "process/work_ledger.hpp"
#include "support/temporary_folder.hpp"

#include <holt/holt.hpp>

#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <string>
#include <vector>

namespace holt::test {

using namespace std::chrono_literals;

/// A store of a test's own. What it has answered it keeps, whatever is done to it.
class TaskPlace {
 public:
  virtual ~TaskPlace() = default;
  [[nodiscard]] virtual std::string url() const = 0;
  // Of a server:
  virtual void restart() {}          ///< in good order
  virtual void crash() {}            ///< without a warning, and started again
  virtual void cut_connections() {}  ///< all that there are now
};

[[nodiscard]] std::unique_ptr<TaskPlace> sqlite_place();
[[nodiscard]] std::unique_ptr<TaskPlace> redis_place();
[[nodiscard]] std::unique_ptr<TaskPlace> postgres_place();

class TaskProcessTest : public testing::Test {
 protected:
  static constexpr auto queue_name = "work";

  /// To be called first.
  void use(std::string url);
  /// Many tasks with this payload.
  std::vector<TaskId> add(std::size_t count, std::string const& payload = {},
                          TaskOptions options = {});
  /// A process that works, with `ttl` 1 s unless said otherwise.
  std::unique_ptr<Remote> worker(std::uint32_t concurrency = 4, std::chrono::milliseconds ttl = 1s);
  static void stop(Remote& worker);

  /// Nothing as well when the store cannot be asked just now.
  std::optional<TaskCounts> counts();
  [[nodiscard]] std::uint64_t completed();
  /// Waits until every task has ended.
  [[nodiscard]] bool all_end(std::chrono::milliseconds patience = 90s);
  /// Every one of these is completed, and as the ledger says; all workers are gone or stopped.
  void expect_all_completed(std::vector<TaskId> const& ids);
  /// The same of all that there are, at least so many.
  void expect_all_completed(std::size_t least);
  /// All tasks of this state, and the fences of their last claims.
  std::map<TaskId, Fence> fences(TaskState state);
  [[nodiscard]] WorkBook book() const { return WorkBook(ledger_); }

  TemporaryFolder folder_;
  std::string const ledger_ = folder_.file("ledger");
  std::string url_;
  std::optional<Holt> holt_;
  std::optional<Queue> queue_;

 private:
  int workers_ = 0;
};

/// One that runs on a store of each kind.
class TaskPlaceTest : public TaskProcessTest,
                      public testing::WithParamInterface<std::unique_ptr<TaskPlace> (*)()> {
 protected:
  TaskPlaceTest() { use(place_->url()); }
  std::unique_ptr<TaskPlace> const place_ = GetParam()();
};

}  // namespace holt::test
