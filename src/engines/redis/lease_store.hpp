// SPDX-License-Identifier: Apache-2.0
#pragma once
// LeaseStore on Redis, native layout: each call is one script, scripts/*.lua. On Env::executor().

#include "contracts/lease_store.hpp"
#include "engines/redis/connection.hpp"
#include "engines/redis/durable.hpp"
#include "engines/redis/layout.hpp"
#include "engines/redis/signal_bus.hpp"

#include <array>
#include <bitset>
#include <string>

namespace holt::redis {

class RedisLeaseStore final : public LeaseStore {
 public:
  RedisLeaseStore(Env& env, Connection& connection, DurableWrites& writes, RedisSignalBus& signals,
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

  /// See Engine::raise_fence; of all shards, whose highest counter counts.
  asio::awaitable<FenceRaise> raise_fence(Instant deadline);

 private:
  ScriptCall acquire_call(LeaseRequest const& request);
  std::string_view identity_for(std::vector<Name> const& names);
  void checked(std::vector<Name> const& names);
  asio::awaitable<std::vector<std::optional<LeaseInfo>>> look_up(std::vector<std::string> names,
                                                                 Instant deadline);
  asio::awaitable<Outcome> take_back(LeaseRequest const& request, Instant deadline);
  /// Adds an answer for each that it got one for, also when it throws.
  asio::awaitable<void> renew_in_chunks(std::vector<LeaseRenewal> const& renewals,
                                        std::vector<std::expected<void, Lost>>& answers,
                                        Instant deadline);
  asio::awaitable<void> sweep(unsigned shard);

  Env& env_;
  Connection& connection_;
  DurableWrites& writes_;
  RedisSignalBus& signals_;
  Keys const& keys_;
  std::uint64_t generation_ = 0;  ///< the connection that `checked_` is about
  std::bitset<shards> checked_;   ///< shards whose counters know this server
  std::array<std::string, shards> sweep_from_;
};

}  // namespace holt::redis
