// SPDX-License-Identifier: Apache-2.0
#pragma once
// The values around a task: work that is stored until somebody has done it.
// Everything here is plain data; holt/queue.hpp adds, claims and finishes. A task may be started
// more than once (a worker can die), but one fence at the most completes it.

#include <holt/fence.hpp>

#include <chrono>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <expected>
#include <string>
#include <string_view>
#include <vector>

#pragma GCC visibility push(default)
namespace holt {

/// What a task may be; more is refused before any I/O, with the limit in the error.
namespace task_limits {
inline constexpr std::size_t payload_bytes = 1024UL * 1024;
inline constexpr std::size_t result_bytes = 1024UL * 1024;
inline constexpr std::size_t metadata_bytes = 4096;
inline constexpr std::size_t error_bytes = 4096;  ///< of a longer one the end is kept
inline constexpr std::size_t progress_bytes = 1024;
inline constexpr std::size_t queue_bytes = 128;   ///< letters, digits, `.`, `_`, `-`
inline constexpr std::size_t kind_bytes = 128;    ///< a Name's rules
inline constexpr std::size_t unique_bytes = 512;  ///< a Name's rules
inline constexpr std::size_t kinds_per_queue = 256;
inline constexpr std::int32_t most_urgent = 1;
inline constexpr std::int32_t least_urgent = 10;
inline constexpr std::uint32_t attempts = 100;
inline constexpr std::uint32_t returns = 100;     ///< later ones cost an attempt each
inline constexpr std::size_t told_attempts = 10;  ///< of more, the last so many are told
}  // namespace task_limits

/// Names one task of a store. Text form `QUEUE/NUMBER`: whoever has it finds the task without any
/// index that could go stale. Never used twice.
class TaskId {
 public:
  /// The error is one sentence: what was wrong and what would be right.
  [[nodiscard]] static std::expected<TaskId, std::string> parse(std::string_view text);

  /// No task.
  TaskId() = default;
  /// `queue` must be a queue's name and `number` one that the store gave.
  TaskId(std::string queue, std::uint64_t number) : queue_(std::move(queue)), number_(number) {}

  [[nodiscard]] std::string const& queue() const noexcept { return queue_; }
  [[nodiscard]] std::uint64_t number() const noexcept { return number_; }
  [[nodiscard]] std::string text() const { return queue_ + '/' + std::to_string(number_); }

  friend auto operator<=>(TaskId const&, TaskId const&) = default;

 private:
  std::string queue_;
  std::uint64_t number_ = 0;
};

/// A task is in exactly one of them at any time.
enum class TaskState {
  scheduled,  ///< waits for its time, never tried yet
  pending,    ///< may be claimed now
  running,    ///< claimed, and the claim was not taken back
  completed,  ///< done; stays so
  retrying,   ///< waits for its time after an attempt that failed, or that asked for it
  dead,       ///< given up; keeps its payload until it is removed
  cancelled   ///< somebody did not want it any more; stays so
};
[[nodiscard]] std::string_view to_string(TaskState state) noexcept;

/// How long no second task with the same unique key can be added to the queue.
enum class Unique {
  waiting,     ///< while the first is scheduled, pending or retrying
  unfinished,  ///< while it is waiting or running
  period       ///< for a time from its adding on, whatever becomes of it
};
[[nodiscard]] std::string_view to_string(Unique unique) noexcept;

/// An attempt that did not complete its task.
struct Attempt {
  std::uint32_t number = 0;  ///< 1 is the first
  Fence fence;
  std::string worker;                                ///< who it was, for people
  std::chrono::system_clock::time_point claimed_at;  ///< for people
  std::chrono::system_clock::time_point ended_at;    ///< for people
  std::string error;
};

/// What a handler is given.
struct Task {
  TaskId id;
  std::string kind;
  std::string payload;   ///< any bytes; JSON by convention
  std::string metadata;  ///< any bytes, as it was added
  std::int32_t priority = 5;
  std::uint32_t attempt = 1;  ///< counts from 1; what did not cost an attempt is not counted
  std::uint32_t max_attempts = 3;
  std::chrono::milliseconds timeout{};  ///< of one attempt; 0: none
};

/// What onlookers see of a task.
struct TaskInfo {
  TaskId id;
  TaskState state = TaskState::pending;
  std::string kind;
  std::string payload;  ///< empty when it is completed or cancelled, and in listings
  std::string metadata;
  std::int32_t priority = 5;
  std::uint32_t attempt = 0;  ///< attempts counted so far, the running one among them
  std::uint32_t max_attempts = 3;
  std::uint32_t returns = 0;  ///< how often it went back without costing an attempt, as it asked
  std::chrono::milliseconds timeout{};
  std::string unique;  ///< its unique key; empty: none
  std::chrono::system_clock::time_point added_at;
  std::chrono::system_clock::time_point run_at;    ///< scheduled, retrying: not before
  std::chrono::system_clock::time_point ended_at;  ///< completed, dead, cancelled
  Fence fence;                                     ///< of the present or the last claim
  std::string worker;                              ///< running: who has it
  std::chrono::milliseconds expires_in{};  ///< running: till its claim ends unless it is renewed
  bool cancel_asked = false;               ///< running: its handler is being asked to stop
  std::string progress;                    ///< what the handler said last
  std::string result;                      ///< completed; empty in listings
  std::vector<Attempt> errors;             ///< the last of them, oldest first; empty in listings
};

/// A page of a listing; `next` is empty at the end, else the cursor for the next page.
struct TaskPage {
  std::vector<TaskInfo> tasks;
  std::string next;
};

/// How many tasks of a queue are in each state. Counted to `limit` in each and no further.
struct TaskCounts {
  static constexpr std::uint64_t limit = 100'000;
  std::uint64_t scheduled = 0;
  std::uint64_t pending = 0;
  std::uint64_t running = 0;
  std::uint64_t completed = 0;  ///< that are still kept
  std::uint64_t retrying = 0;
  std::uint64_t dead = 0;
  std::uint64_t cancelled = 0;  ///< that are still kept
};

/// What a wish to cancel came to.
enum class Cancellation {
  cancelled,  ///< it waited; it will not run
  asked,      ///< it runs: its handler is asked to stop; it ends cancelled unless it completes
  finished,   ///< it was completed, dead or cancelled before; nothing has changed
  not_found
};
[[nodiscard]] std::string_view to_string(Cancellation cancellation) noexcept;

}  // namespace holt
#pragma GCC visibility pop
