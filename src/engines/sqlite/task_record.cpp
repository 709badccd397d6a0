// SPDX-License-Identifier: Apache-2.0
#include "engines/sqlite/task_record.hpp"

#include "engines/sqlite/packed.hpp"

#include <chrono>

namespace holt::sqlite {
namespace {

using std::chrono::milliseconds;
using Wall = std::chrono::system_clock::time_point;

constexpr std::uint64_t suspect_flag = 1;
constexpr std::uint64_t cancel_flag = 2;
constexpr std::uint64_t apart_flag = 4;
constexpr std::uint64_t text_flag = 8;  // at least one of the texts that most tasks do not have

std::uint64_t ms_of(Wall when) {
  return static_cast<std::uint64_t>(
      std::chrono::floor<milliseconds>(when.time_since_epoch()).count());
}

Wall wall_of(std::uint64_t ms) { return Wall(milliseconds(ms)); }

void pack(Packer& to, Attempt const& attempt) {
  to.number(attempt.number).number(attempt.fence.value()).text(attempt.worker);
  to.number(ms_of(attempt.claimed_at)).number(ms_of(attempt.ended_at)).text(attempt.error);
}

Attempt unpack_attempt(Unpacker& from) {
  Attempt attempt;
  attempt.number = from.number<std::uint32_t>();
  attempt.fence = Fence(from.number());
  attempt.worker = from.text();
  attempt.claimed_at = wall_of(from.number());
  attempt.ended_at = wall_of(from.number());
  attempt.error = from.text();
  return attempt;
}

bool has_texts(TaskRecord const& task) {
  return !task.unique.empty() || !task.tell.empty() || !task.metadata.empty() ||
         !task.progress.empty() || !task.errors.empty();
}

void pack_texts(Packer& to, TaskRecord const& task) {
  to.text(task.unique).number(static_cast<std::uint64_t>(task.unique_while)).text(task.tell);
  to.text(task.metadata).text(task.progress).number(task.errors.size());
  for (auto const& attempt : task.errors) pack(to, attempt);
}

void unpack_texts(Unpacker& from, TaskRecord& task) {
  task.unique = from.text();
  task.unique_while = from.number<Unique>();
  task.tell = from.text();
  task.metadata = from.text();
  task.progress = from.text();
  for (auto count = from.number(); count > 0; --count) {
    task.errors.push_back(unpack_attempt(from));
  }
}

std::uint64_t flags_of(TaskRecord const& task) {
  return (task.suspect ? suspect_flag : 0U) | (task.cancel ? cancel_flag : 0U) |
         (task.apart ? apart_flag : 0U) | (has_texts(task) ? text_flag : 0U);
}

}  // namespace

std::string TaskRecord::pack() const {
  std::string bytes;
  bytes.reserve(64 + payload.size());
  Packer to(bytes);
  auto const flags = flags_of(*this);
  to.number(number).number(flags).number(payload_bytes);
  to.number(static_cast<std::uint64_t>(lane)).number(static_cast<std::uint64_t>(priority));
  to.number(attempt).number(max_attempts).number(returns);
  to.number(static_cast<std::uint64_t>(timeout_ms)).number(static_cast<std::uint64_t>(keep_ms));
  to.number(static_cast<std::uint64_t>(added_ms)).number(fence);
  if ((flags & text_flag) != 0) pack_texts(to, *this);
  to.text(payload);
  return bytes;
}

TaskRecord TaskRecord::unpack(std::string_view bytes) {
  Unpacker from(bytes);
  TaskRecord task;
  task.number = from.number();
  auto const flags = from.number();
  task.suspect = (flags & suspect_flag) != 0;
  task.cancel = (flags & cancel_flag) != 0;
  task.apart = (flags & apart_flag) != 0;
  task.payload_bytes = from.number();
  task.lane = from.number<std::int64_t>();
  task.priority = from.number<std::int32_t>();
  task.attempt = from.number<std::uint32_t>();
  task.max_attempts = from.number<std::uint32_t>();
  task.returns = from.number<std::uint32_t>();
  task.timeout_ms = from.number<std::int64_t>();
  task.keep_ms = from.number<std::int64_t>();
  task.added_ms = from.number<std::int64_t>();
  task.fence = from.number();
  if ((flags & text_flag) != 0) unpack_texts(from, task);
  task.payload = from.text();
  return task;
}

std::uint64_t number_of(std::string_view packed) { return Unpacker(packed).number(); }

TaskSize size_of(std::string_view packed) {
  Unpacker from(packed);
  [[maybe_unused]] auto const number = from.number();
  auto const flags = from.number();
  return {(flags & suspect_flag) != 0, from.number()};
}

bool is_to_stop(std::string_view packed) {
  Unpacker from(packed);
  [[maybe_unused]] auto const number = from.number();
  return (from.number() & cancel_flag) != 0;
}

std::string EndedRecord::pack() const {
  std::string bytes;
  Packer to(bytes);
  to.number(static_cast<std::uint64_t>(state)).number(static_cast<std::uint64_t>(ended_ms));
  to.number(static_cast<std::uint64_t>(until_ms));
  return bytes + task.pack();
}

EndedRecord EndedRecord::unpack(std::string_view bytes) {
  Unpacker from(bytes);
  EndedRecord ended;
  ended.state = from.number<TaskState>();
  ended.ended_ms = from.number<std::int64_t>();
  ended.until_ms = from.number<std::int64_t>();
  ended.task = TaskRecord::unpack(from.rest());
  return ended;
}

}  // namespace holt::sqlite
