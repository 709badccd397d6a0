// SPDX-License-Identifier: Apache-2.0
#pragma once
// What is stored of a task, as text: written when it is added, read when it is claimed or shown.
// scripts/task_record.lua tells its fields, scripts/task_look.lua what comes with it. No I/O.

#include "contracts/task_store.hpp"
#include "engines/redis/reply.hpp"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace holt::redis {

/// A larger payload is kept beside the record, which every look at the task would carry.
inline constexpr std::size_t payload_in_record = 1024;

/// As many tasks with nothing special and payloads of up to so many bytes may be one record, a
/// pack: scripts/task_pack.lua.
inline constexpr std::size_t most_in_pack = 100;
inline constexpr std::size_t payload_in_pack = 255;

/// Whether a task can be in a pack, and whether two can be in the same.
[[nodiscard]] bool packable(NewTask const& task);
[[nodiscard]] bool same_pack(NewTask const& a, NewTask const& b);
/// The head of a pack with this task.
[[nodiscard]] std::string pack_head(NewTask const& task, std::int64_t wall_ms);

/// The letter for how a task's key is unique; '-': it has none.
[[nodiscard]] char unique_letter(NewTask const& task);

[[nodiscard]] std::string record_of(NewTask const& task, std::int64_t wall_ms);

/// A task that was just claimed. `large`: its payload, where that is not in the record.
[[nodiscard]] Task task_of(TaskId id, std::string_view record, std::string_view large);

/// Tasks of a pack that were just claimed, from this number on, which are added to `tasks`.
void add_tasks_of(std::string const& queue, std::uint64_t first, std::string_view pack,
                  std::vector<Task>& tasks);

/// What scripts/task_list.lua (or, with payload, errors and result, task_find.lua) says of one.
[[nodiscard]] TaskInfo info_of(std::string const& queue, ReplyView const& seen);

/// A number that a script wrote. Throws EngineError{internal} when it is something else.
[[nodiscard]] std::uint64_t number_in(std::string_view text);

}  // namespace holt::redis
