// SPDX-License-Identifier: Apache-2.0
#include "client/metered_lease_store.hpp"

#include <utility>

namespace holt::client {

template <class T>
asio::awaitable<T> MeteredLeaseStore::timed(std::string_view operation, asio::awaitable<T> call) {
  auto const started = env_.now();
  auto const count = [&](std::string_view result) {
    book_.store.with({{"instance", instance_}, {"operation", operation}, {"result", result}})
        .observe(env_.now() - started);
  };
  try {
    T answer = co_await std::move(call);
    count("ok");
    co_return answer;
  } catch (...) {
    count("error");
    throw;
  }
}

asio::awaitable<std::expected<LeaseGrant, Busy>> MeteredLeaseStore::acquire(LeaseRequest request,
                                                                            Instant deadline) {
  return timed("acquire", store_.acquire(std::move(request), deadline));
}

asio::awaitable<std::vector<std::expected<void, Lost>>> MeteredLeaseStore::renew(
    std::vector<LeaseRenewal> renewals, Instant deadline) {
  return timed("renew", store_.renew(std::move(renewals), deadline));
}

asio::awaitable<std::expected<void, Lost>> MeteredLeaseStore::release(Name name, Owner owner,
                                                                      Instant deadline) {
  return timed("release", store_.release(std::move(name), std::move(owner), deadline));
}

asio::awaitable<BreakResult> MeteredLeaseStore::break_lease(BreakRequest request,
                                                            Instant deadline) {
  return timed("break", store_.break_lease(std::move(request), deadline));
}

asio::awaitable<std::optional<LeaseInfo>> MeteredLeaseStore::find(Name name, Instant deadline) {
  return timed("find", store_.find(std::move(name), deadline));
}

asio::awaitable<LeasePage> MeteredLeaseStore::list(std::string prefix, std::string cursor,
                                                   std::uint32_t limit, Instant deadline) {
  return timed("list", store_.list(std::move(prefix), std::move(cursor), limit, deadline));
}

}  // namespace holt::client
