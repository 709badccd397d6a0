// SPDX-License-Identifier: Apache-2.0
#include "engines/postgres/syncguard_lease_store.hpp"

#include "contracts/syncguard.hpp"
#include "engines/postgres/errors.hpp"
#include "engines/postgres/span.hpp"
#include "engines/postgres/syncguard_tables.hpp"
#include "postgres_sql.hpp"

#include <holt/error.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <utility>

namespace holt::postgres {
namespace {

constexpr std::size_t renewals_per_statement = 128;
/// So long a statement waits for a lock, and those behind it on the connection with it; then it
/// goes to the end of the queue.
constexpr std::chrono::milliseconds one_wait{250};
/// A renewal that is not decided: somebody keeps the row.
constexpr std::int64_t undecided = 4;
/// An end that is so many ms past may be cleaned up.
constexpr std::int64_t long_ended = -1000;

Statement on_tables(std::string_view text, Place const& place) {
  return statement(in_tables(text, place));
}
Statement of_function(std::string_view text, Place const& place) {
  return kept_statement(in_tables(text, place));
}

/// A row of sql/syncguard_find.sql. Nothing: not what SyncGuard writes.
std::optional<LeaseInfo> info_of(Answer const& answer, int row) {
  return syncguard_info({.lock_id = answer.text(row, 0),
                         .name = answer.text(row, 1),
                         .fence = answer.text(row, 2),
                         .acquired_ms = answer.integer(row, 3),
                         .ttl_ms = answer.integer(row, 4),
                         .left_ms = answer.integer(row, 5)});
}

}  // namespace

SyncguardLeaseStore::SyncguardLeaseStore(Env& env, Pool& pool, Pool& reads, Place const& place)
    : env_(env),
      pool_(pool),
      reads_(reads),
      options_(place.syncguard),
      acquire_(of_function(sql::syncguard_acquire, place)),
      renew_(of_function(sql::syncguard_renew, place)),
      release_(of_function(sql::syncguard_release, place)),
      find_(on_tables(sql::syncguard_find, place)),
      list_(on_tables(sql::syncguard_list, place)),
      clean_(on_tables(sql::syncguard_clean, place)) {}

void SyncguardLeaseStore::not_a_lock(std::string_view operation, Name const& name) const {
  throw failed(ErrorCode::internal, Outcome::not_applied, operation,
               fmt::format("what the tables {} and {} have of \"{}\" was not written by SyncGuard "
                           "or Holt",
                           options_.locks, options_.counters, name.text()),
               "somebody else writes into these tables: remove that row when nobody needs it");
}

LeaseGrant SyncguardLeaseStore::grant(Name const& name, Owner const& owner,
                                      Answer const& answer) const {
  switch (answer.integer(0, 0)) {
    case 1:
      break;
    case -2:
      throw failed(ErrorCode::internal, Outcome::not_applied, "acquire",
                   syncguard_used_up(name, syncguard_fences), syncguard_used_up_hint);
    case -3:
      throw InvalidArgument(
          fmt::format("the owner {} has another lock, and with layout={} an owner has one at a "
                      "time: use a new owner",
                      owner.text(), options_.layout));
    default:
      not_a_lock("acquire", name);
  }
  auto const fence = parse_syncguard_fence(answer.text(0, 2));
  if (!fence) not_a_lock("acquire", name);
  LeaseGrant granted;
  granted.fences.push_back(*fence);
  granted.warning = syncguard_warning(*fence, syncguard_fences);
  return granted;
}

asio::awaitable<Answer> SyncguardLeaseStore::decide(Statement statement, Parameters parameters,
                                                    std::string_view operation, Instant deadline) {
  while (true) {
    auto const now = env_.now();
    Parameters attempt = parameters;
    attempt.add(lock_patience(now, std::min(deadline, now + one_wait)));
    try {
      Answer answer =
          co_await pool_.call(statement, std::move(attempt), Effect::writes, operation, deadline);
      co_return answer;
    } catch (EngineError const& error) {
      if (state_of(error) != lock_not_available || env_.now() >= deadline) throw;
    }
  }
}

asio::awaitable<std::expected<LeaseGrant, Busy>> SyncguardLeaseStore::acquire(LeaseRequest request,
                                                                              Instant deadline) {
  check_syncguard_request(request, options_.layout);
  auto const& name = request.names.front();
  Parameters parameters;
  parameters.add(options_.locks).add(options_.counters);
  parameters.add(name.text()).add(syncguard_counter(name)).add(syncguard_lock_id(request.owner));
  parameters.add(syncguard_ms(request.ttl));
  parameters.add(static_cast<std::int32_t>(syncguard_fences.digits));
  parameters.add(static_cast<std::int64_t>(syncguard_fences.last.value()));
  Answer const answer = co_await decide(acquire_, std::move(parameters), "acquire", deadline);
  if (answer.integer(0, 0) == 0) {
    co_return std::unexpected(
        syncguard_busy(answer.text(0, 1), answer.text(0, 2), answer.integer(0, 3)));
  }
  co_return grant(name, request.owner, answer);
}

asio::awaitable<std::vector<std::expected<void, Lost>>> SyncguardLeaseStore::renew(
    std::vector<LeaseRenewal> renewals, Instant deadline) {
  std::vector<std::expected<void, Lost>> answers;
  answers.reserve(renewals.size());
  while (answers.size() < renewals.size()) {
    auto const begin = renewals.begin() + static_cast<std::ptrdiff_t>(answers.size());
    auto const count = std::min(renewals_per_statement, renewals.size() - answers.size());
    std::vector<LeaseRenewal> const some(begin, begin + static_cast<std::ptrdiff_t>(count));
    std::optional<EngineError> error;
    std::vector<std::int64_t> codes;
    try {
      codes = co_await renew_some(some, deadline);
      co_await renew_undecided(some, codes, deadline);
    } catch (EngineError const& thrown) {
      error = thrown;
    }
    if (error) {
      // What failed says nothing of those before it.
      auto const outcome = answers.empty() && codes.empty() ? error->outcome() : Outcome::unknown;
      throw failed(error->code(), outcome, error->operation(), error->reason(), error->hint());
    }
    std::ranges::transform(codes, std::back_inserter(answers), syncguard_answer);
  }
  co_return answers;
}

asio::awaitable<std::vector<std::int64_t>> SyncguardLeaseStore::renew_some(
    std::vector<LeaseRenewal> renewals, Instant deadline) {
  std::vector<std::string> names;
  std::vector<std::string> ids;
  std::vector<std::int64_t> ttls;
  for (auto const& renewal : renewals) {
    names.push_back(renewal.name.text());
    ids.emplace_back(syncguard_lock_id(renewal.owner));
    ttls.push_back(syncguard_ms(renewal.ttl));
  }
  Parameters parameters;
  parameters.add(options_.locks).add(names).add(ids).add(ttls);
  Answer const answer = co_await decide(renew_, std::move(parameters), "renew", deadline);
  std::vector<std::int64_t> codes(renewals.size());
  for (std::size_t i = 0; i < codes.size(); ++i) codes[i] = answer.integer(static_cast<int>(i), 0);
  co_return codes;
}

/// Alone each may wait for whoever keeps its row.
asio::awaitable<void> SyncguardLeaseStore::renew_undecided(
    std::vector<LeaseRenewal> const& renewals, std::vector<std::int64_t>& codes, Instant deadline) {
  for (std::size_t i = 0; i < codes.size(); ++i) {
    if (codes[i] != undecided) continue;
    std::vector<LeaseRenewal> alone;
    alone.push_back(renewals[i]);
    std::vector<std::int64_t> const decided = co_await renew_some(std::move(alone), deadline);
    codes[i] = decided.front();
  }
}

asio::awaitable<std::int64_t> SyncguardLeaseStore::let_go(Name name, std::string lock_id,
                                                          Instant deadline) {
  Parameters parameters;
  parameters.add(options_.locks).add(name.text()).add(lock_id);
  Answer const answer = co_await decide(release_, std::move(parameters), "release", deadline);
  co_return answer.integer(0, 0);
}

asio::awaitable<std::expected<void, Lost>> SyncguardLeaseStore::release(Name name, Owner owner,
                                                                        Instant deadline) {
  std::string id(syncguard_lock_id(owner));
  std::int64_t const code = co_await let_go(std::move(name), std::move(id), deadline);
  co_return syncguard_answer(code);
}

/// In the name of the holder that was seen: if it changed meanwhile, the new one is looked at.
asio::awaitable<BreakResult> SyncguardLeaseStore::break_lease(BreakRequest request,
                                                              Instant deadline) {
  check_syncguard_break(request, options_.layout);
  while (true) {
    std::optional<LeaseInfo> const held = co_await find(request.name, deadline);
    if (!held) co_return BreakResult::not_held;
    if (request.fence != Fence() && request.fence != held->fence) {
      co_return BreakResult::other_fence;
    }
    std::string id(syncguard_lock_id(held->owner));
    std::int64_t const code = co_await let_go(request.name, std::move(id), deadline);
    if (code == 1 || code == -2) co_return BreakResult::freed;
  }
}

asio::awaitable<std::optional<LeaseInfo>> SyncguardLeaseStore::find(Name name, Instant deadline) {
  Parameters parameters;
  parameters.add(name.text());
  Answer const answer =
      co_await pool_.call(find_, std::move(parameters), Effect::reads, "find", deadline);
  std::optional<LeaseInfo> found;
  if (answer.rows() == 0) co_return found;
  auto const left = answer.integer(0, 5);
  if (left > 0) {
    found = info_of(answer, 0);
    if (!found) not_a_lock("find", name);
  } else if (options_.cleanup && left < long_ended) {
    std::string id(answer.text(0, 0));
    co_await remove_ended(std::move(name), std::move(id), deadline);
  }
  co_return found;
}

/// Changes no answer, whatever comes of it.
asio::awaitable<void> SyncguardLeaseStore::remove_ended(Name name, std::string lock_id,
                                                        Instant deadline) {
  Parameters parameters;
  parameters.add(name.text()).add(lock_id);
  try {
    [[maybe_unused]] Answer const answer =
        co_await pool_.call(clean_, std::move(parameters), Effect::writes, "clean up", deadline);
  } catch (EngineError const&) {
    co_return;
  }
}

asio::awaitable<LeasePage> SyncguardLeaseStore::list(std::string prefix, std::string cursor,
                                                     std::uint32_t limit, Instant deadline) {
  check_page_size(limit);
  // One row more than fits, to know whether there is a next page.
  Parameters parameters;
  parameters.add(prefix).add(cursor).add(static_cast<std::int32_t>(limit + 1));
  Answer const answer =
      co_await reads_.call(list_, std::move(parameters), Effect::reads, "list", deadline);
  LeasePage page;
  auto const fits = std::min(answer.rows(), static_cast<int>(limit));
  for (int row = 0; row < fits; ++row) {
    // What is no name of ours is left out; the next page starts behind it all the same.
    if (auto lease = info_of(answer, row)) page.leases.push_back(std::move(*lease));
  }
  if (answer.rows() > fits) page.next = answer.text(fits - 1, 1);
  co_return page;
}

}  // namespace holt::postgres
