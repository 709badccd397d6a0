// SPDX-License-Identifier: Apache-2.0
#include <holt/task.hpp>

#include "base/queue_name.hpp"

#include <charconv>

namespace holt {

/// One spelling for each task: no sign, no zero in front.
std::expected<TaskId, std::string> TaskId::parse(std::string_view text) {
  auto const slash = text.rfind('/');
  if (slash == std::string_view::npos) {
    return std::unexpected("a task's id has no '/'; it is written QUEUE/NUMBER");
  }
  auto const queue = text.substr(0, slash);
  auto const digits = text.substr(slash + 1);
  if (!is_queue_name(queue)) return std::unexpected(std::string(queue_name_rule));
  std::uint64_t number = 0;
  auto const* const begin = digits.data();
  auto const* const end = begin + digits.size();
  auto const [rest, error] = std::from_chars(begin, end, number);
  if (error != std::errc() || rest != end || number == 0 || digits.front() == '0') {
    return std::unexpected("a task's number, behind the '/', is a whole number above zero");
  }
  return TaskId(std::string(queue), number);
}

std::string_view to_string(TaskState state) noexcept {
  switch (state) {
    case TaskState::scheduled:
      return "scheduled";
    case TaskState::pending:
      return "pending";
    case TaskState::running:
      return "running";
    case TaskState::completed:
      return "completed";
    case TaskState::retrying:
      return "retrying";
    case TaskState::dead:
      return "dead";
    case TaskState::cancelled:
      return "cancelled";
  }
  return "unknown";
}

std::string_view to_string(Unique unique) noexcept {
  switch (unique) {
    case Unique::waiting:
      return "waiting";
    case Unique::unfinished:
      return "unfinished";
    case Unique::period:
      return "period";
  }
  return "unknown";
}

std::string_view to_string(Cancellation cancellation) noexcept {
  switch (cancellation) {
    case Cancellation::cancelled:
      return "cancelled";
    case Cancellation::asked:
      return "asked";
    case Cancellation::finished:
      return "finished";
    case Cancellation::not_found:
      return "not_found";
  }
  return "unknown";
}

}  // namespace holt
