// SPDX-License-Identifier: Apache-2.0
#include "engines/sqlite/task_settle.hpp"

#include "base/check.hpp"
#include "engines/sqlite/span.hpp"
#include "sqlite_sql.hpp"

#include <algorithm>
#include <chrono>
#include <utility>

namespace holt::sqlite {
namespace {

using std::chrono::milliseconds;
using Wall = std::chrono::system_clock::time_point;

constexpr std::string_view ended_claim = "the worker's claim ended before it handed the task in";

}  // namespace

TaskState TaskSettler::hand_in(ClaimRow const& claim, TaskRecord task, TaskFinish const& finish) {
  if (finish.outcome == TaskOutcome::completed) {
    ++task.attempt;
    task.fence = claim.fence;
    return end(std::move(task), TaskState::completed, finish.text);
  }
  if (task.cancel) {
    task.fence = claim.fence;
    return cancel(std::move(task));
  }
  switch (finish.outcome) {
    case TaskOutcome::failed:
      return fail(claim, std::move(task), finish.text, finish.delay);
    case TaskOutcome::rejected:
      return reject(claim, std::move(task), finish.text);
    case TaskOutcome::again:
      return again(claim, std::move(task), finish);
    default:
      return untouched(claim, std::move(task));
  }
}

TaskState TaskSettler::take_back(ClaimRow const& claim, TaskRecord task) {
  if (task.cancel) {
    task.fence = claim.fence;
    return cancel(std::move(task));
  }
  if (claim.made == 1) return fail(claim, std::move(task), ended_claim, Nanos(0));
  task.suspect = true;
  return untouched(claim, std::move(task));
}

TaskState TaskSettler::untouched(ClaimRow const& claim, TaskRecord task) {
  task.fence = claim.fence;
  if (task.cancel) return cancel(std::move(task));
  return wait(task, Nanos(0));
}

TaskState TaskSettler::cancel(TaskRecord task) {
  return end(std::move(task), TaskState::cancelled);
}

TaskState TaskSettler::fail(ClaimRow const& claim, TaskRecord task, std::string_view error,
                            Nanos delay) {
  if (task.attempt + 1 >= task.max_attempts) return reject(claim, std::move(task), error);
  note_failure(claim, task, error);
  return wait(task, delay);
}

TaskState TaskSettler::reject(ClaimRow const& claim, TaskRecord task, std::string_view error) {
  note_failure(claim, task, error);
  return end(std::move(task), TaskState::dead);
}

TaskState TaskSettler::again(ClaimRow const& claim, TaskRecord task, TaskFinish const& finish) {
  if (task.returns >= task_limits::returns) {
    return fail(claim, std::move(task), finish.text, finish.delay);
  }
  ++task.returns;
  task.fence = claim.fence;
  return wait(task, finish.delay);
}

void TaskSettler::note_failure(ClaimRow const& claim, TaskRecord& task,
                               std::string_view error) const {
  ++task.attempt;
  task.fence = claim.fence;
  if (task.errors.size() >= task_limits::told_attempts) task.errors.erase(task.errors.begin());
  task.errors.push_back({task.attempt, Fence(claim.fence), claim.worker,
                         Wall(milliseconds(claim.claimed_ms)), Wall(milliseconds(rows_.wall_ms())),
                         std::string(error)});
}

/// Back to where it may be claimed, now or later, with its key if nobody has taken that meanwhile.
TaskState TaskSettler::wait(TaskRecord const& task, Nanos delay) {
  if (!task.unique.empty() && task.unique_while == Unique::waiting) {
    rows_.take_key(task.unique, task.number);
  }
  if (delay > Nanos(0)) {
    rows_.put_waiting(task, rows_.wall_ms() + std::chrono::ceil<milliseconds>(delay).count(), true);
    return TaskState::retrying;
  }
  rows_.put_ready(task, task.pack());
  ++came_back_[task.lane];
  return TaskState::pending;
}

TaskState TaskSettler::end(TaskRecord task, TaskState state, std::string_view result) {
  ++ended_;
  if (!task.unique.empty() && task.unique_while != Unique::period) {
    rows_.drop_key(task.unique, task.number);
  }
  if (!task.tell.empty()) tells_.push_back({task.tell, task.number});
  if (state != TaskState::dead) {
    if (task.apart) rows_.drop_body(task.number);
    task.apart = false;
    task.payload = result;
    if (task.keep_ms == 0) return state;
  }
  auto const number = task.number;
  bool const good = state == TaskState::dead;
  std::optional<std::int64_t> until;
  if (!good) until = rows_.wall_ms() + task.keep_ms;
  auto packed = EndedRecord{state, rows_.wall_ms(), until.value_or(0), std::move(task)}.pack();
  if (good || !result.empty()) {
    Query(rows_.store(), sql::task_ended_put, rows_.queue(), number,
          static_cast<std::int64_t>(state), until, Blob{packed})
        .run();
  } else {
    history_.push_back(std::move(packed));
  }
  return state;
}

void TaskSettler::store() {
  if (!history_.empty()) {
    std::int64_t position = static_cast<std::int64_t>(history_.size());
    {
      Query row(rows_.store(), sql::task_history_last, rows_.queue());
      HOLT_CHECK(row.next());
      position += row.integer(0);
    }
    auto const tasks = join(history_);
    Query(rows_.store(), sql::task_history_put, rows_.queue(), position, Blob{tasks}).run();
    auto const kept = static_cast<std::int64_t>(TaskStore::kept_without_result);
    Query(rows_.store(), sql::task_history_trim, rows_.queue(), position - kept).run();
  }
  if (ended_ > 0) Query(rows_.store(), sql::task_ended_sweep, rows_.wall_ms(), 2 * ended_).run();
}

}  // namespace holt::sqlite
