// SPDX-License-Identifier: Apache-2.0
#include "engines/postgres/lease_store.hpp"

#include "contracts/input_rules.hpp"
#include "engines/postgres/errors.hpp"
#include "engines/postgres/span.hpp"
#include "postgres_sql.hpp"

#include <algorithm>
#include <charconv>
#include <numeric>
#include <tuple>
#include <utility>

namespace holt::postgres {
namespace {

using std::chrono::ceil;
using std::chrono::microseconds;
using std::chrono::milliseconds;

constexpr std::size_t names_per_statement = 64;  // each takes a slot of the server's lock table
constexpr std::size_t renewals_per_statement = 128;
constexpr std::uint64_t grants_per_sweep = 4096;
constexpr std::chrono::seconds sweep_patience{30};

Statement on_tables(std::string_view text, Place const& place) {
  return statement(in_schema(text, place.schema));
}
Statement of_function(std::string_view text, Place const& place) {
  return kept_statement(in_schema(text, place.schema));
}

/// The order in which rows are locked: by name, as the server compares them. Those of one name come
/// in the order in which they were asked for.
template <class Items, class NameOf>
std::vector<std::size_t> order_of(Items const& items, NameOf const& name_of) {
  std::vector<std::size_t> order(items.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::sort(order, [&](std::size_t left, std::size_t right) {
    Name const& one = name_of(items[left]);
    Name const& other = name_of(items[right]);
    return std::tie(one.text(), left) < std::tie(other.text(), right);
  });
  return order;
}

Owner owner_of(std::string_view text) {
  auto owner = Owner::parse(text);
  return owner ? std::move(*owner) : Owner();
}

Busy busy_of(Answer const& answer, int row) {
  Busy busy;
  busy.holder = owner_of(answer.text(row, 1));
  busy.fence = Fence(static_cast<std::uint64_t>(answer.integer(row, 2)));
  busy.expires_in =
      ceil<milliseconds>(microseconds(std::max<std::int64_t>(answer.integer(row, 3), 0)));
  busy.place = static_cast<std::uint32_t>(answer.integer(row, 4));
  busy.note = answer.text(row, 5);
  return busy;
}

/// " 17 18": the fences of a grant.
LeaseGrant grant_of(std::string_view text) {
  LeaseGrant grant;
  while (!text.empty()) {
    text.remove_prefix(1);
    std::uint64_t fence = 0;
    auto const [end, error] = std::from_chars(text.data(), text.data() + text.size(), fence);
    if (error != std::errc()) {
      throw failed(ErrorCode::internal, Outcome::unknown, "acquire",
                   "the server's answer is no list of fences");
    }
    grant.fences.emplace_back(fence);
    text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  }
  return grant;
}

/// Stands for a renewal that is not decided: somebody keeps the row.
constexpr auto undecided = LossReason::none;

std::expected<void, Lost> renewal_of(Answer const& answer, int row) {
  switch (answer.integer(row, 0)) {
    case 4:
      return std::unexpected(Lost{undecided, {}});
    case 1:
      return {};
    case 2:
      return std::unexpected(Lost{LossReason::expired, {}});
    case 3:
      return std::unexpected(Lost{LossReason::broken, std::string(answer.text(row, 1))});
    default:
      return std::unexpected(Lost{LossReason::taken, {}});
  }
}

LeaseInfo info_of(Answer const& answer, int row) {
  return {
      .name = Name(answer.text(row, 0)),
      .owner = owner_of(answer.text(row, 1)),
      .fence = Fence(static_cast<std::uint64_t>(answer.integer(row, 2))),
      .offered = answer.integer(row, 3) != 0,
      .acquired_at = std::chrono::system_clock::time_point(microseconds(answer.integer(row, 4))),
      .ttl = ceil<milliseconds>(microseconds(answer.integer(row, 5))),
      .expires_in =
          ceil<milliseconds>(microseconds(std::max<std::int64_t>(answer.integer(row, 6), 0))),
      .waiting = static_cast<std::uint32_t>(answer.integer(row, 7)),
      .note = std::string(answer.text(row, 8)),
      .broken = std::string(answer.text(row, 9))};
}

void check_text(std::string_view what, std::string_view text) {
  if (is_text(text)) return;
  throw InvalidArgument(std::string(what) + " must be UTF-8 text without zero bytes on this store");
}

}  // namespace

PostgresLeaseStore::PostgresLeaseStore(Env& env, Pool& pool, Pool& reads,
                                       PostgresSignalBus& signals, Place const& place,
                                       std::string instance)
    : env_(env),
      pool_(pool),
      reads_(reads),
      signals_(signals),
      instance_(std::move(instance)),
      acquire_(of_function(sql::acquire, place)),
      renew_(of_function(sql::renew, place)),
      release_(of_function(sql::release, place)),
      break_(of_function(sql::break_lease, place)),
      find_(on_tables(sql::lease_find, place)),
      list_(on_tables(sql::lease_list, place)),
      raise_(of_function(sql::raise_fence, place)),
      sweep_(of_function(sql::sweep, place)),
      acquires_(
          env, "acquire", names_per_statement, place.pool.max,
          [](Wish const&) { return std::size_t{1}; },
          [this](std::vector<Wish> wishes, Instant deadline) {
            return acquire_all(std::move(wishes), deadline);
          }),
      renews_(
          env, "renew", renewals_per_statement, place.pool.max,
          [](Renewals const& renewals) { return renewals.size(); },
          [this](std::vector<Renewals> groups, Instant deadline) {
            return renew_all(std::move(groups), deadline);
          }),
      releases_(
          env, "release", names_per_statement, place.pool.max,
          [](Handle const&) { return std::size_t{1}; },
          [this](std::vector<Handle> handles, Instant deadline) {
            return release_all(std::move(handles), deadline);
          }) {}

/// How long the server may wait for a lock, in ms: not longer than somebody waits for it, and not
/// for long on the cost of others.
std::int32_t PostgresLeaseStore::patience(Instant deadline, std::size_t together) const {
  constexpr std::int32_t with_others = 100;
  auto const alone = lock_patience(env_.now(), deadline);
  return together > 1 ? std::min(alone, with_others) : alone;
}

asio::awaitable<std::expected<LeaseGrant, Busy>> PostgresLeaseStore::acquire(LeaseRequest request,
                                                                             Instant deadline) {
  check_request(request);
  check_text("a note", request.note);
  check_text("a request id", request.request);
  bool present = false;
  if (request.stand_in_line && request.owner.inbox() == signals_.inbox()) {
    // Whoever stands in line must be reachable; who never will be has no place, and asks again.
    present = co_await signals_.reachable(deadline);
    request.stand_in_line = present;
  }
  Wish wish(std::move(request), present);
  Granted answer = std::unexpected(Busy());
  if (wish.request.names.size() == 1) {
    answer = co_await acquires_.call(std::move(wish), deadline);
  } else {
    std::vector<Wish> alone;
    alone.push_back(std::move(wish));
    std::vector<Granted> answers = co_await acquire_all(std::move(alone), deadline);
    answer = std::move(answers.front());
  }
  if (answer) sweep_now_and_then(answer->fences.front());
  co_return answer;
}

asio::awaitable<std::vector<PostgresLeaseStore::Granted>> PostgresLeaseStore::acquire_all(
    std::vector<Wish> wishes, Instant deadline) {
  auto const order =
      order_of(wishes, [](Wish const& wish) -> auto const& { return wish.request.names.front(); });
  std::vector<std::int32_t> counts;
  std::vector<std::string> names;
  std::vector<std::string> owners;
  std::vector<std::int64_t> ttls;
  std::vector<std::int64_t> delays;
  std::vector<bool> lines;
  std::vector<std::int64_t> places;
  std::vector<std::int32_t> priorities;
  std::vector<std::string> notes;
  std::vector<std::string> requests;
  std::vector<bool> present;
  for (auto const i : order) {
    auto const& request = wishes[i].request;
    counts.push_back(static_cast<std::int32_t>(request.names.size()));
    for (auto const& name : request.names) names.push_back(name.text());
    owners.push_back(request.owner.text());
    ttls.push_back(to_us(request.ttl));
    delays.push_back(to_us(request.delay));
    lines.push_back(request.stand_in_line);
    places.push_back(to_us(request.ticket_ttl > Nanos(0) ? request.ticket_ttl : request.ttl));
    priorities.push_back(request.priority);
    notes.push_back(request.note);
    requests.push_back(request.request);
    present.push_back(wishes[i].present);
  }
  Parameters parameters;
  parameters.add(instance_)
      .add(patience(deadline, wishes.size()))
      .add(counts)
      .add(names)
      .add(owners);
  parameters.add(ttls).add(delays).add(lines).add(places).add(priorities).add(notes);
  parameters.add(requests).add(present);
  Answer const answer =
      co_await pool_.call(acquire_, std::move(parameters), Effect::writes, "acquire", deadline);
  std::vector<Granted> results(wishes.size());
  for (std::size_t row = 0; row < order.size(); ++row) {
    auto const at = static_cast<int>(row);
    if (answer.is_null(at, 0)) {
      results[order[row]] = std::unexpected(busy_of(answer, at));
    } else {
      results[order[row]] = grant_of(answer.text(at, 0));
    }
  }
  co_return results;
}

asio::awaitable<std::vector<std::expected<void, Lost>>> PostgresLeaseStore::renew(
    std::vector<LeaseRenewal> renewals, Instant deadline) {
  Renewed answers;
  answers.reserve(renewals.size());
  while (answers.size() < renewals.size()) {
    auto const begin = renewals.begin() + static_cast<std::ptrdiff_t>(answers.size());
    auto const count = std::min(renewals_per_statement, renewals.size() - answers.size());
    Renewals const some(begin, begin + static_cast<std::ptrdiff_t>(count));
    std::optional<EngineError> error;
    Renewed part;
    try {
      part = co_await renews_.call(some, deadline);
      co_await wait_for_undecided(some, part, deadline);
    } catch (EngineError const& thrown) {
      error = thrown;
    }
    if (error) {
      // What failed says nothing of those before it.
      auto const outcome = answers.empty() && part.empty() ? error->outcome() : Outcome::unknown;
      throw failed(error->code(), outcome, error->operation(), error->reason(), error->hint());
    }
    std::ranges::move(part, std::back_inserter(answers));
  }
  co_return answers;
}

/// Alone each may wait for whoever keeps its row.
asio::awaitable<void> PostgresLeaseStore::wait_for_undecided(Renewals const& renewals,
                                                             Renewed& answers, Instant deadline) {
  for (std::size_t i = 0; i < answers.size(); ++i) {
    if (answers[i] || answers[i].error().reason != undecided) continue;
    std::vector<Renewals> alone(1);
    alone.front().push_back(renewals[i]);
    std::vector<Renewed> decided = co_await renew_all(std::move(alone), deadline);
    answers[i] = std::move(decided.front().front());
  }
}

asio::awaitable<std::vector<PostgresLeaseStore::Renewed>> PostgresLeaseStore::renew_all(
    std::vector<Renewals> groups, Instant deadline) {
  Renewals all;
  for (auto const& group : groups) all.insert(all.end(), group.begin(), group.end());
  auto const order =
      order_of(all, [](LeaseRenewal const& renewal) -> auto const& { return renewal.name; });
  std::vector<std::string> names;
  std::vector<std::string> owners;
  std::vector<std::int64_t> ttls;
  for (auto const i : order) {
    names.push_back(all[i].name.text());
    owners.push_back(all[i].owner.text());
    ttls.push_back(to_us(all[i].ttl));
  }
  Parameters parameters;
  parameters.add(instance_).add(patience(deadline)).add(names).add(owners).add(ttls);
  Answer const answer =
      co_await pool_.call(renew_, std::move(parameters), Effect::writes, "renew", deadline);
  Renewed flat(all.size());
  for (std::size_t row = 0; row < order.size(); ++row) {
    flat[order[row]] = renewal_of(answer, static_cast<int>(row));
  }
  std::vector<Renewed> results;
  auto from = flat.begin();
  for (auto const& group : groups) {
    auto const to = from + static_cast<std::ptrdiff_t>(group.size());
    results.emplace_back(from, to);
    from = to;
  }
  co_return results;
}

asio::awaitable<std::expected<void, Lost>> PostgresLeaseStore::release(Name name, Owner owner,
                                                                       Instant deadline) {
  Handle handle(std::move(name), std::move(owner));
  std::expected<void, Lost> answer = co_await releases_.call(std::move(handle), deadline);
  co_return answer;
}

asio::awaitable<std::vector<std::expected<void, Lost>>> PostgresLeaseStore::release_all(
    std::vector<Handle> handles, Instant deadline) {
  auto const order =
      order_of(handles, [](Handle const& handle) -> auto const& { return handle.name; });
  std::vector<std::string> names;
  std::vector<std::string> owners;
  for (auto const i : order) {
    names.push_back(handles[i].name.text());
    owners.push_back(handles[i].owner.text());
  }
  Parameters parameters;
  parameters.add(instance_).add(patience(deadline, handles.size())).add(names).add(owners);
  Answer const answer =
      co_await pool_.call(release_, std::move(parameters), Effect::writes, "release", deadline);
  std::vector<std::expected<void, Lost>> results(handles.size());
  for (std::size_t row = 0; row < order.size(); ++row) {
    auto const code = answer.integer(static_cast<int>(row), 0);
    if (code == 1) continue;
    results[order[row]] =
        std::unexpected(Lost{code == 2 ? LossReason::expired : LossReason::taken, {}});
  }
  co_return results;
}

asio::awaitable<BreakResult> PostgresLeaseStore::break_lease(BreakRequest request,
                                                             Instant deadline) {
  check_text("a reason", request.reason);
  Parameters parameters;
  parameters.add(instance_).add(patience(deadline)).add(request.name.text()).add(request.reason);
  if (request.fence == Fence()) {
    parameters.add_null();
  } else {
    parameters.add(static_cast<std::int64_t>(request.fence.value()));
  }
  parameters.add(request.now);
  Answer const answer =
      co_await pool_.call(break_, std::move(parameters), Effect::writes, "break", deadline);
  switch (answer.integer(0, 0)) {
    case 1:
      co_return BreakResult::asked;
    case 2:
      co_return BreakResult::freed;
    case 3:
      co_return BreakResult::other_fence;
    default:
      co_return BreakResult::not_held;
  }
}

asio::awaitable<std::optional<LeaseInfo>> PostgresLeaseStore::find(Name name, Instant deadline) {
  Parameters parameters;
  parameters.add(instance_).add(name.text());
  Answer const answer =
      co_await pool_.call(find_, std::move(parameters), Effect::reads, "find", deadline);
  if (answer.rows() == 0) co_return std::nullopt;
  co_return info_of(answer, 0);
}

asio::awaitable<LeasePage> PostgresLeaseStore::list(std::string prefix, std::string cursor,
                                                    std::uint32_t limit, Instant deadline) {
  check_page_size(limit);
  // One row more than fits, to know whether there is a next page.
  Parameters parameters;
  parameters.add(instance_).add(prefix).add(cursor).add(static_cast<std::int32_t>(limit + 1));
  Answer const answer =
      co_await reads_.call(list_, std::move(parameters), Effect::reads, "list", deadline);
  LeasePage page;
  for (int row = 0; row < answer.rows() && answer.text(row, 0).starts_with(prefix); ++row) {
    if (page.leases.size() == limit) {
      page.next = page.leases.back().name.text();
      break;
    }
    page.leases.push_back(info_of(answer, row));
  }
  co_return page;
}

asio::awaitable<FenceRaise> PostgresLeaseStore::raise_fence(Instant deadline) {
  Parameters parameters;
  parameters.add(instance_);
  Answer const answer =
      co_await pool_.call(raise_, std::move(parameters), Effect::writes, "raise fence", deadline);
  FenceRaise raised;
  if (!answer.is_null(0, 0))
    raised.before = Fence(static_cast<std::uint64_t>(answer.integer(0, 0)));
  raised.after = Fence(static_cast<std::uint64_t>(answer.integer(0, 1)));
  co_return raised;
}

/// All clients draw from one sequence, so this comes round however short-lived they are.
void PostgresLeaseStore::sweep_now_and_then(Fence fence) {
  if (fence.value() % grants_per_sweep != 0) return;
  asio::co_spawn(env_.executor(), sweep(), [](std::exception_ptr) {});
}

asio::awaitable<void> PostgresLeaseStore::sweep() {
  [[maybe_unused]] Answer const answer = co_await pool_.call(sweep_, Parameters(), Effect::writes,
                                                             "sweep", env_.now() + sweep_patience);
}

}  // namespace holt::postgres
