// SPDX-License-Identifier: Apache-2.0
#pragma once
// TaskSettler: what becomes of a task that was in a claim, or that somebody cancels: it waits
// again, or it is over. Nothing of tasks that are over without a result is written before store().

#include "contracts/task_store.hpp"
#include "engines/sqlite/task_rows.hpp"

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace holt::sqlite {

class TaskSettler {
 public:
  explicit TaskSettler(TaskRows& rows) : rows_(rows) {}

  /// Handed in by who has the claim. Answers the state that the task is in then.
  TaskState hand_in(ClaimRow const& claim, TaskRecord task, TaskFinish const& finish);
  /// Its claim has ended.
  TaskState take_back(ClaimRow const& claim, TaskRecord task);
  TaskState untouched(ClaimRow const& claim, TaskRecord task);
  TaskState cancel(TaskRecord task);

  /// Writes the rest, and removes what was kept long enough.
  void store();

  /// How many tasks of each lane are pending because of this.
  [[nodiscard]] std::map<std::int64_t, std::uint64_t> const& came_back() const {
    return came_back_;
  }
  /// Who wants to hear of which task's end.
  struct Tell {
    std::string inbox;
    std::uint64_t number = 0;
  };
  [[nodiscard]] std::vector<Tell> const& tells() const { return tells_; }

 private:
  TaskState fail(ClaimRow const& claim, TaskRecord task, std::string_view error, Nanos delay);
  TaskState reject(ClaimRow const& claim, TaskRecord task, std::string_view error);
  TaskState again(ClaimRow const& claim, TaskRecord task, TaskFinish const& finish);
  void note_failure(ClaimRow const& claim, TaskRecord& task, std::string_view error) const;
  TaskState wait(TaskRecord const& task, Nanos delay);
  TaskState end(TaskRecord task, TaskState state, std::string_view result = {});

  TaskRows& rows_;
  std::map<std::int64_t, std::uint64_t> came_back_;
  std::vector<Tell> tells_;
  std::vector<std::string> history_;
  std::uint64_t ended_ = 0;
};

}  // namespace holt::sqlite
