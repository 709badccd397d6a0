// SPDX-License-Identifier: Apache-2.0
#include "engines/redis/syncguard_lease_store.hpp"

#include "contracts/syncguard.hpp"
#include "engines/redis/errors.hpp"
#include "engines/redis/scripting.hpp"
#include "redis_scripts.hpp"

#include <holt/error.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace holt::redis {
namespace {

constexpr std::size_t renewals_per_call = 128;  // so that no call keeps the server for long
constexpr std::size_t lookups_per_call = 128;
constexpr std::string_view keys_per_scan = "512";

[[noreturn]] void not_a_lock(std::string_view operation, std::string_view key) {
  throw failed(ErrorCode::internal, Outcome::not_applied, operation,
               fmt::format("what is stored in {} was not written by SyncGuard or Holt", key),
               "somebody else uses keys with this prefix, or a lock has the name of a counter: "
               "remove the key when nobody needs it");
}

std::optional<LeaseInfo> info_of(ReplyView const& found) {
  return syncguard_info({.lock_id = found[0].text(),
                         .name = found[1].text(),
                         .fence = found[2].text(),
                         .acquired_ms = found[3].integer(),
                         .ttl_ms = found[4].integer(),
                         .left_ms = found[5].integer()});
}

}  // namespace

/// A page in the making.
struct SyncguardLeaseStore::Listing {
  Listing(std::string start, std::string after, std::uint32_t count)
      : prefix(std::move(start)), cursor(std::move(after)), limit(count) {}

  [[nodiscard]] bool wants(std::string_view name) const {
    if (!name.starts_with(prefix) || (!cursor.empty() && name <= cursor)) return false;
    return found.size() <= limit || name < std::prev(found.end())->first;
  }
  void add(LeaseInfo lease) {
    if (!wants(lease.name.text())) return;
    auto name = lease.name.text();
    found.insert_or_assign(std::move(name), std::move(lease));
    if (found.size() > limit + 1) found.erase(std::prev(found.end()));
  }
  [[nodiscard]] LeasePage page() && {
    bool const more = found.size() > limit;
    if (more) found.erase(std::prev(found.end()));
    LeasePage page;
    for (auto& [name, lease] : found) page.leases.push_back(std::move(lease));
    if (more) page.next = page.leases.back().name.text();
    return page;
  }

  std::string prefix;
  std::string cursor;
  std::uint32_t limit;
  std::map<std::string, LeaseInfo> found;  ///< by name, the first ones, one more than the page has
};

LeaseGrant SyncguardLeaseStore::grant(Name const& name, std::string_view digits) const {
  auto const fence = parse_syncguard_fence(digits);
  if (!fence) not_a_lock("acquire", keys_.lock(name.text()));
  LeaseGrant granted;
  granted.fences.push_back(*fence);
  granted.warning = syncguard_warning(*fence, keys_.layout().fences);
  return granted;
}

asio::awaitable<std::expected<LeaseGrant, Busy>> SyncguardLeaseStore::acquire(LeaseRequest request,
                                                                              Instant deadline) {
  auto const& layout = keys_.layout();
  check_syncguard_request(request, layout.name);
  auto const& name = request.names.front();
  keys_.check(name);
  std::string const id(syncguard_lock_id(request.owner));
  ScriptCall call(scripts::syncguard_acquire, 3, 6);
  call.add(keys_.lock(name.text())).add(keys_.index(id)).add(keys_.counter(name.text()));
  call.add(id).add(syncguard_ms(request.ttl)).add(keys_.indexed(name.text())).add(name.text());
  call.add(layout.fences.digits).add(layout.fences.last.value());
  Reply const reply = co_await run_script(connection_, call, Effect::writes, deadline);
  auto const code = (*reply)[0].integer();
  if (code == -1) not_a_lock("acquire", (*reply)[1].text());
  if (code == -2) {
    throw failed(ErrorCode::internal, Outcome::not_applied, "acquire",
                 syncguard_used_up(name, layout.fences), syncguard_used_up_hint);
  }
  if (code == 1) co_return grant(name, (*reply)[1].text());
  co_return std::unexpected(
      syncguard_busy((*reply)[1].text(), (*reply)[2].text(), (*reply)[3].integer()));
}

asio::awaitable<std::vector<std::expected<void, Lost>>> SyncguardLeaseStore::renew(
    std::vector<LeaseRenewal> renewals, Instant deadline) {
  for (auto const& renewal : renewals) keys_.check(renewal.name);
  std::vector<std::expected<void, Lost>> answers;
  answers.reserve(renewals.size());
  while (answers.size() < renewals.size()) {
    auto const begin = answers.size();
    auto const end = std::min(begin + renewals_per_call, renewals.size());
    ScriptCall call(scripts::syncguard_renew, 2 * (end - begin), 3 * (end - begin));
    for (auto i = begin; i < end; ++i) {
      call.add(keys_.lock(renewals[i].name.text()))
          .add(keys_.index(syncguard_lock_id(renewals[i].owner)));
    }
    for (auto i = begin; i < end; ++i) {
      call.add(syncguard_lock_id(renewals[i].owner)).add(syncguard_ms(renewals[i].ttl));
      call.add(keys_.indexed(renewals[i].name.text()));
    }
    Reply const reply = co_await run_script(connection_, call, Effect::writes, deadline);
    for (std::size_t i = 0; i < end - begin; ++i) {
      answers.push_back(syncguard_answer((*reply)[i].integer()));
    }
  }
  co_return answers;
}

