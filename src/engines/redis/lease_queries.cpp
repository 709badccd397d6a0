// SPDX-License-Identifier: Apache-2.0
// What a lease store is asked: looks at names, listings, and the sweep that keeps those short.

#include "contracts/input_rules.hpp"
#include "engines/redis/errors.hpp"
#include "engines/redis/lease_store.hpp"
#include "engines/redis/listing.hpp"
#include "engines/redis/scripting.hpp"
#include "redis_scripts.hpp"

#include <algorithm>
#include <utility>

namespace holt::redis {
namespace {

using std::chrono::milliseconds;

constexpr std::size_t lookups_per_call = 256;
constexpr std::chrono::seconds sweep_patience{5};

LeaseInfo info_of(std::string const& name, LeaseRecord const& record, ReplyView const& found) {
  return {
      .name = Name(name),
      .owner = record.owner,
      .fence = record.fence,
      .offered = record.offered,
      .acquired_at = std::chrono::system_clock::time_point(milliseconds(record.acquired_ms)),
      .ttl = milliseconds(record.ttl_ms),
      .expires_in = milliseconds(std::max<std::int64_t>(found[1].integer() - record.delay_ms, 0)),
      .waiting = static_cast<std::uint32_t>(found[2].integer()),
      .note = std::string(record.note),
      .broken = std::string(record.broken)};
}

}  // namespace

asio::awaitable<std::vector<std::optional<LeaseInfo>>> RedisLeaseStore::look_up(
    std::vector<std::string> names, Instant deadline) {
  std::vector<std::optional<LeaseInfo>> found(names.size());
  std::vector<Chunk> const chunks = divided(
      names.size(), lookups_per_call, [&](std::size_t i) -> std::string_view { return names[i]; });
  std::vector<asio::awaitable<void>> calls;
  calls.reserve(chunks.size());
  for (auto const& chunk : chunks) calls.push_back(look_up_some(names, chunk, found, deadline));
  co_await run_all(std::move(calls));
  co_return found;
}

asio::awaitable<void> RedisLeaseStore::look_up_some(std::vector<std::string> const& names,
                                                    Chunk const& which,
                                                    std::vector<std::optional<LeaseInfo>>& found,
                                                    Instant deadline) {
  ScriptCall call(scripts::find, 2 * which.size(), 0);
  for (auto const i : which) {
    keys_.add_lease(names[i], call);
    keys_.add_until(names[i], call);
  }
  Reply const reply = co_await run_script(servers_, call, reading, deadline);
  for (std::size_t i = 0; i < which.size(); ++i) {
    auto const entry = (*reply)[i];
    if (!entry.is_array()) continue;
    auto const& name = names[which[i]];
    auto const record = parse_record(entry[0].text());
    if (!record) not_ours("find", name);
    found[which[i]] = info_of(name, *record, entry);
  }
}

asio::awaitable<std::optional<LeaseInfo>> RedisLeaseStore::find(Name name, Instant deadline) {
  std::vector<std::string> names{name.text()};
  std::vector<std::optional<LeaseInfo>> found = co_await look_up(std::move(names), deadline);
  co_return std::move(found.front());
}

asio::awaitable<LeasePage> RedisLeaseStore::list(std::string prefix, std::string cursor,
                                                 std::uint32_t limit, Instant deadline) {
  check_page_size(limit);
  LeasePage page;
  auto first = first_of_page(prefix, cursor);
  for (bool last = false; !last && page.leases.size() <= limit;) {
    std::vector<std::string> lists = keys_.all_names();
    NameBatch batch = co_await list_names(servers_, std::move(lists), prefix, std::move(first),
                                          limit + 1, deadline);
    std::vector<std::optional<LeaseInfo>> found =
        co_await look_up(std::move(batch.names), deadline);
    for (auto& lease : found) {
      if (lease) page.leases.push_back(std::move(*lease));
    }
    first = std::move(batch.next);
    last = batch.last;
  }
  if (page.leases.size() > limit) {
    page.leases.erase(page.leases.begin() + limit, page.leases.end());
    page.next = page.leases.back().name.text();
  }
  co_return page;
}

/// Behind a grant now and then: names whose holders died and that nobody asked for again.
asio::awaitable<void> RedisLeaseStore::sweep(unsigned shard) {
  auto const deadline = env_.now() + sweep_patience;
  auto const key_of = [this](std::string const& name) { return keys_.lease(name); };
  auto& from = sweep_from_[shard];
  from = co_await sweep_names(servers_, keys_.names(shard), key_of, from, deadline);
}

}  // namespace holt::redis
