// SPDX-License-Identifier: Apache-2.0
#include "engines/sqlite/lease_store.hpp"

#include "contracts/input_rules.hpp"
#include "engines/sqlite/lease_queries.hpp"

#include <holt/error.hpp>

#include <algorithm>
#include <utility>

namespace holt::sqlite {
namespace {

constexpr int max_skips = 16;  // dead waiters in one call; their offers' ends see to the rest

std::string_view inbox_of(std::string_view owner) { return owner.substr(0, owner.find('.')); }

}  // namespace

SqliteLeaseStore::SqliteLeaseStore(Env& env, Writer& writer, Reader& reader, SignalBus& signals,
                                   std::string instance)
    : env_(env),
      writer_(writer),
      reader_(reader),
      signals_(signals),
      instance_(std::move(instance)) {}

asio::awaitable<std::expected<LeaseGrant, Busy>> SqliteLeaseStore::acquire(LeaseRequest request,
                                                                           Instant deadline) {
  check_request(request);
  // Whoever stands in line must be reachable, or the line would take it for dead.
  if (request.stand_in_line && request.owner.inbox() == signals_.inbox()) signals_.listen();
  AcquireStep step(env_, instance_, request, deadline);
  co_await writer_.run(step);
  if (!step.offers().empty()) co_await tell_waiters(step.offers(), deadline);
  tell_risen(step.risen());
  co_return std::move(step.result());
}

asio::awaitable<std::vector<std::expected<void, Lost>>> SqliteLeaseStore::renew(
    std::vector<LeaseRenewal> renewals, Instant deadline) {
  RenewStep step(env_, instance_, renewals, deadline);
  co_await writer_.run(step);
  co_return std::move(step.results());
}

asio::awaitable<std::expected<void, Lost>> SqliteLeaseStore::release(Name name, Owner owner,
                                                                     Instant deadline) {
  Handle const handle{std::move(name), std::move(owner)};
  ReleaseStep step(env_, instance_, handle, deadline);
  co_await writer_.run(step);
  if (!step.offers().empty()) co_await tell_waiters(step.offers(), deadline);
  tell_risen(step.risen());
  co_return std::move(step.result());
}

asio::awaitable<BreakResult> SqliteLeaseStore::break_lease(BreakRequest request, Instant deadline) {
  BreakStep step(env_, instance_, request, deadline);
  co_await writer_.run(step);
  if (!step.holder().empty()) {
    signals_.send(inbox_of(step.holder()), {std::string(topic::check), step.holder()});
  }
  if (!step.offers().empty()) co_await tell_waiters(step.offers(), deadline);
  tell_risen(step.risen());
  co_return step.result();
}

asio::awaitable<std::optional<LeaseInfo>> SqliteLeaseStore::find(Name name, Instant deadline) {
  FindStep step(env_, instance_, name, deadline);
  co_await reader_.run(step);
  co_return std::move(step.result());
}

asio::awaitable<LeasePage> SqliteLeaseStore::list(std::string prefix, std::string cursor,
                                                  std::uint32_t limit, Instant deadline) {
  ListStep step(env_, instance_, deadline);
  step.select(std::move(prefix), std::move(cursor), limit);
  co_await reader_.run(step);
  co_return std::move(step.result());
}

void SqliteLeaseStore::tell_risen(std::vector<std::string> const& owners) {
  for (auto const& owner : owners) {
    signals_.send(inbox_of(owner), {std::string(topic::near), owner});
  }
}

/// Signals those who were offered a name, and skips the dead at once. What fails here fails only
/// the hint: the step itself is stored, and an offer that nobody confirms ends by itself.
asio::awaitable<void> SqliteLeaseStore::tell_waiters(std::vector<Offer> offers, Instant deadline) {
  int skips = 0;
  while (!offers.empty() && skips < max_skips) {
    Offer const offer = std::move(offers.back());
    offers.pop_back();
    if (signals_.send(inbox_of(offer.owner), {std::string(topic::offer), offer.owner}) !=
        Delivery::dead) {
      continue;
    }
    ++skips;
    SkipStep step(env_, instance_, offer, deadline);
    try {
      co_await writer_.run(step);
    } catch (EngineError const&) {
      co_return;
    }
    offers.insert(offers.end(), step.offers().begin(), step.offers().end());
    tell_risen(step.risen());
  }
}

}  // namespace holt::sqlite
