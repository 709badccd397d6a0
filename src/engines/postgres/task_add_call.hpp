// SPDX-License-Identifier: Apache-2.0
#pragma once
// Adds of many callers as one statement, and its answer. An array whose values are all as usual is
// not sent: most tasks differ in nothing but their payload.

#include "contracts/task_store.hpp"
#include "engines/postgres/answer.hpp"
#include "engines/postgres/parameters.hpp"

#include <string>
#include <vector>

namespace holt::postgres {

/// The parameters of sql/task_add.sql; they refer to nothing.
[[nodiscard]] Parameters add_parameters(std::string const& instance, std::int32_t patience_ms,
                                        std::vector<AddRequest> const& requests);

[[nodiscard]] std::vector<std::vector<Added>> added_of(Answer const& answer,
                                                       std::vector<AddRequest> const& requests);

}  // namespace holt::postgres
