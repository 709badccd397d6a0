// SPDX-License-Identifier: Apache-2.0
#pragma once
// What the queues of <holt/asio.hpp> stand on, as async_calls.hpp is for locks. Not for users.

#include <holt/detail/async_calls.hpp>
#include <holt/queue.hpp>

#include <chrono>
#include <cstdint>
#include <optional>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

#pragma GCC visibility push(default)
namespace holt::detail {

/// A task to be added, with texts of its own: what is awaited late must not look at its caller's.
/// No aggregate on purpose: docs/adr/0005-coroutine-rules.md.
class TaskToAdd {
 public:
  TaskToAdd(std::string of_kind, std::string with_payload, TaskOptions const& with)
      : kind(std::move(of_kind)),
        payload(std::move(with_payload)),
        metadata(with.metadata),
        unique(with.unique),
        options(with) {
    options.metadata = {};
    options.unique = {};
  }
  explicit TaskToAdd(TaskDraft const& draft)
      : TaskToAdd(draft.kind, draft.payload, draft.options) {}

  std::string kind;
  std::string payload;
  std::string metadata;
  std::string unique;
  TaskOptions options;  ///< all but its texts
};

void start_add(Queue const& queue, TaskToAdd task, Done<AddedTask> done);
void start_add_many(Queue const& queue, std::vector<TaskToAdd> tasks,
                    Done<std::vector<AddedTask>> done);
void start_cancel(Queue const& queue, TaskId const& id, Done<Cancellation> done);
void start_find(Queue const& queue, TaskId const& id, Done<std::optional<TaskInfo>> done);
void start_list(Queue const& queue, std::optional<TaskState> state, std::string const& cursor,
                std::uint32_t limit, Done<TaskPage> done);
void start_count(Queue const& queue, Done<TaskCounts> done);
void start_wait(Queue const& queue, TaskId const& id, std::chrono::milliseconds wait,
                std::stop_token stop, Done<std::optional<TaskInfo>> done);

}  // namespace holt::detail
#pragma GCC visibility pop