asio::awaitable<std::int64_t> SyncguardLeaseStore::let_go(Name name, std::string lock_id,
                                                          Instant deadline) {
  ScriptCall call(scripts::syncguard_release, 2, 2);
  call.add(keys_.lock(name.text())).add(keys_.index(lock_id));
  call.add(lock_id).add(keys_.indexed(name.text()));
  Reply const reply = co_await run_script(connection_, call, Effect::writes, deadline);
  co_return reply->integer();
}

asio::awaitable<std::expected<void, Lost>> SyncguardLeaseStore::release(Name name, Owner owner,
                                                                        Instant deadline) {
  keys_.check(name);
  std::string id(syncguard_lock_id(owner));
  std::int64_t const code = co_await let_go(std::move(name), std::move(id), deadline);
  co_return syncguard_answer(code);
}

/// In the name of the holder that was seen: if it changed meanwhile, the new one is looked at.
asio::awaitable<BreakResult> SyncguardLeaseStore::break_lease(BreakRequest request,
                                                              Instant deadline) {
  keys_.check(request.name);
  check_syncguard_break(request, keys_.layout().name);
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
  keys_.check(name);
  ScriptCall call(scripts::syncguard_find, 1, 0);
  call.add(keys_.lock(name.text()));
  Reply const reply = co_await run_script(connection_, call, Effect::reads, deadline);
  std::optional<LeaseInfo> found;
  auto const entry = (*reply)[0];
  if (entry.is_nil()) co_return found;
  if (!entry.is_array()) not_a_lock("find", keys_.lock(name.text()));
  if (entry.size() > 1) {
    found = info_of(entry);
    if (!found) not_a_lock("find", keys_.lock(name.text()));
  } else if (cleanup_) {
    std::string id(entry[0].text());
    co_await remove_ended(std::move(name), std::move(id), deadline);
  }
  co_return found;
}

/// Changes no answer, whatever comes of it.
asio::awaitable<void> SyncguardLeaseStore::remove_ended(Name name, std::string lock_id,
                                                        Instant deadline) {
  try {
    [[maybe_unused]] std::int64_t const code =
        co_await let_go(std::move(name), std::move(lock_id), deadline);
  } catch (EngineError const&) {
    co_return;
  }
}

asio::awaitable<void> SyncguardLeaseStore::look_up(std::vector<std::string> keys, Listing& into,
                                                   Instant deadline) {
  for (std::size_t begin = 0; begin < keys.size(); begin += lookups_per_call) {
    auto const end = std::min(begin + lookups_per_call, keys.size());
    ScriptCall call(scripts::syncguard_find, end - begin, 0);
    for (auto i = begin; i < end; ++i) call.add(keys[i]);
    Reply const reply = co_await run_script(connection_, call, Effect::reads, deadline);
    for (std::size_t i = 0; i < end - begin; ++i) {
      auto const entry = (*reply)[i];
      if (!entry.is_array() || entry.size() == 1) continue;
      auto lease = info_of(entry);
      // Another fleet's prefix may begin with ours.
      if (!lease || keys_.lock(lease->name.text()) != keys[begin + i]) continue;
      into.add(std::move(*lease));
    }
  }
}

asio::awaitable<LeasePage> SyncguardLeaseStore::list(std::string prefix, std::string cursor,
                                                     std::uint32_t limit, Instant deadline) {
  check_page_size(limit);
  auto const pattern = keys_.pattern(prefix);
  Listing listing(std::move(prefix), std::move(cursor), limit);
  std::string position = "0";
  do {
    auto scan = command("SCAN", position, "MATCH", pattern, "COUNT", keys_per_scan);
    Reply const reply =
        co_await run_command(connection_, std::move(scan), Effect::reads, "list", deadline);
    position = (*reply)[0].text();
    auto const seen = (*reply)[1];
    std::vector<std::string> keys;
    for (std::size_t i = 0; i < seen.size(); ++i) {
      auto const name = keys_.name_in(seen[i].text());
      if (name && (!keys_.never_cut() || listing.wants(*name))) keys.emplace_back(seen[i].text());
    }
    co_await look_up(std::move(keys), listing, deadline);
  } while (position != "0");
  co_return std::move(listing).page();
}

}  // namespace holt::redis
