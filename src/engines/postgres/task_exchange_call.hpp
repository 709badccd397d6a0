// SPDX-License-Identifier: Apache-2.0
#pragma once
// One exchange as a statement, and its answer. Tasks are handed in claim by claim, by number, as
// the server keeps them; the answers come back in the order in which the caller told them.

#include "contracts/task_store.hpp"
#include "engines/postgres/answer.hpp"
#include "engines/postgres/parameters.hpp"
#include "engines/postgres/task_marks.hpp"

#include <string>
#include <vector>

namespace holt::postgres {

/// Whether signals reach the inbox of who claims.
struct Hearing {
  bool hears = false;
  bool present = false;  ///< its connection shows that it lives
};

class ExchangeCall {
 public:
  explicit ExchangeCall(ClaimRequest request);

  [[nodiscard]] ClaimRequest const& request() const { return request_; }
  /// Those of sql/task_exchange.sql.
  [[nodiscard]] Parameters parameters(std::string const& instance, std::int32_t patience_ms,
                                      TaskMarks const& marks, Hearing hearing) const;
  /// How far it has got goes to `seen`.
  [[nodiscard]] Claimed claimed_in(Answer const& answer, TaskMarks& seen) const;

 private:
  void add_finishes(Parameters& parameters) const;
  [[nodiscard]] std::vector<std::expected<TaskState, Lost>> finishes_in(Answer const& answer) const;

  ClaimRequest request_;
  std::vector<std::size_t> order_;  ///< of the finishes
};

}  // namespace holt::postgres
