// SPDX-License-Identifier: Apache-2.0
#include "engines/sqlite/task_queries.hpp"

#include "base/check.hpp"
#include "engines/sqlite/task_find.hpp"
#include "engines/sqlite/task_history.hpp"
#include "sqlite_sql.hpp"

#include <algorithm>
#include <limits>
#include <utility>

namespace holt::sqlite {
namespace {

constexpr int no_limit = -1;
constexpr auto for_ever = std::numeric_limits<std::int64_t>::max();

template <class... Values>
std::uint64_t number_of_rows(TaskRows& rows, std::string_view query, Values const&... values) {
  Query row(rows.store(), query, values...);
  HOLT_CHECK(row.next());
  return static_cast<std::uint64_t>(row.integer(0));
}

std::uint64_t TaskCounts::* field_of(TaskState state) {
  switch (state) {
    case TaskState::completed:
      return &TaskCounts::completed;
    case TaskState::dead:
      return &TaskCounts::dead;
    default:
      return &TaskCounts::cancelled;
  }
}

}  // namespace

void TaskFindStep::look(TaskRows& rows) {
  result_.reset();
  if (!rows.find_queue(id_.queue())) return;
  TaskView view(rows, id_.queue(), true);
  TaskFinder finder(rows, view.lanes());
  auto const number = id_.number();
  if (auto ready = finder.ready(number)) {
    result_ = view.ready(std::move(*ready));
  } else if (auto waiting = finder.waiting(number)) {
    result_ = view.waiting(std::move(waiting->task), waiting->run_at_ms, waiting->tried);
  } else if (auto running = finder.running(number)) {
    auto const& packed = running->claim.tasks[running->index];
    result_ = view.running(TaskRecord::unpack(packed), running->claim);
  } else if (auto ended = finder.ended(number)) {
    result_ = view.ended(std::move(*ended));
  }
}

void TaskListStep::select(TaskFilter filter, std::uint64_t after, std::uint32_t limit) {
  filter_ = std::move(filter);
  after_ = after;
  limit_ = limit;
}

bool TaskListStep::wanted(TaskInfo const& task) const {
  return task.id.number() > after_ && (!filter_.state || task.state == *filter_.state) &&
         (filter_.kind.empty() || task.kind == filter_.kind);
}

/// From each place one task more than fits into the page, if there are so many; then the first of
/// all of them.
void TaskListStep::look(TaskRows& rows) {
  result_ = {};
  if (!rows.find_queue(queue_)) return;
  TaskView view(rows, queue_, false);
  look_at_ready(rows, view);
  look_at_waiting(rows, view);
  look_at_running(rows, view);
  look_at_ended(rows, view);
  auto& tasks = result_.tasks;
  std::ranges::sort(tasks, {}, &TaskInfo::id);
  if (tasks.size() <= limit_) return;
  tasks.resize(limit_);
  result_.next = std::to_string(tasks.back().id.number());
}

void TaskListStep::look_at_ready(TaskRows& rows, TaskView& view) {
  if (filter_.state.value_or(TaskState::pending) != TaskState::pending) return;
  for (auto const& lane : view.lanes()) {
    if (!filter_.kind.empty() && lane.kind != filter_.kind) continue;
    for (auto priority = task_limits::most_urgent; priority <= task_limits::least_urgent;
         ++priority) {
      Query row(rows.store(), sql::task_ready_after, lane.id, priority, after_ + 1, limit_ + 1);
      while (row.next()) result_.tasks.push_back(view.ready(TaskRecord::unpack(row.text(1))));
    }
  }
}

void TaskListStep::look_at_waiting(TaskRows& rows, TaskView& view) {
  std::size_t count = 0;
  Query row(rows.store(), sql::task_wait_after, rows.queue(), after_ + 1, no_limit);
  while (count <= limit_ && row.next()) {
    auto task = view.waiting(TaskRecord::unpack(row.text(1)), row.integer(2), row.integer(3) != 0);
    if (!wanted(task)) continue;
    result_.tasks.push_back(std::move(task));
    ++count;
  }
}

void TaskListStep::look_at_running(TaskRows& rows, TaskView& view) {
  if (filter_.state.value_or(TaskState::running) != TaskState::running) return;
  for (auto const& claim : rows.claims()) {
    for (auto const& packed : claim.tasks) {
      if (number_of(packed) <= after_) continue;
      auto task = view.running(TaskRecord::unpack(packed), claim);
      if (wanted(task)) result_.tasks.push_back(std::move(task));
    }
  }
}

void TaskListStep::look_at_ended(TaskRows& rows, TaskView& view) {
  std::size_t count = 0;
  Query row(rows.store(), sql::task_ended_after, rows.queue(), after_ + 1, rows.wall_ms(),
            no_limit);
  while (count <= limit_ && row.next()) {
    auto task = view.ended(EndedRecord::unpack(row.text(1)));
    if (!wanted(task)) continue;
    result_.tasks.push_back(std::move(task));
    ++count;
  }
  for_each_in_history(rows, [&](EndedRecord ended) {
    auto task = view.ended(std::move(ended));
    if (wanted(task)) result_.tasks.push_back(std::move(task));
  });
}

void TaskCountStep::look(TaskRows& rows) {
  result_ = {};
  if (!rows.find_queue(queue_)) return;
  count_waiting(rows);
  count_ended(rows);
  result_.running = number_of_rows(rows, sql::task_claim_count, rows.queue());
  for (auto const field :
       {&TaskCounts::scheduled, &TaskCounts::pending, &TaskCounts::running, &TaskCounts::completed,
        &TaskCounts::retrying, &TaskCounts::dead, &TaskCounts::cancelled}) {
    result_.*field = std::min(result_.*field, TaskCounts::limit);
  }
}

void TaskCountStep::count_waiting(TaskRows& rows) {
  auto const now = rows.wall_ms();
  auto const most = TaskCounts::limit;
  for (auto const& lane : rows.lanes()) {
    auto const count = [&](int tried, std::int64_t from, std::int64_t to) {
      return number_of_rows(rows, sql::task_wait_count, lane.id, tried, from, to, most);
    };
    result_.pending += number_of_rows(rows, sql::task_ready_count, lane.id, most);
    result_.pending += count(0, 0, now) + count(1, 0, now);
    result_.scheduled += count(0, now + 1, for_ever);
    result_.retrying += count(1, now + 1, for_ever);
  }
}

void TaskCountStep::count_ended(TaskRows& rows) {
  for (auto const state : {TaskState::completed, TaskState::dead}) {
    result_.*field_of(state) =
        number_of_rows(rows, sql::task_ended_count, rows.queue(), static_cast<int>(state),
                       rows.wall_ms(), TaskCounts::limit);
  }
  for_each_in_history(rows, [&](EndedRecord const& ended) { ++(result_.*field_of(ended.state)); });
}

}  // namespace holt::sqlite
