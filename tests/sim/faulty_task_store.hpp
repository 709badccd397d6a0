// SPDX-License-Identifier: Apache-2.0
#pragma once
// FaultyTaskStore: the real store's tasks as one node sees them, at the other end of its faulty
// link. The ledger of tasks is told when a request reaches the store, and what it answered before
// the way back begins.

#include "contracts/task_store.hpp"
#include "sim/faulty_link.hpp"
#include "sim/task_ledger.hpp"

#include <optional>
#include <string>
#include <vector>

namespace holt::sim {

class FaultyTaskStore final : public TaskStore {
 public:
  FaultyTaskStore(FaultyLink& link, TaskStore& store, TaskLedger& ledger)
      : link_(link), store_(store), ledger_(ledger) {}

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
  using Renewed = std::vector<std::expected<RenewedClaim, Lost>>;

  // At the store; the ledger looks on.
  asio::awaitable<std::vector<Added>> seen_add(AddRequest request, Instant deadline);
  asio::awaitable<Claimed> seen_claim(ClaimRequest request, Instant deadline);
  asio::awaitable<Renewed> seen_renew(std::vector<ClaimRenewal> renewals, Instant deadline);
  asio::awaitable<Cancellation> seen_cancel(TaskId id, Instant deadline);

  FaultyLink& link_;
  TaskStore& store_;
  TaskLedger& ledger_;
};

}  // namespace holt::sim
