// SPDX-License-Identifier: Apache-2.0
#pragma once
// TaskRecord: a task as it goes from table to table. In a claim it is what it was when it waited:
// `attempt` counts the attempts before the claim, so what comes back at no cost is stored as it is.

#include <holt/task.hpp>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace holt::sqlite {

struct TaskRecord {
  std::uint64_t number = 0;
  std::int64_t lane = 0;
  std::int32_t priority = 0;
  std::uint32_t attempt = 0;
  std::uint32_t max_attempts = 0;
  std::uint32_t returns = 0;
  bool suspect = false;  ///< is claimed alone
  bool cancel = false;   ///< in a claim: is to stop
  bool apart = false;    ///< the payload is in `body`
  Unique unique_while = Unique::unfinished;
  std::int64_t timeout_ms = 0;
  std::int64_t keep_ms = 0;
  std::int64_t added_ms = 0;
  std::uint64_t fence = 0;  ///< of the last claim before this one
  std::uint64_t payload_bytes = 0;
  std::string unique;
  std::string tell;
  std::string metadata;
  std::string progress;
  std::vector<Attempt> errors;
  std::string payload;  ///< empty when it is apart

  [[nodiscard]] std::string pack() const;
  [[nodiscard]] static TaskRecord unpack(std::string_view bytes);
};

/// The first field of a packed record.
[[nodiscard]] std::uint64_t number_of(std::string_view packed);

/// What of a packed record a claim has to know before it takes it.
struct TaskSize {
  bool suspect = false;
  std::uint64_t payload_bytes = 0;
};
[[nodiscard]] TaskSize size_of(std::string_view packed);
/// Whether somebody cancelled it.
[[nodiscard]] bool is_to_stop(std::string_view packed);

/// A task that is over, with what is told of it: its record's payload is the result of one that is
/// completed.
struct EndedRecord {
  TaskState state = TaskState::completed;
  std::int64_t ended_ms = 0;
  std::int64_t until_ms = 0;  ///< 0: for good
  TaskRecord task;

  [[nodiscard]] std::string pack() const;
  [[nodiscard]] static EndedRecord unpack(std::string_view bytes);
};

}  // namespace holt::sqlite
