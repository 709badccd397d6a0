// SPDX-License-Identifier: Apache-2.0
#pragma once
// LeaseStore on Redis, native layout: each call is one script, scripts/*.lua, or shares one with
// others of the same turn. On Env::executor().

#include "contracts/lease_store.hpp"
#include "engines/redis/chunks.hpp"
#include "engines/redis/durable.hpp"
#include "engines/redis/layout.hpp"
#include "engines/redis/lease_steps.hpp"
#include "engines/redis/reminders.hpp"
#include "engines/redis/servers.hpp"
#include "engines/redis/signal_bus.hpp"

#include <array>
#include <functional>
#include <string>

namespace holt::redis {

class RedisLeaseStore final : public LeaseStore {
 public:
  RedisLeaseStore(Env& env, Servers& servers, DurableWrites& writes, RedisSignalBus& signals,
                  Keys const& keys);

  asio::awaitable<std::expected<LeaseGrant, Busy>> acquire(LeaseRequest request,
                                                           Instant deadline) override;
  asio::awaitable<std::vector<std::expected<void, Lost>>> renew(std::vector<LeaseRenewal> renewals,
                                                                Instant deadline) override;
  asio::awaitable<std::expected<void, Lost>> release(Name name, Owner owner,
                                                     Instant deadline) override;
  asio::awaitable<BreakResult> break_lease(BreakRequest request, Instant deadline) override;
  asio::awaitable<std::optional<LeaseInfo>> find(Name name, Instant deadline) override;
  asio::awaitable<LeasePage> list(std::string prefix, std::string cursor, std::uint32_t limit,
                                  Instant deadline) override;

  /// See Engine::raise_fence; of all counters, of which the highest counts.
  asio::awaitable<FenceRaise> raise_fence(Instant deadline);

  /// Sends what is about to be sent, while there is still a connection. Not on the executor.
  void close();

 private:
  AcquireStep acquire_step(LeaseRequest const& request);
  /// Whether one script decides it together with what others ask for. Not for names that were
  /// waited for lately: there is more to do, which only the script for one does.
  [[nodiscard]] bool joins_others(std::string_view name) const;
  [[nodiscard]] bool joins_others(LeaseRequest const& request);
  void not_with_others(std::string_view name);
  Reply decided(Answer answer, std::string_view name, std::string_view operation);
  asio::awaitable<Reply> acquire_alone(LeaseRequest const& request, Instant deadline);
  asio::awaitable<Reply> release_alone(Name const& name, Owner const& owner, Instant deadline);
  bool remind_later(Name const& name, std::string_view owners);
  std::string_view identity_to_tell();
  [[nodiscard]] bool knows_server() { return servers_.are_cluster() || servers_.one().is_ready(); }
  asio::awaitable<void> know_server(std::string_view operation, Instant deadline);
  std::string_view identity();
  void told_identity(std::uint64_t generation);
  /// '1' if a server knows all who listen, not only its own.
  [[nodiscard]] std::string_view exact() const { return servers_.are_cluster() ? "0" : "1"; }
  [[nodiscard]] std::vector<Chunk> divided(std::size_t count, std::size_t most,
                                           std::function<std::string_view(std::size_t)> name) const;
  /// To one server one after the other, so that it can serve others in between.
  asio::awaitable<void> run_all(std::vector<asio::awaitable<void>> calls);
  asio::awaitable<std::vector<std::optional<LeaseInfo>>> look_up(std::vector<std::string> names,
                                                                 Instant deadline);
  asio::awaitable<void> look_up_some(std::vector<std::string> const& names, Chunk const& which,
                                     std::vector<std::optional<LeaseInfo>>& found,
                                     Instant deadline);
  asio::awaitable<Outcome> take_back(LeaseRequest const& request, Instant deadline);
  struct Renewed {
    /// An answer for each; nothing for those that there was none for.
    std::vector<std::optional<std::expected<void, Lost>>> answers;
    std::optional<EngineError> failure;
  };
  asio::awaitable<void> renew_of_shard(std::vector<LeaseRenewal> const& renewals,
                                       Chunk const& which, Renewed& renewed, Instant deadline);
  asio::awaitable<void> renew_some(std::vector<LeaseRenewal> const& renewals, Chunk const& which,
                                   Renewed& renewed, Instant deadline);
  asio::awaitable<void> renew_each(std::vector<LeaseRenewal> const& renewals, Chunk const& which,
                                   Renewed& renewed, Instant deadline);
  asio::awaitable<FenceRaise> raise_on_cluster(Instant deadline);
  asio::awaitable<void> read_counter(unsigned shard, std::uint64_t& highest, Instant deadline);
  asio::awaitable<void> lift(unsigned shard, std::uint64_t to, Instant deadline);
  asio::awaitable<void> sweep(unsigned shard);

  Env& env_;
  Servers& servers_;
  DurableWrites& writes_;
  RedisSignalBus& signals_;
  Keys const& keys_;
  Reminders reminders_;
  std::uint64_t generation_ = 0;  ///< the connection that the next is about
  bool counter_knows_server_ = false;
  std::array<std::string, shards> sweep_from_;
  /// Until when names with this hash go alone.
  std::array<Instant, 1024> alone_until_{};
};

}  // namespace holt::redis
