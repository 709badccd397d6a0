// SPDX-License-Identifier: Apache-2.0
#pragma once
// LeaseStore on PostgreSQL: each call is one row of a statement that calls a function of the
// store's schema (migrations/*.sql). On Env::executor().

#include "contracts/lease_store.hpp"
#include "engines/postgres/batch.hpp"
#include "engines/postgres/pool.hpp"
#include "engines/postgres/signal_bus.hpp"

#include <holt/fence.hpp>

#include <string>

namespace holt::postgres {

class PostgresLeaseStore final : public LeaseStore {
 public:
  /// Listings are read from `reads`, everything else is asked of `pool`.
  PostgresLeaseStore(Env& env, Pool& pool, Pool& reads, PostgresSignalBus& signals,
                     Place const& place, std::string instance);

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

  /// See Engine::raise_fence.
  asio::awaitable<FenceRaise> raise_fence(Instant deadline);

 private:
  struct Wish {
    Wish(LeaseRequest what, bool with_ear) : request(std::move(what)), present(with_ear) {}
    LeaseRequest request;
    bool present;  ///< its client listens, and others can tell when it is gone
  };
  using Granted = std::expected<LeaseGrant, Busy>;
  using Renewals = std::vector<LeaseRenewal>;
  using Renewed = std::vector<std::expected<void, Lost>>;

  asio::awaitable<std::vector<Granted>> acquire_all(std::vector<Wish> wishes, Instant deadline);
  asio::awaitable<void> wait_for_undecided(Renewals const& renewals, Renewed& answers,
                                           Instant deadline);
  asio::awaitable<std::vector<Renewed>> renew_all(std::vector<Renewals> groups, Instant deadline);
  asio::awaitable<std::vector<std::expected<void, Lost>>> release_all(std::vector<Handle> handles,
                                                                      Instant deadline);
  [[nodiscard]] std::int32_t patience(Instant deadline, std::size_t together = 1) const;
  void sweep_now_and_then(Fence fence);
  asio::awaitable<void> sweep();

  Env& env_;
  Pool& pool_;
  Pool& reads_;
  PostgresSignalBus& signals_;
  std::string const instance_;
  Statement const acquire_;
  Statement const renew_;
  Statement const release_;
  Statement const break_;
  Statement const find_;
  Statement const list_;
  Statement const raise_;
  Statement const sweep_;
  Batch<Wish, Granted> acquires_;
  Batch<Renewals, Renewed> renews_;
  Batch<Handle, std::expected<void, Lost>> releases_;
};

}  // namespace holt::postgres
