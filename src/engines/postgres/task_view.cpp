// SPDX-License-Identifier: Apache-2.0
#include "engines/postgres/task_view.hpp"

#include "engines/postgres/binary.hpp"

#include <chrono>
#include <vector>

namespace holt::postgres {
namespace {

using std::chrono::ceil;
using std::chrono::microseconds;
using std::chrono::milliseconds;
using std::chrono::system_clock;

/// Columns of look_at_tasks (migrations/009).
enum Column {
  number,
  state,
  kind,
  payload,
  metadata,
  priority,
  attempt,
  max_attempts,
  returns,
  timeout,
  unique,
  added,
  run,
  ended,
  fence,
  worker,
  left,
  cancel_asked,
  progress,
  result,
  errors
};

Fence fence_of(std::int64_t value) { return Fence(static_cast<std::uint64_t>(value)); }

/// A row of the type task_attempt (migrations/005).
Attempt attempt_of(BinaryValue const& row) {
  auto const fields = columns_of(text_of(row));
  auto const at = [&](std::size_t field) {
    return system_clock::time_point(microseconds(us_since_epoch_of(fields.at(field))));
  };
  Attempt attempt;
  attempt.number = static_cast<std::uint32_t>(integer_of(fields.at(0)));
  attempt.fence = fence_of(integer_of(fields.at(1)));
  attempt.worker = text_of(fields.at(2));
  attempt.claimed_at = at(3);
  attempt.ended_at = at(4);
  attempt.error = text_of(fields.at(5));
  return attempt;
}

}  // namespace

TaskInfo task_info_of(Answer const& answer, int row, std::string const& queue) {
  auto const text = [&](Column column) { return std::string(answer.text(row, column)); };
  auto const count = [&](Column column) {
    return static_cast<std::uint32_t>(answer.integer(row, column));
  };
  auto const at = [&](Column column) {
    return system_clock::time_point(microseconds(answer.integer(row, column)));
  };
  auto const span = [&](Column column) {
    return ceil<milliseconds>(microseconds(answer.integer(row, column)));
  };
  TaskInfo info;
  info.id = TaskId(queue, static_cast<std::uint64_t>(answer.integer(row, Column::number)));
  info.state = static_cast<TaskState>(answer.integer(row, Column::state));
  info.kind = text(Column::kind);
  info.payload = text(Column::payload);
  info.metadata = text(Column::metadata);
  info.priority = static_cast<std::int32_t>(answer.integer(row, Column::priority));
  info.attempt = count(Column::attempt);
  info.max_attempts = count(Column::max_attempts);
  info.returns = count(Column::returns);
  info.timeout = span(Column::timeout);
  info.unique = text(Column::unique);
  info.added_at = at(Column::added);
  info.run_at = at(Column::run);
  info.ended_at = at(Column::ended);
  info.fence = fence_of(answer.integer(row, Column::fence));
  info.worker = text(Column::worker);
  info.expires_in = span(Column::left);
  info.cancel_asked = answer.flag(row, Column::cancel_asked);
  info.progress = text(Column::progress);
  info.result = text(Column::result);
  for (auto const& error : elements_of(answer.text(row, Column::errors))) {
    info.errors.push_back(attempt_of(error));
  }
  return info;
}

}  // namespace holt::postgres
