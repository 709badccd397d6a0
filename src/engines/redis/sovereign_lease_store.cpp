// SPDX-License-Identifier: Apache-2.0
#include "engines/redis/sovereign_lease_store.hpp"

#include "base/text_hash.hpp"
#include "contracts/election_names.hpp"
#include "contracts/input_rules.hpp"
#include "contracts/syncguard.hpp"
#include "engines/redis/errors.hpp"
#include "engines/redis/scripting.hpp"
#include "redis_scripts.hpp"

#include <holt/error.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <exception>
#include <utility>

namespace holt::redis {
namespace {

using std::chrono::milliseconds;

/// All of us who wait look when the leader's time ends: Locks does so up to this place.
constexpr std::uint32_t last_place = 3;

/// The key's time to live has whole seconds, and is never shorter than asked for.
std::int64_t seconds_of(Nanos ttl) { return std::chrono::ceil<std::chrono::seconds>(ttl).count(); }

Fence fence_of(std::string_view digits) {
  std::uint64_t value = 0;
  std::from_chars(digits.data(), digits.data() + digits.size(), value);
  return Fence(value);
}

/// As we wrote it; that of an original, which has none, is made of its id.
Owner owner_of(std::string_view text, std::string_view id) {
  if (auto owner = Owner::parse(text)) return std::move(*owner);
  constexpr std::size_t random_size = 22;
  return {sovereign_layout, text_hash(id).substr(0, random_size)};
}

std::expected<void, Lost> answer_of(std::int64_t code) {
  if (code == 1) return {};
  return std::unexpected(Lost{code == -2 ? LossReason::expired : LossReason::taken, {}});
}

}  // namespace

bool SovereignLeaseStore::is_fleets(Name const& name) const {
  if (name == fleet_.lease) return true;
  if (!name.text().starts_with(election_lease_start)) return false;
  throw InvalidArgument(fmt::format(
      "the election \"{}\" is not possible with layout=sovereign, where the one election has the "
      "name of its leader's key: use \"{}\", or another leader_key= in the store's address",
      name.text().substr(election_lease_start.size()), fleet_.leader_key));
}

void SovereignLeaseStore::check(LeaseRequest const& request) const {
  check_request(request);
  bool const ours = std::ranges::count_if(request.names,
                                          [this](Name const& name) { return is_fleets(name); }) > 0;
  if (!ours) return native_.check(request);
  if (request.names.size() > 1) {
    refuse_in_layout("an election together with other names is", sovereign_layout, "ask for one");
  }
  if (request.delay > Nanos(0)) {
    refuse_in_layout("a lock delay is", sovereign_layout, "leave it out");
  }
  if (request.note.empty()) {
    refuse_in_layout("a leader without an id is", sovereign_layout, "use holt elect");
  }
}

ScriptCall SovereignLeaseStore::start(Script const& script, std::string_view owner,
                                      std::size_t words) const {
  ScriptCall call(script, 3, 2 + words);
  call.add(fleet_.leader_key).add(fleet_.side_key).add(fleet_.line_key);
  call.add(owner).add(fleet_.heartbeat_prefix);
  return call;
}

asio::awaitable<std::expected<LeaseGrant, Busy>> SovereignLeaseStore::acquire(LeaseRequest request,
                                                                              Instant deadline) {
  check(request);
  if (!is_fleets(request.names.front())) return native_.acquire(std::move(request), deadline);
  return stand(std::move(request), deadline);
}

asio::awaitable<std::expected<LeaseGrant, Busy>> SovereignLeaseStore::stand(LeaseRequest request,
                                                                            Instant deadline) {
  std::string place_ms;
  if (request.stand_in_line) {
    // Whoever waits must be reachable, or the leader would pass it over.
    co_await signals_.reachable(deadline);
    place_ms = std::to_string(std::chrono::ceil<milliseconds>(request.ticket_ttl).count());
  }
  ScriptCall call = start(scripts::sovereign_acquire, request.owner.text(), 4);
  call.add(request.note).add(seconds_of(request.ttl)).add(place_ms).add(request.priority);
  Reply const reply = co_await run_script(connection_, call, Effect::writes, deadline);
  auto const& answer = *reply;
  if (answer[0].integer() == 1) {
    LeaseGrant granted;
    granted.fences.push_back(fence_of(answer[1].text()));
    co_return granted;
  }
  Busy busy;
  busy.note = answer[1].text();
  busy.holder = owner_of(answer[2].text(), busy.note);
  busy.fence = fence_of(answer[3].text());
  busy.expires_in = milliseconds(answer[4].integer());
  busy.place = std::min(static_cast<std::uint32_t>(answer[5].integer()), last_place);
  co_return std::unexpected(std::move(busy));
}

/// The fleet's lease and the others fail apart.
asio::awaitable<std::vector<std::expected<void, Lost>>> SovereignLeaseStore::renew(
    std::vector<LeaseRenewal> renewals, Instant deadline) {
  std::vector<std::expected<void, Lost>> answers(renewals.size());
  std::vector<LeaseRenewal> others;
  std::vector<std::size_t> places;
  std::exception_ptr failure;
  std::size_t failed = 0;
  for (std::size_t i = 0; i < renewals.size(); ++i) {
    if (!is_fleets(renewals[i].name)) {
      others.push_back(renewals[i]);
      places.push_back(i);
      continue;
    }
    try {
      answers[i] = co_await renew_leader(renewals[i], deadline);
    } catch (EngineError const& error) {
      answers[i] = std::unexpected(Lost{LossReason::none, error.what()});
      failure = std::current_exception();
      ++failed;
    }
  }
  if (!others.empty()) {
    try {
      auto const renewed = co_await native_.renew(std::move(others), deadline);
      for (std::size_t i = 0; i < places.size(); ++i) answers[places[i]] = renewed[i];
    } catch (EngineError const& error) {
      for (auto const i : places)
        answers[i] = std::unexpected(Lost{LossReason::none, error.what()});
      failure = std::current_exception();
      failed += places.size();
    }
  }
  if (failure && failed == renewals.size()) std::rethrow_exception(failure);
  co_return answers;
}

asio::awaitable<std::expected<void, Lost>> SovereignLeaseStore::renew_leader(LeaseRenewal renewal,
                                                                             Instant deadline) {
  ScriptCall call = start(scripts::sovereign_renew, renewal.owner.text(), 1);
  call.add(seconds_of(renewal.ttl));
  Reply const reply = co_await run_script(connection_, call, Effect::writes, deadline);
  co_return answer_of(reply->integer());
}

asio::awaitable<std::int64_t> SovereignLeaseStore::let_go(Owner owner, bool tell,
                                                          Instant deadline) {
  ScriptCall call = start(scripts::sovereign_release, owner.text(), 2);
  call.add(keys_.inbox_channel()).add(tell ? "1" : "0");
  Reply const reply = co_await run_script(connection_, call, Effect::writes, deadline);
  co_return reply->integer();
}

asio::awaitable<std::expected<void, Lost>> SovereignLeaseStore::release(Name name, Owner owner,
                                                                        Instant deadline) {
  if (!is_fleets(name)) {
    std::expected<void, Lost> answer =
        co_await native_.release(std::move(name), std::move(owner), deadline);
    co_return answer;
  }
  std::int64_t const code = co_await let_go(std::move(owner), false, deadline);
  co_return answer_of(code);
}

/// In the name of the leader that was seen: if it changed meanwhile, the new one is looked at.
asio::awaitable<BreakResult> SovereignLeaseStore::break_lease(BreakRequest request,
                                                              Instant deadline) {
  if (!is_fleets(request.name)) {
    BreakResult const result = co_await native_.break_lease(std::move(request), deadline);
    co_return result;
  }
  if (!request.now) {
    refuse_in_layout("asking a leader to stop is", sovereign_layout,
                     "use holt election resign, or free it at once with --now (BreakOptions::now)");
  }
  while (true) {
    std::optional<LeaseInfo> const seen = co_await leader(deadline);
    if (!seen) co_return BreakResult::not_held;
    if (seen->fence == Fence()) {
      refuse_in_layout(
          fmt::format("breaking \"{}\", who is not Holt's and would go on, is", seen->note),
          sovereign_layout, "stop it where it runs, or wait until its time ends");
    }
    if (request.fence != Fence() && request.fence != seen->fence) {
      co_return BreakResult::other_fence;
    }
    std::int64_t const code = co_await let_go(seen->owner, true, deadline);
    if (code != 0) co_return BreakResult::freed;
  }
}

asio::awaitable<std::optional<LeaseInfo>> SovereignLeaseStore::find(Name name, Instant deadline) {
  if (is_fleets(name)) return leader(deadline);
  return native_.find(std::move(name), deadline);
}

asio::awaitable<std::optional<LeaseInfo>> SovereignLeaseStore::leader(Instant deadline) {
  ScriptCall const call = start(scripts::sovereign_find, "", 0);
  Reply const reply = co_await run_script(connection_, call, Effect::reads, deadline);
  std::optional<LeaseInfo> found;
  auto const& answer = *reply;
  if (answer.is_nil()) co_return found;
  auto const id = answer[0].text();
  found = LeaseInfo{
      .name = fleet_.lease,
      .owner = owner_of(answer[1].text(), id),
      .fence = fence_of(answer[2].text()),
      .offered = answer[6].integer() == 1,
      .acquired_at = std::chrono::system_clock::time_point(milliseconds(answer[3].integer())),
      .ttl = milliseconds(answer[4].integer()),
      .expires_in = milliseconds(answer[5].integer()),
      .waiting = static_cast<std::uint32_t>(answer[7].integer()),
      .note = std::string(id),
      .broken = {}};
  co_return found;
}

/// The native page, with the fleet's lease where it belongs and without other elections.
asio::awaitable<LeasePage> SovereignLeaseStore::list(std::string prefix, std::string cursor,
                                                     std::uint32_t limit, Instant deadline) {
  auto const& ours = fleet_.lease.text();
  bool const wanted = ours.starts_with(prefix) && (cursor.empty() || cursor < ours);
  LeasePage page = co_await native_.list(std::move(prefix), std::move(cursor), limit, deadline);
  std::erase_if(page.leases, [](LeaseInfo const& lease) {
    return lease.name.text().starts_with(election_lease_start);
  });
  if (!wanted || (!page.next.empty() && page.next < ours)) co_return page;
  std::optional<LeaseInfo> const found = co_await leader(deadline);
  if (!found) co_return page;
  auto const at = std::ranges::lower_bound(
      page.leases, ours, {}, [](LeaseInfo const& lease) { return lease.name.text(); });
  page.leases.insert(at, *found);
  if (page.leases.size() > limit) {
    page.leases.pop_back();
    page.next = page.leases.back().name.text();
  }
  co_return page;
}

}  // namespace holt::redis
