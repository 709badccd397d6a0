// SPDX-License-Identifier: Apache-2.0
#pragma once
// LeaseStore in SyncGuard's tables: each decision is one call of a function of the store's schema
// (migrations/004). On Env::executor(). Where it gives less than the contract, because the tables
// have no room for it:
// - One name in a request, no delay, no priority: others are refused. A note is not kept.
// - There is no line: Busy::place stays 0, and who waits asks again.
// - An owner has one lock at a time: lock ids are unique.
// - A holder cannot be asked to stop: break_lease only works with `now`.
// - A lock lives 1 s longer than its ttl, for its owner and for others.
// - LeaseInfo::ttl is the time from the grant to the end as it is now.
// - Fences grow per name.

#include "contracts/lease_store.hpp"
#include "engines/postgres/pool.hpp"
#include "engines/postgres/syncguard_options.hpp"

#include <string>

namespace holt::postgres {

class SyncguardLeaseStore final : public LeaseStore {
 public:
  /// Listings are read from `reads`, everything else is asked of `pool`.
  SyncguardLeaseStore(Env& env, Pool& pool, Pool& reads, Place const& place);

  asio::awaitable<std::expected<LeaseGrant, Busy>> acquire(LeaseRequest request,
                                                           Instant deadline) override;
  asio::awaitable<std::vector<std::expected<void, Lost>>> renew(std::vector<LeaseRenewal> renewals,
                                                                Instant deadline) override;
  asio::awaitable<std::expected<void, Lost>> release(Name name, Owner owner,
                                                     Instant deadline) override;
  asio::awaitable<BreakResult> break_lease(BreakRequest request, Instant deadline) override;
  asio::awaitable<std::optional<LeaseInfo>> find(Name name, Instant deadline) override;
  /// Reads the whole table for each page.
  asio::awaitable<LeasePage> list(std::string prefix, std::string cursor, std::uint32_t limit,
                                  Instant deadline) override;

 private:
  /// Calls a function whose last parameter, to be added, is how long it may wait for locks.
  asio::awaitable<Answer> decide(Statement statement, Parameters parameters,
                                 std::string_view operation, Instant deadline);
  asio::awaitable<std::vector<std::int64_t>> renew_some(std::vector<LeaseRenewal> renewals,
                                                        Instant deadline);
  asio::awaitable<void> renew_undecided(std::vector<LeaseRenewal> const& renewals,
                                        std::vector<std::int64_t>& codes, Instant deadline);
  asio::awaitable<std::int64_t> let_go(Name name, std::string lock_id, Instant deadline);
  asio::awaitable<void> remove_ended(Name name, std::string lock_id, Instant deadline);
  [[nodiscard]] LeaseGrant grant(Name const& name, Owner const& owner, Answer const& answer) const;
  [[noreturn]] void not_a_lock(std::string_view operation, Name const& name) const;

  Env& env_;
  Pool& pool_;
  Pool& reads_;
  SyncguardOptions const options_;
  Statement const acquire_;
  Statement const renew_;
  Statement const release_;
  Statement const find_;
  Statement const list_;
  Statement const clean_;
};

}  // namespace holt::postgres
