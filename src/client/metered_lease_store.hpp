// SPDX-License-Identifier: Apache-2.0
#pragma once
// A LeaseStore that counts and times the calls to another one. Only clients with Metrics have it.

#include "base/metrics.hpp"
#include "contracts/env.hpp"
#include "contracts/lease_store.hpp"

#include <string>
#include <string_view>

namespace holt::client {

class MeteredLeaseStore final : public LeaseStore {
 public:
  MeteredLeaseStore(Env& env, LeaseStore& store, Metrics::Book& book, std::string instance)
      : env_(env), store_(store), book_(book), instance_(std::move(instance)) {}

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
  template <class T>
  asio::awaitable<T> timed(std::string_view operation, asio::awaitable<T> call);

  Env& env_;
  LeaseStore& store_;
  Metrics::Book& book_;
  std::string instance_;
};

}  // namespace holt::client
