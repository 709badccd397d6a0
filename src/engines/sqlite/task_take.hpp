// SPDX-License-Identifier: Apache-2.0
#pragma once
// The second half of an exchange: due tasks come to the front, and the first of the wanted kinds
// are taken out of their lanes.

#include "contracts/task_store.hpp"
#include "engines/sqlite/task_rows.hpp"

#include <string>
#include <vector>

namespace holt::sqlite {

struct TakenTasks {
  std::vector<std::string> packed;
  std::vector<TaskRecord> records;  ///< the same, unpacked
  bool more = false;                ///< others are pending, which must or may wait
};

/// Takes what `request` wants from these lanes, and frees the keys that are only for waiting tasks.
[[nodiscard]] TakenTasks take_tasks(TaskRows& rows, std::vector<Lane> const& lanes,
                                    ClaimRequest const& request);

/// Milliseconds of wall time until the next task of these lanes is due; -1: none waits.
[[nodiscard]] std::int64_t next_due_in_ms(TaskRows& rows, std::vector<Lane> const& lanes);

}  // namespace holt::sqlite
