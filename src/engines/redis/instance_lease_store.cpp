// SPDX-License-Identifier: Apache-2.0
#include "engines/redis/instance_lease_store.hpp"

#include "base/text_hash.hpp"
#include "contracts/instance_names.hpp"
#include "engines/redis/errors.hpp"
#include "engines/redis/lease_steps.hpp"
#include "engines/redis/scripting.hpp"
#include "redis_scripts.hpp"

#include <holt/error.hpp>

#include <algorithm>
#include <utility>

namespace holt::redis {
namespace {

using std::chrono::milliseconds;

constexpr std::size_t most_held = 1024;
// A renewal does not wait longer for its copy, which may be on a node that is away.
constexpr std::chrono::milliseconds copy_patience{500};

bool is_name(Name const& name) { return name.text().starts_with(name_lease_start); }

ScriptCall call_of(Script const& script, Name const& name, std::size_t words) {
  ScriptCall call(script, 1, words);
  call.add("holt:", std::string_view(name.text()).substr(name_lease_start.size()), ":lock");
  return call;
}

/// For a terminal: a stranger may have written anything.
std::string printable(std::string_view value) {
  constexpr std::size_t longest = 256;
  std::string text(value.substr(0, longest));
  std::ranges::replace_if(text, [](char c) { return c < ' ' || c > '~'; }, '?');
  return text;
}

Busy stranger(std::string_view value, std::int64_t lives_ms, Nanos ttl) {
  constexpr std::size_t random_size = 22;
  Busy busy;
  busy.holder = Owner("stranger", text_hash(value).substr(0, random_size));
  busy.note = printable(value);
  // One without an end is looked at again.
  busy.expires_in = lives_ms < 0 ? std::chrono::ceil<milliseconds>(ttl) : milliseconds(lives_ms);
  return busy;
}

}  // namespace

// What is held.

std::optional<InstanceLeaseStore::Held> InstanceLeaseStore::held(Name const& name,
                                                                 Owner const& owner) const {
  auto const found = std::ranges::find_if(
      held_, [&](Held const& grant) { return grant.owner == owner && grant.name == name; });
  if (found == held_.end()) return std::nullopt;
  return *found;
}

void InstanceLeaseStore::remember(Held grant) {
  forget(grant.name, grant.owner);
  if (held_.size() >= most_held) held_.erase(held_.begin());
  held_.push_back(std::move(grant));
}

void InstanceLeaseStore::forget(Name const& name, Owner const& owner) {
  std::erase_if(held_,
                [&](Held const& grant) { return grant.owner == owner && grant.name == name; });
}

// The copy.

asio::awaitable<std::optional<Busy>> InstanceLeaseStore::write_copy(Held grant, Nanos ttl,
                                                                    Instant deadline) {
  ScriptCall call = call_of(scripts::instance_lock, grant.name, 3);
  call.add(grant.note).add(grant.fence.padded()).add(script_ms(ttl));
  Reply const reply = co_await run_script(servers_, call, writing, deadline);
  std::optional<Busy> in_the_way;
  auto const& answer = *reply;
  if (answer[0].integer() == 2) {
    in_the_way = stranger(answer[1].text(), answer[2].integer(), ttl);
  }
  co_return in_the_way;
}

asio::awaitable<void> InstanceLeaseStore::delete_copy(Name name, Fence fence, Instant deadline) {
  ScriptCall call = call_of(scripts::instance_unlock, name, 1);
  call.add(fence.padded());
  try {
    [[maybe_unused]] Reply const reply = co_await run_script(servers_, call, writing, deadline);
  } catch (EngineError const&) {
    co_return;  // it ends by itself
  }
}

asio::awaitable<void> InstanceLeaseStore::renew_copy(Held grant, Nanos ttl, Instant deadline) {
  try {
    [[maybe_unused]] std::optional<Busy> const in_the_way =
        co_await write_copy(std::move(grant), ttl, deadline);
  } catch (EngineError const&) {
    co_return;  // the next renewal tries again
  }
}

// The lease.

asio::awaitable<std::expected<LeaseGrant, Busy>> InstanceLeaseStore::acquire(LeaseRequest request,
                                                                             Instant deadline) {
  std::expected<LeaseGrant, Busy> granted = co_await native_.acquire(request, deadline);
  if (!granted) co_return granted;
  for (std::size_t i = 0; i < request.names.size(); ++i) {
    if (!is_name(request.names[i])) continue;
    Held grant(request.names[i], request.owner, granted->fences[i], request.note);
    auto const before = held(grant.name, grant.owner);
    remember(grant);
    if (before && before->fence == grant.fence) {
      co_await renew_copy(std::move(grant), request.ttl, deadline);
      continue;
    }
    std::optional<Busy> in_the_way;
    std::optional<EngineError> failure;
    try {
      in_the_way = co_await write_copy(std::move(grant), request.ttl, deadline);
    } catch (EngineError const& error) {
      failure = error;
    }
    if (!in_the_way && !failure) continue;
    Outcome const outcome = co_await give_back(request, deadline);
    if (failure) {
      throw failed(failure->code(), outcome, "acquire", failure->reason(), failure->hint());
    }
    if (outcome == Outcome::unknown) {
      throw failed(ErrorCode::service_unavailable, outcome, "acquire",
                   "somebody else has the name, and what was granted could not be given back");
    }
    co_return std::unexpected(std::move(*in_the_way));
  }
  co_return granted;
}

asio::awaitable<Outcome> InstanceLeaseStore::give_back(LeaseRequest const& request,
                                                       Instant deadline) {
  auto outcome = Outcome::not_applied;
  for (auto const& name : request.names) {
    try {
      [[maybe_unused]] std::expected<void, Lost> const gone =
          co_await release(name, request.owner, deadline);
    } catch (EngineError const&) {
      forget(name, request.owner);
      outcome = Outcome::unknown;
    }
  }
  co_return outcome;
}

asio::awaitable<std::vector<std::expected<void, Lost>>> InstanceLeaseStore::renew(
    std::vector<LeaseRenewal> renewals, Instant deadline) {
  std::vector<std::expected<void, Lost>> answers = co_await native_.renew(renewals, deadline);
  auto const soon = std::min(deadline, env_.now() + copy_patience);
  for (std::size_t i = 0; i < renewals.size(); ++i) {
    auto grant = held(renewals[i].name, renewals[i].owner);
    if (!grant) continue;
    if (answers[i]) {
      co_await renew_copy(std::move(*grant), renewals[i].ttl, soon);
    } else if (answers[i].error().reason == LossReason::expired ||
               answers[i].error().reason == LossReason::taken) {
      // Who was asked to stop still holds it, and whose answer got lost may.
      forget(renewals[i].name, renewals[i].owner);
    }
  }
  co_return answers;
}

asio::awaitable<std::expected<void, Lost>> InstanceLeaseStore::release(Name name, Owner owner,
                                                                       Instant deadline) {
  std::expected<void, Lost> answer = co_await native_.release(name, owner, deadline);
  if (auto const grant = held(name, owner)) {
    forget(name, owner);
    co_await delete_copy(std::move(name), grant->fence, deadline);
  }
  co_return answer;
}

/// Whose copy goes with it is known before; if another has the name by then, its fence is above.
asio::awaitable<BreakResult> InstanceLeaseStore::break_lease(BreakRequest request,
                                                             Instant deadline) {
  std::optional<LeaseInfo> seen;
  if (is_name(request.name)) seen = co_await native_.find(request.name, deadline);
  BreakResult const result = co_await native_.break_lease(request, deadline);
  if (seen && result == BreakResult::freed) {
    co_await delete_copy(std::move(request.name), seen->fence, deadline);
  }
  co_return result;
}

}  // namespace holt::redis
