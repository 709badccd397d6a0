// SPDX-License-Identifier: Apache-2.0
#pragma once
// TaskStore on Redis: each call is one script, scripts/task_*.lua, on the keys of one queue, which
// are in one slot. As durable as the server keeps what it has answered, or as wait_replicas asks
// for. A listing is several calls, each of a bounded part. On Env::executor().

#include "contracts/task_store.hpp"
#include "engines/redis/chunks.hpp"
#include "engines/redis/queue_calls.hpp"
#include "engines/redis/signal_bus.hpp"
#include "engines/redis/task_adds.hpp"

#include <optional>
#include <string>
#include <vector>

namespace holt::redis {

class RedisTaskStore final : public TaskStore {
 public:
  RedisTaskStore(Env& env, Servers& servers, DurableWrites& writes, RedisSignalBus& signals,
                 Keys const& keys)
      : calls_(servers, writes, keys), signals_(signals), adds_(env, calls_) {}

  asio::awaitable<std::vector<Added>> add(AddRequest request, Instant deadline) override;
  asio::awaitable<Claimed> claim(ClaimRequest request, Instant deadline) override;
  asio::awaitable<std::vector<std::expected<RenewedClaim, Lost>>> renew(
      std::vector<ClaimRenewal> renewals, Instant deadline) override;
  asio::awaitable<Cancellation> cancel(TaskId id, Instant deadline) override;
  asio::awaitable<std::optional<TaskInfo>> find(TaskId id, Instant deadline) override;
  asio::awaitable<TaskPage> list(std::string queue, TaskFilter filter, std::string cursor,
                                 std::uint32_t limit, Instant deadline) override;
  asio::awaitable<TaskCounts> count(std::string queue, Instant deadline) override;

  /// Of every queue that there is: 2^32 on. See Engine::raise_fence.
  asio::awaitable<void> raise_fences(Instant deadline);

 private:
  struct Renewed {
    /// An answer for each; nothing for those that there was none for.
    std::vector<std::optional<std::expected<RenewedClaim, Lost>>> answers;
    std::optional<EngineError> failure;
  };
  /// Of one queue; others do not fail because these do.
  asio::awaitable<void> renew_some(std::vector<ClaimRenewal> const& renewals, Chunk const& which,
                                   Renewed& renewed, Instant deadline);

  QueueCalls calls_;
  RedisSignalBus& signals_;
  TaskAdds adds_;
};

}  // namespace holt::redis
