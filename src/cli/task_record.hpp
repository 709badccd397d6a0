// SPDX-License-Identifier: Apache-2.0
#pragma once
// Tasks as answers of a command: which fields, under which keys, said how; and their ids as words.

#include "cli/output.hpp"

#include <holt/task.hpp>

#include <string>

namespace holt::cli {

/// All that is known of a task. In JSON, bytes that are no UTF-8 are told in base64 under
/// `payload_base64` and `result_base64` instead of `payload` and `result`.
[[nodiscard]] Record task_record(TaskInfo const& task);

/// The same for a table of many: the rest is left out for people, not in JSON.
[[nodiscard]] Record task_line(TaskInfo const& task);

/// The id that a user has typed. Throws UsageError.
[[nodiscard]] TaskId task_id(std::string const& text);

}  // namespace holt::cli
