// SPDX-License-Identifier: Apache-2.0
#include "engines/redis/poll_lease_store.hpp"

#include "base/text_hash.hpp"
#include "contracts/input_rules.hpp"
#include "contracts/polling_names.hpp"
#include "contracts/syncguard.hpp"
#include "engines/redis/key_scan.hpp"
#include "engines/redis/lease_steps.hpp"
#include "engines/redis/poll_values.hpp"
#include "engines/redis/scripting.hpp"
#include "redis_scripts.hpp"

#include <holt/error.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <utility>

namespace holt::redis {
namespace {

using std::chrono::milliseconds;

// So that no call keeps the server for long.
constexpr std::size_t renewals_per_call = 128;
constexpr std::size_t lookups_per_call = 128;

std::string_view word_of(PollKind kind) { return kind == PollKind::node ? "node" : "lease"; }

std::string_view start_of(PollKind kind) {
  return kind == PollKind::node ? node_lease_start : endpoint_lease_start;
}

std::string note_of(PollKind kind, std::string_view id) {
  return kind == PollKind::node ? node_note(id) : std::string(id);
}

Fence fence_of(std::string_view digits) {
  std::uint64_t value = 0;
  std::from_chars(digits.data(), digits.data() + digits.size(), value);
  return Fence(value);
}

/// As we wrote it; that of an original, which has none, is made of its id.
Owner owner_of(std::string_view text, std::string_view id) {
  if (auto owner = Owner::parse(text)) return std::move(*owner);
  constexpr std::size_t random_size = 22;
  return {poll_layout, text_hash(id).substr(0, random_size)};
}

/// A node's key is about the node; whose endpoint it is only its value says.
std::string_view holder_of(PollKind kind, std::string_view id_in_key, std::string_view id) {
  return kind == PollKind::node ? id_in_key : id;
}

std::expected<void, Lost> answer_of(std::int64_t code) {
  if (code == 1) return {};
  return std::unexpected(Lost{code == -2 ? LossReason::expired : LossReason::taken, {}});
}

}  // namespace

std::optional<PollLeaseStore::Subject> PollLeaseStore::subject_of(Name const& name) {
  for (auto const kind : {PollKind::endpoint, PollKind::node}) {
    if (auto const parts = poll_name(name.text(), start_of(kind))) return Subject{kind, parts->id};
  }
  return std::nullopt;
}

void PollLeaseStore::add_keys(ScriptCall& call, Subject const& subject) const {
  call.add(fleet_.start(subject.kind), subject.id);
  call.add(fleet_.side_start(subject.kind), subject.id);
}

void PollLeaseStore::check(LeaseRequest const& request) const {
  check_request(request);
  std::optional<Subject> subject;
  for (auto const& name : request.names) {
    if (auto const found = subject_of(name)) subject = found;
  }
  if (!subject) return native_.check(request);
  if (request.names.size() > 1) {
    refuse_in_layout("a lease of polling together with other names is", poll_layout, "ask for one");
  }
  if (request.delay > Nanos(0)) refuse_in_layout("a lock delay is", poll_layout, "leave it out");
  if (subject->kind == PollKind::node) {
    static_cast<void>(status_in(request.note));
  } else if (request.note.find_first_not_of(" \t\r\n{") != 0) {
    refuse_in_layout(fmt::format("a node with the id \"{}\" is", request.note), poll_layout,
                     "the note of the lease is the node's id, which begins with neither a blank "
                     "nor a brace");
  }
}

asio::awaitable<std::expected<LeaseGrant, Busy>> PollLeaseStore::acquire(LeaseRequest request,
                                                                         Instant deadline) {
  check(request);
  if (!subject_of(request.names.front())) return native_.acquire(std::move(request), deadline);
  return take(std::move(request), deadline);
}

asio::awaitable<std::expected<LeaseGrant, Busy>> PollLeaseStore::take(LeaseRequest request,
                                                                      Instant deadline) {
  auto const subject = *subject_of(request.names.front());
  auto const id = subject.kind == PollKind::node ? status_in(request.note) : request.note;
  ScriptCall call(scripts::poll_acquire, 3, 6);
  add_keys(call, subject);
  call.add(fleet_.counter).add(word_of(subject.kind)).add(request.owner.text()).add(id);
  call.add(fleet_.form == PollForm::json ? go_json(id) : std::string());
  call.add(script_ms(request.ttl)).add(go_time(env_.wall()));
  Reply const reply = co_await run_script(connection_, call, Effect::writes, deadline);
  auto const& answer = *reply;
  if (answer[0].integer() == 1) {
    LeaseGrant granted;
    granted.fences.push_back(fence_of(answer[1].text()));
    co_return granted;
  }
  auto const found = answer[1].text();
  Busy busy;
  busy.note = note_of(subject.kind, found);
  busy.holder = owner_of(answer[2].text(), holder_of(subject.kind, subject.id, found));
  busy.fence = fence_of(answer[3].text());
  busy.expires_in = milliseconds(answer[4].integer());
  co_return std::unexpected(std::move(busy));
}

/// Calls fail apart: what one says is not lost with another.
asio::awaitable<std::vector<std::expected<void, Lost>>> PollLeaseStore::renew(
    std::vector<LeaseRenewal> renewals, Instant deadline) {
  Renewed renewed;
  renewed.answers.resize(renewals.size());
  std::vector<std::size_t> fleets;
  std::vector<std::size_t> others;
  for (std::size_t i = 0; i < renewals.size(); ++i) {
    (subject_of(renewals[i].name) ? fleets : others).push_back(i);
  }
  for (std::size_t begin = 0; begin < fleets.size(); begin += renewals_per_call) {
    auto const size = std::min(renewals_per_call, fleets.size() - begin);
    co_await renew_some(renewals, std::span(fleets).subspan(begin, size), renewed, deadline);
  }
  if (!others.empty()) co_await renew_others(renewals, std::move(others), renewed, deadline);
  if (renewed.failure && renewed.failed == renewals.size()) {
    std::rethrow_exception(renewed.failure);
  }
  co_return std::move(renewed.answers);
}

asio::awaitable<void> PollLeaseStore::renew_some(std::vector<LeaseRenewal> const& renewals,
                                                 std::span<std::size_t const> which,
                                                 Renewed& renewed, Instant deadline) {
  ScriptCall call(scripts::poll_renew, 2 * which.size(), 1 + 3 * which.size());
  for (auto const i : which) add_keys(call, *subject_of(renewals[i].name));
  call.add(go_time(env_.wall()));
  for (auto const i : which) {
    call.add(word_of(subject_of(renewals[i].name)->kind)).add(renewals[i].owner.text());
    call.add(script_ms(renewals[i].ttl));
  }
  try {
    Reply const reply = co_await run_script(connection_, call, Effect::writes, deadline);
    for (std::size_t k = 0; k < which.size(); ++k) {
      renewed.answers[which[k]] = answer_of((*reply)[k].integer());
    }
  } catch (EngineError const& error) {
    for (auto const i : which) {
      renewed.answers[i] = std::unexpected(Lost{LossReason::none, error.what()});
    }
    renewed.failure = std::current_exception();
    renewed.failed += which.size();
  }
}

asio::awaitable<void> PollLeaseStore::renew_others(std::vector<LeaseRenewal> const& renewals,
                                                   std::vector<std::size_t> which, Renewed& renewed,
                                                   Instant deadline) {
  std::vector<LeaseRenewal> others;
  others.reserve(which.size());
  for (auto const i : which) others.push_back(renewals[i]);
  try {
    auto const answers = co_await native_.renew(std::move(others), deadline);
    for (std::size_t k = 0; k < which.size(); ++k) renewed.answers[which[k]] = answers[k];
  } catch (EngineError const& error) {
    for (auto const i : which) {
      renewed.answers[i] = std::unexpected(Lost{LossReason::none, error.what()});
    }
    renewed.failure = std::current_exception();
    renewed.failed += which.size();
  }
}

asio::awaitable<std::int64_t> PollLeaseStore::let_go(Name name, Owner owner, bool tell,
                                                     Instant deadline) {
  auto const subject = *subject_of(name);
  ScriptCall call(scripts::poll_release, 2, 3);
  add_keys(call, subject);
  call.add(word_of(subject.kind)).add(owner.text());
  call.add(tell ? keys_.inbox_channel() : std::string(), tell ? owner.inbox() : std::string_view());
  Reply const reply = co_await run_script(connection_, call, Effect::writes, deadline);
  co_return reply->integer();
}

asio::awaitable<std::expected<void, Lost>> PollLeaseStore::release(Name name, Owner owner,
                                                                   Instant deadline) {
  if (!subject_of(name)) {
    std::expected<void, Lost> answer =
        co_await native_.release(std::move(name), std::move(owner), deadline);
    co_return answer;
  }
  std::int64_t const code = co_await let_go(std::move(name), std::move(owner), false, deadline);
  co_return answer_of(code);
}

/// In the name of the holder that was seen: if it changed meanwhile, the new one is looked at.
asio::awaitable<BreakResult> PollLeaseStore::break_lease(BreakRequest request, Instant deadline) {
  if (!subject_of(request.name)) {
    BreakResult const result = co_await native_.break_lease(std::move(request), deadline);
    co_return result;
  }
  if (!request.now) {
    refuse_in_layout(
        "asking a holder to stop is", poll_layout,
        "wait until its lease ends, or free it at once with --now (BreakOptions::now)");
  }
  while (true) {
    std::optional<LeaseInfo> const seen = co_await find(request.name, deadline);
    if (!seen) co_return BreakResult::not_held;
    if (seen->fence == Fence()) {
      refuse_in_layout(
          fmt::format("breaking the lease of \"{}\", who is not Holt's and would go on, is",
                      seen->note),
          poll_layout, "stop it where it runs, or wait until its time ends");
    }
    if (request.fence != Fence() && request.fence != seen->fence) {
      co_return BreakResult::other_fence;
    }
    std::int64_t const code = co_await let_go(request.name, seen->owner, true, deadline);
    if (code != 0) co_return BreakResult::freed;
  }
}

asio::awaitable<std::optional<LeaseInfo>> PollLeaseStore::find(Name name, Instant deadline) {
  auto const subject = subject_of(name);
  if (!subject) {
    std::optional<LeaseInfo> other = co_await native_.find(std::move(name), deadline);
    co_return other;
  }
  std::vector<std::string> ids{std::string(subject->id)};
  auto head = name.text().substr(0, name.text().size() - subject->id.size());
  std::vector<std::optional<LeaseInfo>> found =
      co_await look_up(subject->kind, std::move(head), std::move(ids), deadline);
  co_return std::move(found.front());
}

asio::awaitable<std::vector<std::optional<LeaseInfo>>> PollLeaseStore::look_up(
    PollKind kind, std::string head, std::vector<std::string> ids, Instant deadline) {
  std::vector<std::optional<LeaseInfo>> found(ids.size());
  if (ids.empty()) co_return found;
  ScriptCall call(scripts::poll_find, 2 * ids.size(), 1);
  for (auto const& id : ids) add_keys(call, Subject{kind, id});
  call.add(word_of(kind));
  Reply const reply = co_await run_script(connection_, call, Effect::reads, deadline);
  for (std::size_t i = 0; i < ids.size(); ++i) {
    auto const entry = (*reply)[i];
    if (!entry.is_array()) continue;
    auto const id = entry[0].text();
    auto const since = parse_go_time(entry[3].text());
    milliseconds const left(entry[5].integer());
    auto const ttl = entry[4].integer();
    found[i] = LeaseInfo{.name = Name(head + ids[i]),
                         .owner = owner_of(entry[1].text(), holder_of(kind, ids[i], id)),
                         .fence = fence_of(entry[2].text()),
                         .offered = false,
                         .acquired_at = since.value_or(std::chrono::system_clock::time_point()),
                         .ttl = ttl < 0 ? left : milliseconds(ttl),
                         .expires_in = left,
                         .waiting = 0,
                         .note = note_of(kind, id),
                         .broken = {}};
  }
  co_return found;
}

/// Adds the first `most` of them. Keys whose ids cannot be in a name are somebody else's.
asio::awaitable<void> PollLeaseStore::list_kind(PollKind kind, std::string prefix,
                                                std::string cursor, std::size_t most,
                                                std::vector<LeaseInfo>& into, Instant deadline) {
  auto const range = poll_range(prefix, start_of(kind));
  if (!range) co_return;
  std::vector<std::string> ids =
      co_await scan_keys(connection_, fleet_.start(kind), range->ids, deadline);
  std::erase_if(ids, [&](std::string const& id) {
    auto const text = range->head + id;
    return id.empty() || (!cursor.empty() && text <= cursor) || !is_name(text);
  });
  auto const enough = into.size() + most;
  for (std::size_t at = 0; at < ids.size() && into.size() < enough; at += lookups_per_call) {
    auto const end = std::min(at + lookups_per_call, ids.size());
    std::vector<std::string> some(ids.begin() + static_cast<std::ptrdiff_t>(at),
                                  ids.begin() + static_cast<std::ptrdiff_t>(end));
    std::vector<std::optional<LeaseInfo>> found =
        co_await look_up(kind, range->head, std::move(some), deadline);
    for (auto& lease : found) {
      if (lease) into.push_back(std::move(*lease));
    }
  }
}

/// The native page, with the fleet's leases where they belong.
asio::awaitable<LeasePage> PollLeaseStore::list(std::string prefix, std::string cursor,
                                                std::uint32_t limit, Instant deadline) {
  check_page_size(limit);
  LeasePage page;
  bool const all_fleets =
      prefix.starts_with(endpoint_lease_start) || prefix.starts_with(node_lease_start);
  if (!all_fleets) page = co_await native_.list(prefix, cursor, limit, deadline);
  // From before this layout was used here.
  std::erase_if(page.leases, [](LeaseInfo const& lease) {
    return lease.name.text().starts_with(endpoint_lease_start) ||
           lease.name.text().starts_with(node_lease_start);
  });
  std::vector<LeaseInfo> fleets;
  for (auto const kind : {PollKind::node, PollKind::endpoint}) {  // in the order of their names
    co_await list_kind(kind, prefix, cursor, std::size_t{limit} + 1, fleets, deadline);
  }
  page.next = merge_pages(page.leases, std::move(page.next), std::move(fleets), limit,
                          [](LeaseInfo const& lease) { return lease.name.text(); });
  co_return page;
}

}  // namespace holt::redis
