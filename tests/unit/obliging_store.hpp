// SPDX-License-Identifier: Apache-2.0
#pragma once
// A store of leases that grants nothing, renews and releases whatever it is asked to, and knows of
// nobody. A test overrides what it is about.

#include "contracts/lease_store.hpp"

#include <string>
#include <utility>
#include <vector>

namespace holt {

class ObligingStore : public LeaseStore {
 public:
  asio::awaitable<std::expected<LeaseGrant, Busy>> acquire(LeaseRequest /*request*/,
                                                           Instant /*deadline*/) override {
    Busy busy;
    co_return std::unexpected(std::move(busy));
  }
  asio::awaitable<std::vector<std::expected<void, Lost>>> renew(std::vector<LeaseRenewal> renewals,
                                                                Instant /*deadline*/) override {
    std::vector<std::expected<void, Lost>> answers(renewals.size());
    co_return answers;
  }
  asio::awaitable<std::expected<void, Lost>> release(Name /*name*/, Owner /*owner*/,
                                                     Instant /*deadline*/) override {
    std::expected<void, Lost> done;
    co_return done;
  }
  asio::awaitable<BreakResult> break_lease(BreakRequest /*request*/,
                                           Instant /*deadline*/) override {
    co_return BreakResult::not_held;
  }
  asio::awaitable<std::optional<LeaseInfo>> find(Name /*name*/, Instant /*deadline*/) override {
    std::optional<LeaseInfo> none;
    co_return none;
  }
  asio::awaitable<LeasePage> list(std::string /*prefix*/, std::string /*cursor*/,
                                  std::uint32_t /*limit*/, Instant /*deadline*/) override {
    LeasePage none;
    co_return none;
  }
};

}  // namespace holt
