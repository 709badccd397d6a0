// SPDX-License-Identifier: Apache-2.0
#include "engines/sqlite/task_info.hpp"

#include <algorithm>
#include <chrono>
#include <utility>

namespace holt::sqlite {
namespace {

using std::chrono::milliseconds;
using Wall = std::chrono::system_clock::time_point;

std::string kind_of(std::vector<Lane> const& lanes, std::int64_t id) {
  auto const found = std::ranges::find(lanes, id, &Lane::id);
  return found == lanes.end() ? std::string() : found->kind;
}

Wall wall_of(std::int64_t ms) { return Wall(milliseconds(ms)); }

}  // namespace

Task task_of(TaskRows& rows, TaskRecord& record, std::string const& queue,
             std::vector<Lane> const& lanes) {
  Task task;
  task.id = TaskId(queue, record.number);
  task.kind = kind_of(lanes, record.lane);
  task.payload = rows.payload_of(record);
  task.metadata = std::move(record.metadata);
  task.priority = record.priority;
  task.attempt = record.attempt + 1;
  task.max_attempts = record.max_attempts;
  task.timeout = milliseconds(record.timeout_ms);
  return task;
}

TaskInfo TaskView::info(TaskRecord& record, TaskState state) {
  TaskInfo info;
  info.id = TaskId(queue_, record.number);
  info.state = state;
  info.kind = kind_of(lanes_, record.lane);
  info.metadata = std::move(record.metadata);
  info.priority = record.priority;
  info.attempt = record.attempt;
  info.max_attempts = record.max_attempts;
  info.returns = record.returns;
  info.timeout = milliseconds(record.timeout_ms);
  info.unique = std::move(record.unique);
  info.added_at = wall_of(record.added_ms);
  info.fence = Fence(record.fence);
  info.progress = std::move(record.progress);
  if (!whole_) return info;
  info.errors = std::move(record.errors);
  auto& text = state == TaskState::completed ? info.result : info.payload;
  text = rows_.payload_of(record);
  return info;
}

TaskInfo TaskView::ready(TaskRecord record) { return info(record, TaskState::pending); }

TaskInfo TaskView::waiting(TaskRecord record, std::int64_t run_at_ms, bool tried) {
  auto const state = run_at_ms <= rows_.wall_ms() ? TaskState::pending
                     : tried                      ? TaskState::retrying
                                                  : TaskState::scheduled;
  auto waiting = info(record, state);
  waiting.run_at = wall_of(run_at_ms);
  return waiting;
}

TaskInfo TaskView::running(TaskRecord record, ClaimRow const& claim) {
  auto running = info(record, TaskState::running);
  ++running.attempt;
  running.fence = Fence(claim.fence);
  running.worker = claim.worker;
  running.cancel_asked = record.cancel;
  auto const left = std::max<std::int64_t>(claim.until_ns - rows_.now_ns(), 0);
  running.expires_in = std::chrono::ceil<milliseconds>(std::chrono::nanoseconds(left));
  return running;
}

TaskInfo TaskView::ended(EndedRecord record) {
  auto ended = info(record.task, record.state);
  ended.ended_at = wall_of(record.ended_ms);
  return ended;
}

}  // namespace holt::sqlite
