// SPDX-License-Identifier: Apache-2.0
#include "engines/redis/syncguard_lease_store.hpp"

#include "contracts/input_rules.hpp"
#include "engines/redis/errors.hpp"
#include "engines/redis/scripting.hpp"
#include "redis_scripts.hpp"

#include <holt/error.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <utility>

namespace holt::redis {
namespace {

using std::chrono::ceil;
using std::chrono::milliseconds;

constexpr std::size_t renewals_per_call = 128;  // so that no call keeps the server for long
constexpr std::size_t lookups_per_call = 128;
constexpr std::string_view keys_per_scan = "512";
// Whatever a caller thinks "for ever" is: SyncGuard's scripts write times in 14 digits.
constexpr std::int64_t longest_ms = std::int64_t{1} << 42U;

std::int64_t ms(Nanos span) {
  return std::clamp<std::int64_t>(ceil<milliseconds>(span).count(), 1, longest_ms);
}

[[noreturn]] void refuse(std::string_view what, SyncguardLayout const& layout,
                         std::string_view instead) {
  throw InvalidArgument(fmt::format("{} not possible with layout={}, which has no place for it: {}",
                                    what, layout.name, instead));
}

[[noreturn]] void not_a_lock(std::string_view operation, std::string_view key) {
  throw failed(ErrorCode::internal, Outcome::not_applied, operation,
               fmt::format("what is stored in {} was not written by SyncGuard or Holt", key),
               "somebody else uses keys with this prefix, or a lock has the name of a counter: "
               "remove the key when nobody needs it");
}

[[noreturn]] void used_up(Name const& name, SyncguardLayout const& layout) {
  throw failed(ErrorCode::internal, Outcome::not_applied, "acquire",
               fmt::format("the fences of \"{}\" are used up: its counter has reached {}",
                           name.text(), layout.last_fence.decimal()),
               "use another name for this lock, in all programs at once");
}

std::optional<Fence> parse_fence(std::string_view digits) {
  std::uint64_t value = 0;
  auto const [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  if (error != std::errc() || end != digits.data() + digits.size()) return std::nullopt;
  return Fence(value);
}

/// Nothing: not what SyncGuard writes.
std::optional<LeaseInfo> info_of(ReplyView const& found) {
  auto owner = owner_of(found[0].text());
  auto name = Name::parse(found[1].text());
  auto const fence = parse_fence(found[2].text());
  if (!owner || !name || !fence) return std::nullopt;
  return LeaseInfo{
      .name = std::move(*name),
      .owner = std::move(*owner),
      .fence = *fence,
      .offered = false,
      .acquired_at = std::chrono::system_clock::time_point(milliseconds(found[3].integer())),
      .ttl = milliseconds(found[4].integer()),
      .expires_in = milliseconds(std::max<std::int64_t>(found[5].integer(), 0)),
      .waiting = 0,
      .note = {},
      .broken = {}};
}

std::expected<void, Lost> answer_of(std::int64_t code) {
  if (code == 1) return {};
  return std::unexpected(Lost{code == -2 ? LossReason::expired : LossReason::taken, {}});
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
  auto const fence = parse_fence(digits);
  if (!fence) not_a_lock("acquire", keys_.lock(name.text()));
  LeaseGrant granted;
  granted.fences.push_back(*fence);
  if (*fence > keys_.layout().warn_above) {
    granted.warning = fmt::format("fence {} of at most {}: change the lock's name before they end",
                                  fence->decimal(), keys_.layout().last_fence.decimal());
  }
  return granted;
}

asio::awaitable<std::expected<LeaseGrant, Busy>> SyncguardLeaseStore::acquire(LeaseRequest request,
                                                                              Instant deadline) {
  check_request(request);
  auto const& layout = keys_.layout();
  if (request.names.size() > 1) refuse("several names at once are", layout, "ask for one");
  if (request.delay > Nanos(0)) refuse("a rest after an expiry is", layout, "leave it out");
  if (request.priority != LeaseRequest::usual_priority) {
    refuse("a priority is", layout, "leave it out");
  }
  auto const& name = request.names.front();
  keys_.check(name);
  std::string const id(lock_id(request.owner));
  ScriptCall call(scripts::syncguard_acquire, 3, 6);
  call.add(keys_.lock(name.text())).add(keys_.index(id)).add(keys_.counter(name.text()));
  call.add(id).add(ms(request.ttl)).add(keys_.indexed(name.text())).add(name.text());
  call.add(layout.fence_digits).add(layout.last_fence.value());
  Reply const reply = co_await run_script(connection_, call, Effect::writes, deadline);
  auto const code = (*reply)[0].integer();
  if (code == -1) not_a_lock("acquire", (*reply)[1].text());
  if (code == -2) used_up(name, layout);
  if (code == 1) co_return grant(name, (*reply)[1].text());
  Busy busy;
  // Whoever wrote it, the name is taken.
  busy.holder = owner_of((*reply)[1].text()).value_or(Owner());
  busy.fence = parse_fence((*reply)[2].text()).value_or(Fence());
  busy.expires_in = milliseconds((*reply)[3].integer());
  co_return std::unexpected(std::move(busy));
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
      call.add(keys_.lock(renewals[i].name.text())).add(keys_.index(lock_id(renewals[i].owner)));
    }
    for (auto i = begin; i < end; ++i) {
      call.add(lock_id(renewals[i].owner)).add(ms(renewals[i].ttl));
      call.add(keys_.indexed(renewals[i].name.text()));
    }
    Reply const reply = co_await run_script(connection_, call, Effect::writes, deadline);
    for (std::size_t i = 0; i < end - begin; ++i) {
      answers.push_back(answer_of((*reply)[i].integer()));
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
  std::string id(lock_id(owner));
  std::int64_t const code = co_await let_go(std::move(name), std::move(id), deadline);
  co_return answer_of(code);
}

/// In the name of the holder that was seen: if it changed meanwhile, the new one is looked at.
asio::awaitable<BreakResult> SyncguardLeaseStore::break_lease(BreakRequest request,
                                                              Instant deadline) {
  keys_.check(request.name);
  if (!request.now) {
    refuse("asking a holder to stop is", keys_.layout(),
           "wait until its lease ends, or free it at once with --now (BreakOptions::now)");
  }
  while (true) {
    std::optional<LeaseInfo> const held = co_await find(request.name, deadline);
    if (!held) co_return BreakResult::not_held;
    if (request.fence != Fence() && request.fence != held->fence) {
      co_return BreakResult::other_fence;
    }
    std::string id(lock_id(held->owner));
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
