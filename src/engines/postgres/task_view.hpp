// SPDX-License-Identifier: Apache-2.0
#pragma once
// What onlookers are told of a task, out of a row of sql/task_look.sql.

#include "engines/postgres/answer.hpp"

#include <holt/task.hpp>

#include <string>

namespace holt::postgres {

[[nodiscard]] TaskInfo task_info_of(Answer const& answer, int row, std::string const& queue);

}  // namespace holt::postgres
