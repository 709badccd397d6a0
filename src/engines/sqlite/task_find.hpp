// SPDX-License-Identifier: Apache-2.0
#pragma once
// TaskFinder: where a task of a queue is. There is no index of tasks by number that could go stale:
// a task is looked for where tasks can be, few places each of which is in order.

#include "engines/sqlite/task_rows.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace holt::sqlite {

struct WaitingTask {
  std::int64_t run_at_ms = 0;
  bool tried = false;
  TaskRecord task;
};

struct RunningTask {
  ClaimRow claim;
  std::size_t index = 0;  ///< in the claim
};

class TaskFinder {
 public:
  TaskFinder(TaskRows& rows, std::vector<Lane> const& lanes) : rows_(rows), lanes_(lanes) {}

  std::optional<TaskRecord> ready(std::uint64_t number);
  std::optional<WaitingTask> waiting(std::uint64_t number);
  std::optional<RunningTask> running(std::uint64_t number);
  /// That is still kept.
  std::optional<EndedRecord> ended(std::uint64_t number);

 private:
  TaskRows& rows_;
  std::vector<Lane> const& lanes_;
};

}  // namespace holt::sqlite
