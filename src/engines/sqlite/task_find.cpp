// SPDX-License-Identifier: Apache-2.0
#include "engines/sqlite/task_find.hpp"

#include "engines/sqlite/task_history.hpp"
#include "sqlite_sql.hpp"

#include <algorithm>
#include <utility>

namespace holt::sqlite {

std::optional<TaskRecord> TaskFinder::ready(std::uint64_t number) {
  auto const wanted = static_cast<std::int64_t>(number);
  for (auto const& lane : lanes_) {
    for (auto priority = task_limits::most_urgent; priority <= task_limits::least_urgent;
         ++priority) {
      Query row(rows_.store(), sql::task_ready_after, lane.id, priority, number, 1);
      if (row.next() && row.integer(0) == wanted) return TaskRecord::unpack(row.text(1));
    }
  }
  return std::nullopt;
}

std::optional<WaitingTask> TaskFinder::waiting(std::uint64_t number) {
  Query row(rows_.store(), sql::task_wait_after, rows_.queue(), number, 1);
  if (!row.next() || row.integer(0) != static_cast<std::int64_t>(number)) return std::nullopt;
  return WaitingTask{row.integer(2), row.integer(3) != 0, TaskRecord::unpack(row.text(1))};
}

std::optional<RunningTask> TaskFinder::running(std::uint64_t number) {
  for (auto& claim : rows_.claims()) {
    auto const found = std::ranges::find(claim.tasks, number, number_of);
    if (found == claim.tasks.end()) continue;
    auto const index = static_cast<std::size_t>(found - claim.tasks.begin());
    return RunningTask{std::move(claim), index};
  }
  return std::nullopt;
}

std::optional<EndedRecord> TaskFinder::ended(std::uint64_t number) {
  {
    Query row(rows_.store(), sql::task_ended_after, rows_.queue(), number, rows_.wall_ms(), 1);
    bool const found = row.next() && row.integer(0) == static_cast<std::int64_t>(number);
    if (found) return EndedRecord::unpack(row.text(1));
  }
  std::optional<EndedRecord> found;
  for_each_in_history(rows_, [&](EndedRecord ended) {
    if (ended.task.number == number) found = std::move(ended);
  });
  return found;
}

}  // namespace holt::sqlite
