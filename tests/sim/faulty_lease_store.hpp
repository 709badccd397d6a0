// SPDX-License-Identifier: Apache-2.0
#pragma once
// FaultyLeaseStore: the real store's leases as one node sees them, at the other end of its faulty
// link. What the store answers is shown to the checker before the way back begins.

#include "contracts/lease_store.hpp"
#include "sim/checker.hpp"
#include "sim/faulty_link.hpp"

#include <optional>
#include <string>
#include <vector>

namespace holt::sim {

class FaultyLeaseStore final : public LeaseStore {
 public:
  FaultyLeaseStore(FaultyLink& link, LeaseStore& store, Checker& checker)
      : link_(link), store_(store), checker_(checker) {}

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

 private:
  asio::awaitable<std::expected<LeaseGrant, Busy>> seen_acquire(LeaseRequest request,
                                                                Instant deadline);
  asio::awaitable<std::expected<void, Lost>> seen_release(Name name, Owner owner, Instant deadline);
  asio::awaitable<std::vector<std::expected<void, Lost>>> seen_renew(
      std::vector<LeaseRenewal> renewals, Instant deadline);
  asio::awaitable<BreakResult> seen_break(BreakRequest request, Instant deadline);
  asio::awaitable<std::optional<LeaseInfo>> seen_find(Name name, Instant deadline);

  FaultyLink& link_;
  LeaseStore& store_;
  Checker& checker_;
};

}  // namespace holt::sim
