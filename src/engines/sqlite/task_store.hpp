// SPDX-License-Identifier: Apache-2.0
#pragma once
// TaskStore on SQLite: hands steps to the writer of the tasks' file, reads through its reader, and
// signals after the commit. The decisions are in task_add, task_exchange and task_steps.

#include "contracts/env.hpp"
#include "contracts/signal_bus.hpp"
#include "contracts/task_store.hpp"
#include "engines/sqlite/task_file.hpp"
#include "engines/sqlite/task_step.hpp"

#include <string>
#include <vector>

namespace holt::sqlite {

class SqliteTaskStore final : public TaskStore {
 public:
  /// All must outlive the store.
  SqliteTaskStore(Env& env, TaskFile& file, SignalBus& signals, std::string instance);

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
  std::size_t send(std::vector<Notice> const& notices);
  asio::awaitable<void> wake_others(Writer& writer, std::string const& queue, std::size_t gone,
                                    Instant deadline);

  Env& env_;
  TaskFile& file_;
  SignalBus& signals_;
  std::string const instance_;
};

}  // namespace holt::sqlite
