// SPDX-License-Identifier: Apache-2.0
#pragma once
// Records of tasks as handlers and onlookers see them.

#include "engines/sqlite/task_record.hpp"
#include "engines/sqlite/task_rows.hpp"

#include <holt/task.hpp>

#include <string>
#include <vector>

namespace holt::sqlite {

/// What a handler is given of a task that was just claimed.
[[nodiscard]] Task task_of(TaskRows& rows, TaskRecord& record, std::string const& queue,
                           std::vector<Lane> const& lanes);

/// Makes TaskInfo of what is found in one queue. Payloads, results and errors only if they are
/// asked for.
class TaskView {
 public:
  TaskView(TaskRows& rows, std::string queue, bool whole)
      : rows_(rows), queue_(std::move(queue)), lanes_(rows.lanes()), whole_(whole) {}

  [[nodiscard]] std::vector<Lane> const& lanes() const noexcept { return lanes_; }

  TaskInfo ready(TaskRecord record);
  TaskInfo waiting(TaskRecord record, std::int64_t run_at_ms, bool tried);
  TaskInfo running(TaskRecord record, ClaimRow const& claim);
  TaskInfo ended(EndedRecord record);

 private:
  TaskInfo info(TaskRecord& record, TaskState state);

  TaskRows& rows_;
  std::string queue_;
  std::vector<Lane> lanes_;
  bool whole_;
};

}  // namespace holt::sqlite
