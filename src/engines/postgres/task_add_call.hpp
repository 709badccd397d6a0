// SPDX-License-Identifier: Apache-2.0
#pragma once
// Adds of many callers as one statement, and its answer. An array whose values are all as usual is
// not sent: most tasks differ in nothing but their payload.

#include "contracts/task_store.hpp"
#include "engines/postgres/answer.hpp"
#include "engines/postgres/parameters.hpp"

#include <optional>
#include <string>
#include <vector>

namespace holt::postgres {

/// The parameters of sql/task_add.sql. As all here they refer to nothing.
[[nodiscard]] Parameters add_parameters(std::string const& instance, std::int32_t patience_ms,
                                        std::vector<AddRequest> const& requests);

/// Whether sql/task_add_usual.sql will do: tasks of one queue and kind that differ in nothing but
/// their payloads, which are small; and all calls have a fresh request of one series, or none has.
[[nodiscard]] bool are_usual(std::vector<AddRequest> const& requests);
/// Its parameters; `own`: the inbox of this client.
[[nodiscard]] Parameters usual_add_parameters(std::string const& instance, std::int32_t patience_ms,
                                              std::vector<AddRequest> const& requests,
                                              std::string const& own);

/// Whether somebody at our own inbox is to be woken, who is not notified.
[[nodiscard]] bool wakes_own(Answer const& answer);
/// The claim that the only task was made, for a worker at our own inbox; or none.
[[nodiscard]] std::optional<Claimed> handed_over(Answer const& answer, AddRequest const& request);
[[nodiscard]] std::vector<std::vector<Added>> added_of(Answer const& answer,
                                                       std::vector<AddRequest> const& requests);
/// Of sql/task_add_usual.sql, unless it has no row.
[[nodiscard]] std::vector<std::vector<Added>> usual_added_of(
    Answer const& answer, std::vector<AddRequest> const& requests);

}  // namespace holt::postgres
