// SPDX-License-Identifier: Apache-2.0
#pragma once
// TaskStore on PostgreSQL: each call is one statement that calls a function (migrations/005 to
// 009); small adds of many callers share one, and so do exchanges. docs/adr/0020-task-queue.md. On
// Env::executor().

#include "contracts/task_store.hpp"
#include "engines/postgres/batch.hpp"
#include "engines/postgres/place.hpp"
#include "engines/postgres/pool.hpp"
#include "engines/postgres/signal_bus.hpp"
#include "engines/postgres/task_exchange_call.hpp"
#include "engines/postgres/task_marks.hpp"
#include "engines/postgres/task_sweeper.hpp"

#include <map>
#include <optional>
#include <string>
#include <vector>

namespace holt::postgres {

class PostgresTaskStore final : public TaskStore {
 public:
  /// `reads` may be the pool itself: for listings and counts alone. `sweeps` has one connection.
  PostgresTaskStore(Env& env, Pool& pool, Pool& reads, Pool& sweeps, PostgresSignalBus& signals,
                    Place const& place, std::string instance);

  asio::awaitable<std::vector<Added>> add(AddRequest request, Instant deadline) override;
  asio::awaitable<Claimed> claim(ClaimRequest request, Instant deadline) override;
  asio::awaitable<std::vector<std::expected<RenewedClaim, Lost>>> renew(
      std::vector<ClaimRenewal> renewals, Instant deadline) override;
  asio::awaitable<Cancellation> cancel(TaskId id, Instant deadline) override;
  asio::awaitable<std::optional<TaskInfo>> find(TaskId id, Instant deadline) override;
  asio::awaitable<TaskPage> list(std::string queue, TaskFilter filter, std::string cursor,
                                 std::uint32_t limit, Instant deadline) override;
  asio::awaitable<TaskCounts> count(std::string queue, Instant deadline) override;

 private:
  using AddedTasks = std::vector<Added>;

  asio::awaitable<std::vector<AddedTasks>> add_all(std::vector<AddRequest> requests,
                                                   Instant deadline);
  asio::awaitable<std::vector<AddedTasks>> add_different(std::vector<AddRequest> requests,
                                                         Instant deadline);
  asio::awaitable<Answer> add_usual(std::vector<AddRequest> const& requests, Instant deadline);
  asio::awaitable<Hearing> hearing_of(ClaimRequest const& request, Instant deadline);
  TaskMarks marks_for(std::string const& place);
  asio::awaitable<std::vector<ExchangeResult>> exchange_all(std::vector<SharedExchange> calls,
                                                            Instant deadline);
  [[nodiscard]] std::optional<Claimed> take_handed(ClaimRequest const& request);
  void remember(std::string const& place, ClaimRequest const& request,
                ExchangeResult const& result);
  [[nodiscard]] std::int32_t patience(Instant deadline, std::size_t together = 1) const;

  Env& env_;
  Pool& pool_;
  Pool& reads_;
  PostgresSignalBus& signals_;
  std::string const instance_;
  Statement const add_;
  Statement const add_usual_;
  Statement const exchange_;
  Statement const renew_;
  Statement const cancel_;
  Statement const look_;
  Statement const count_;
  std::map<std::string, TaskMarks> marks_;  ///< by queue and kinds
  std::map<Owner, Claimed> handed_;         ///< by our own adds, until their workers ask
  TaskSweeper sweeper_;
  Batch<AddRequest, AddedTasks> adds_;
  Batch<SharedExchange, ExchangeResult> exchanges_;
};

}  // namespace holt::postgres
