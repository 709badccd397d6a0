// SPDX-License-Identifier: Apache-2.0
#include "sim/faulty_lease_store.hpp"

#include <fmt/format.h>

#include <utility>

namespace holt::sim {

asio::awaitable<std::expected<LeaseGrant, Busy>> FaultyLeaseStore::acquire(LeaseRequest request,
                                                                           Instant deadline) {
  using Answer = std::expected<LeaseGrant, Busy>;
  FaultyLink::Request<Answer> ask = [this, request](Instant by) {
    return seen_acquire(request, by);
  };
  return link_.call<Answer>("acquire", std::move(ask), deadline);
}

asio::awaitable<std::vector<std::expected<void, Lost>>> FaultyLeaseStore::renew(
    std::vector<LeaseRenewal> renewals, Instant deadline) {
  using Answer = std::vector<std::expected<void, Lost>>;
  FaultyLink::Request<Answer> ask = [this, renewals](Instant by) {
    return seen_renew(renewals, by);
  };
  return link_.call<Answer>("renew", std::move(ask), deadline);
}

asio::awaitable<std::expected<void, Lost>> FaultyLeaseStore::release(Name name, Owner owner,
                                                                     Instant deadline) {
  using Answer = std::expected<void, Lost>;
  FaultyLink::Request<Answer> ask = [this, name, owner](Instant by) {
    return seen_release(name, owner, by);
  };
  return link_.call<Answer>("release", std::move(ask), deadline);
}

asio::awaitable<BreakResult> FaultyLeaseStore::break_lease(BreakRequest request, Instant deadline) {
  FaultyLink::Request<BreakResult> ask = [this, request](Instant by) {
    return seen_break(request, by);
  };
  return link_.call<BreakResult>("break", std::move(ask), deadline);
}

asio::awaitable<std::optional<LeaseInfo>> FaultyLeaseStore::find(Name name, Instant deadline) {
  using Answer = std::optional<LeaseInfo>;
  FaultyLink::Request<Answer> ask = [this, name](Instant by) { return seen_find(name, by); };
  return link_.call<Answer>("find", std::move(ask), deadline);
}

asio::awaitable<LeasePage> FaultyLeaseStore::list(std::string prefix, std::string cursor,
                                                  std::uint32_t limit, Instant deadline) {
  FaultyLink::Request<LeasePage> ask = [this, prefix, cursor, limit](Instant by) {
    return store_.list(prefix, cursor, limit, by);
  };
  return link_.call<LeasePage>("list", std::move(ask), deadline);
}

asio::awaitable<std::expected<LeaseGrant, Busy>> FaultyLeaseStore::seen_acquire(
    LeaseRequest request, Instant deadline) {
  auto const started = link_.world().now();
  auto answer = co_await store_.acquire(request, deadline);
  if (link_.store_lost()) co_return answer;
  if (answer) {
    link_.say(fmt::format("store grants {} to {} with fence {}", request.names.front().text(),
                          request.owner.text(), answer->fences.front().value()));
  } else {
    link_.say(fmt::format("store says {} is busy to {}, place {}", request.names.front().text(),
                          request.owner.text(), answer.error().place));
  }
  checker_.answered(request, answer, started);
  co_return answer;
}

asio::awaitable<std::vector<std::expected<void, Lost>>> FaultyLeaseStore::seen_renew(
    std::vector<LeaseRenewal> renewals, Instant deadline) {
  auto const started = link_.world().now();
  auto answers = co_await store_.renew(renewals, deadline);
  if (link_.store_lost()) co_return answers;
  for (std::size_t i = 0; i < answers.size(); ++i) {
    link_.say(fmt::format("store renews {} of {} for {} ms: {}", renewals[i].name.text(),
                          renewals[i].owner.text(), renewals[i].ttl / std::chrono::milliseconds(1),
                          answers[i] ? "done" : to_string(answers[i].error().reason)));
    checker_.renewed(renewals[i], answers[i], started);
  }
  co_return answers;
}

asio::awaitable<std::expected<void, Lost>> FaultyLeaseStore::seen_release(Name name, Owner owner,
                                                                          Instant deadline) {
  checker_.releasing(name, owner);
  auto answer = co_await store_.release(name, owner, deadline);
  if (link_.store_lost()) co_return answer;
  link_.say(fmt::format("store releases {} of {}: {}", name.text(), owner.text(),
                        answer ? "done" : to_string(answer.error().reason)));
  checker_.released(name, owner, answer);
  co_return answer;
}

asio::awaitable<BreakResult> FaultyLeaseStore::seen_break(BreakRequest request, Instant deadline) {
  checker_.breaking(request);
  auto const answer = co_await store_.break_lease(request, deadline);
  if (link_.store_lost()) co_return answer;
  link_.say(fmt::format("store breaks {}: {}", request.name.text(), to_string(answer)));
  checker_.broke(request, answer);
  co_return answer;
}

asio::awaitable<std::optional<LeaseInfo>> FaultyLeaseStore::seen_find(Name name, Instant deadline) {
  auto answer = co_await store_.find(name, deadline);
  if (link_.store_lost()) co_return answer;
  checker_.found(name, answer);
  co_return answer;
}

}  // namespace holt::sim
