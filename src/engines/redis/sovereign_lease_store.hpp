// SPDX-License-Identifier: Apache-2.0
#pragma once
// LeaseStore in the layout `sovereign`: the lease of one election is in the keys of a fleet that
// runs the Sovereign library, each call one script, scripts/sovereign_*.lua; all others are in the
// native store. On Env::executor(). Where that lease gives less than the contract:
// - It lives in whole seconds, at least as long as asked for.
// - Originals know of no line and take it when it is free: a place is one among Holt's candidates,
//   an offer lives for a second, and after an expiry whoever asks first has it.
// - No delay. A holder cannot be asked to stop: break_lease only works with `now`, and not on an
//   original, which would go on.
// - An original has no fence: Fence(). Its owner is made of its id; since when is not known.
// Leases of other elections are refused: who stands for one here means the fleet's.

#include "contracts/lease_store.hpp"
#include "engines/redis/connection.hpp"
#include "engines/redis/layout.hpp"
#include "engines/redis/script_call.hpp"
#include "engines/redis/signal_bus.hpp"
#include "engines/redis/sovereign_options.hpp"

#include <string>
#include <utility>

namespace holt::redis {

class SovereignLeaseStore final : public LeaseStore {
 public:
  SovereignLeaseStore(Connection& connection, LeaseStore& native, RedisSignalBus& signals,
                      Keys const& keys, SovereignOptions fleet)
      : connection_(connection),
        native_(native),
        signals_(signals),
        keys_(keys),
        fleet_(std::move(fleet)) {}

  void check(LeaseRequest const& request) const override;
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

  [[nodiscard]] SovereignOptions const& fleet() const { return fleet_; }

 private:
  /// Whether it is the fleet's; throws InvalidArgument for another election's.
  [[nodiscard]] bool is_fleets(Name const& name) const;
  /// With the keys and the words that all these scripts have; `words` more follow.
  [[nodiscard]] ScriptCall start(Script const& script, std::string_view owner,
                                 std::size_t words) const;
  asio::awaitable<std::expected<LeaseGrant, Busy>> stand(LeaseRequest request, Instant deadline);
  asio::awaitable<std::expected<void, Lost>> renew_leader(LeaseRenewal renewal, Instant deadline);
  asio::awaitable<std::int64_t> let_go(Owner owner, bool tell, Instant deadline);
  asio::awaitable<std::optional<LeaseInfo>> leader(Instant deadline);

  Connection& connection_;
  LeaseStore& native_;
  RedisSignalBus& signals_;
  Keys const& keys_;
  SovereignOptions const fleet_;
};

}  // namespace holt::redis
