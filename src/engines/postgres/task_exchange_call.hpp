// SPDX-License-Identifier: Apache-2.0
#pragma once
// Exchanges as a statement, and its answer. Tasks are handed in claim by claim, by number, as the
// server keeps them; the answers come back in the order in which the caller told them.

#include "contracts/task_store.hpp"
#include "engines/postgres/answer.hpp"
#include "engines/postgres/parameters.hpp"
#include "engines/postgres/task_marks.hpp"

#include <memory>
#include <string>
#include <vector>

namespace holt::postgres {

/// Whether signals reach the inbox of who claims.
struct Hearing {
  bool hears = false;
  bool present = false;  ///< its connection shows that it lives
};

/// What an exchange gave, and how far it has got.
struct ExchangeResult {
  Claimed claimed;
  TaskMarks seen;
};

class ExchangeCall {
 public:
  ExchangeCall(ClaimRequest request, Hearing hearing, TaskMarks marks);

  [[nodiscard]] ClaimRequest const& request() const { return request_; }
  [[nodiscard]] Hearing hearing() const { return hearing_; }
  [[nodiscard]] TaskMarks const& marks() const { return marks_; }
  /// Of the finishes, as the server wants them.
  [[nodiscard]] std::vector<std::size_t> const& order() const { return order_; }
  [[nodiscard]] ExchangeResult result_in(Answer const& answer, int row) const;

 private:
  [[nodiscard]] std::vector<std::expected<TaskState, Lost>> finishes_in(Answer const& answer,
                                                                        int row) const;

  ClaimRequest request_;
  Hearing hearing_;
  TaskMarks marks_;
  std::vector<std::size_t> order_;
};
/// Others may send it again, alone.
using SharedExchange = std::shared_ptr<ExchangeCall const>;

/// Those of sql/task_exchange.sql; the calls are in the order of their queues and owners.
[[nodiscard]] Parameters exchange_parameters(std::string const& instance, std::int32_t patience_ms,
                                             std::vector<SharedExchange> const& calls);

}  // namespace holt::postgres
