// SPDX-License-Identifier: Apache-2.0
#pragma once
// LeaseStore in SyncGuard's layout: each call is one script, scripts/syncguard_*.lua. On
// Env::executor(). Where it gives less than the contract, because the wire has no room for it:
// - One name in a request, no delay, no priority: others are refused. A note is not kept.
// - There is no line: Busy::place stays 0, and who waits asks again.
// - A lease that ended is gone: its former owner hears Lost{taken}.
// - A holder cannot be asked to stop: break_lease only works with `now`.
// - LeaseInfo::ttl is the time from the grant to the end as it is now.
// - Fences grow per name.

#include "contracts/lease_store.hpp"
#include "engines/redis/connection.hpp"
#include "engines/redis/syncguard_layout.hpp"

#include <map>
#include <string>

namespace holt::redis {

class SyncguardLeaseStore final : public LeaseStore {
 public:
  /// `cleanup`: find() removes what ended and is still there.
  SyncguardLeaseStore(Connection& connection, SyncguardKeys const& keys, bool cleanup)
      : connection_(connection), keys_(keys), cleanup_(cleanup) {}

  asio::awaitable<std::expected<LeaseGrant, Busy>> acquire(LeaseRequest request,
                                                           Instant deadline) override;
  asio::awaitable<std::vector<std::expected<void, Lost>>> renew(std::vector<LeaseRenewal> renewals,
                                                                Instant deadline) override;
  asio::awaitable<std::expected<void, Lost>> release(Name name, Owner owner,
                                                     Instant deadline) override;
  asio::awaitable<BreakResult> break_lease(BreakRequest request, Instant deadline) override;
  asio::awaitable<std::optional<LeaseInfo>> find(Name name, Instant deadline) override;
  /// Goes through all keys of the database once for each page, a few at a time.
  asio::awaitable<LeasePage> list(std::string prefix, std::string cursor, std::uint32_t limit,
                                  Instant deadline) override;

 private:
  struct Listing;

  asio::awaitable<std::int64_t> let_go(Name name, std::string lock_id, Instant deadline);
  asio::awaitable<void> remove_ended(Name name, std::string lock_id, Instant deadline);
  asio::awaitable<void> look_up(std::vector<std::string> keys, Listing& into, Instant deadline);
  [[nodiscard]] LeaseGrant grant(Name const& name, std::string_view fence) const;

  Connection& connection_;
  SyncguardKeys const& keys_;
  bool const cleanup_;
};

}  // namespace holt::redis
