// SPDX-License-Identifier: Apache-2.0
#pragma once
// The last tasks of a queue that ended without a result, as they are read.

#include "engines/sqlite/packed.hpp"
#include "engines/sqlite/task_record.hpp"
#include "engines/sqlite/task_rows.hpp"
#include "sqlite_sql.hpp"

#include <utility>

namespace holt::sqlite {

/// Calls `use(EndedRecord)` for each of them that is still kept.
template <class Use>
void for_each_in_history(TaskRows& rows, Use const& use) {
  Query row(rows.store(), sql::task_history_list, rows.queue());
  while (row.next()) {
    for (Unpacker from(row.text(0)); !from.done();) {
      auto ended = EndedRecord::unpack(from.text());
      if (ended.until_ms > rows.wall_ms()) use(std::move(ended));
    }
  }
}

}  // namespace holt::sqlite
