// SPDX-License-Identifier: Apache-2.0
#include "engines/sqlite/task_add.hpp"

#include "engines/sqlite/packed.hpp"
#include "engines/sqlite/task_wake.hpp"
#include "sqlite_sql.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <limits>
#include <utility>

namespace holt::sqlite {
namespace {

using std::chrono::ceil;
using std::chrono::milliseconds;

// Larger payloads are not copied from table to table.
constexpr std::size_t inline_bytes = 1024;

TaskRecord record_of(NewTask const& task, std::uint64_t number, std::int64_t lane) {
  TaskRecord record;
  record.number = number;
  record.lane = lane;
  record.priority = task.priority;
  record.max_attempts = task.max_attempts;
  record.apart = task.payload.size() > inline_bytes;
  record.unique_while = task.unique_while;
  record.timeout_ms = ceil<milliseconds>(task.timeout).count();
  record.keep_ms = ceil<milliseconds>(task.keep).count();
  record.payload_bytes = task.payload.size();
  record.unique = task.unique;
  record.tell = task.tell;
  record.metadata = task.metadata;
  if (!record.apart) record.payload = task.payload;
  return record;
}

/// 0: now.
std::int64_t run_at_ms(NewTask const& task, std::int64_t now_ms) {
  auto const delayed = now_ms + ceil<milliseconds>(task.delay).count();
  auto const given = ceil<milliseconds>(task.not_before.time_since_epoch()).count();
  auto const when = std::max(delayed, given);
  return when <= now_ms ? 0 : when;
}

}  // namespace

void TaskAddStep::decide(TaskRows& rows) {
  result_.clear();
  lanes_.clear();
  pending_.clear();
  first_due_ = nullptr;
  next_ms_.reset();
  rows.use_queue(request_.queue);
  if (answer_again(rows)) return;
  find_lanes(rows);
  auto number = rows.draw_numbers(request_.tasks.size());
  result_.reserve(request_.tasks.size());
  for (auto const& task : request_.tasks) add(rows, task, number++);
  if (!request_.request.empty()) remember(rows);
  wake(rows);
}

/// The answer is packed as runs of tasks, most of which have consecutive numbers: the first number,
/// how many there are, and whether they are duplicates.
bool TaskAddStep::answer_again(TaskRows& rows) {
  if (request_.request.empty()) return false;
  Query row(rows.store(), sql::task_request_find, rows.queue(), Blob{key_}, rows.now_ns());
  if (!row.next()) return false;
  for (Unpacker from(row.text(0)); !from.done();) {
    auto number = from.number();
    auto const count = from.number();
    bool const duplicate = from.number() != 0;
    if (count > TaskStore::max_add) Unpacker::damaged();
    for (auto const end = number + count; number < end; ++number) {
      result_.push_back({TaskId(request_.queue, number), duplicate});
    }
  }
  return true;
}

void TaskAddStep::remember(TaskRows& rows) const {
  std::string answer;
  Packer to(answer);
  for (std::size_t i = 0; i < result_.size();) {
    auto const& first = result_[i];
    std::uint64_t count = 1;
    for (++i; i < result_.size(); ++i, ++count) {
      auto const& next = result_[i];
      if (next.duplicate != first.duplicate) break;
      if (next.id.number() != first.id.number() + count) break;
    }
    to.number(first.id.number()).number(count).number(first.duplicate ? 1 : 0);
  }
  Query(rows.store(), sql::task_request_put, rows.queue(), Blob{key_},
        rows.now_ns() + Nanos(TaskStore::memory).count(), Blob{answer})
      .run();
  Query(rows.store(), sql::task_request_sweep, rows.now_ns(), 2).run();
}

void TaskAddStep::find_lanes(TaskRows& rows) {
  auto const known = rows.lanes();
  auto count = known.size();
  for (auto const& task : request_.tasks) {
    auto const [place, is_new] = lanes_.try_emplace(task.kind, 0);
    if (!is_new) continue;
    auto const found = std::ranges::find(known, task.kind, &Lane::kind);
    if (found != known.end()) {
      place->second = found->id;
      continue;
    }
    if (++count > task_limits::kinds_per_queue) {
      throw store_error(ErrorCode::rate_limited, operation(),
                        fmt::format("the queue {} has {} kinds of tasks, which is the most",
                                    request_.queue, task_limits::kinds_per_queue),
                        "put what differs from task to task into the payload, not into the kind");
    }
    place->second = rows.make_lane(task.kind);
  }
}

void TaskAddStep::add(TaskRows& rows, NewTask const& task, std::uint64_t number) {
  if (!task.unique.empty()) {
    std::optional<std::int64_t> until;
    if (task.unique_while == Unique::period) {
      until = rows.wall_ms() + ceil<milliseconds>(task.unique_period).count();
      Query(rows.store(), sql::task_unique_sweep, rows.wall_ms(), 2).run();
    }
    if (auto const holder = rows.take_key(task.unique, number, until)) {
      result_.push_back({TaskId(request_.queue, *holder), true});
      return;
    }
  }
  auto record = record_of(task, number, lanes_.at(task.kind));
  put(rows, task, record);
  result_.push_back({TaskId(request_.queue, number), false});
}

void TaskAddStep::put(TaskRows& rows, NewTask const& task, TaskRecord& record) {
  record.added_ms = rows.wall_ms();
  if (record.apart) rows.put_body(record.number, task.payload);
  auto const when = run_at_ms(task, rows.wall_ms());
  if (when == 0) {
    rows.put_ready(record, record.pack());
    ++pending_[task.kind];
    return;
  }
  if (!next_ms_) {
    next_ms_ = std::numeric_limits<std::int64_t>::max();
    for (auto const& lane : rows.lanes()) {
      Query row(rows.store(), sql::task_wait_next, lane.id);
      if (row.next() && !row.null(0)) next_ms_ = std::min(*next_ms_, row.integer(0));
    }
  }
  if (when < *next_ms_) {
    next_ms_ = when;
    first_due_ = &task;
  }
  rows.put_waiting(record, when, false);
}

void TaskAddStep::wake(TaskRows& rows) {
  TaskWaker waker(rows, {});
  if (waker.nobody_idles()) return;
  auto woken = waker.wake(pending_);
  if (first_due_ != nullptr && woken.empty()) woken = waker.wake({{first_due_->kind, 1}});
  for (auto const& inbox : woken) tell(inbox, topic::work, request_.queue);
}

}  // namespace holt::sqlite
