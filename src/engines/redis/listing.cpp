// SPDX-License-Identifier: Apache-2.0
#include "engines/redis/listing.hpp"

#include "engines/redis/scripting.hpp"
#include "engines/redis/together.hpp"
#include "redis_scripts.hpp"

#include <xxhash.h>

#include <algorithm>
#include <iterator>
#include <span>
#include <utility>

namespace holt::redis {
namespace {

// A list is looked through after about 4096 names that came in: twice as many must be looked at, or
// it would grow for ever where nobody removes what he added.
constexpr std::uint64_t drawn_per_sweep = 4096;
constexpr int sweep_steps = 32;
constexpr std::uint32_t swept_at_once = 256;  // so that no call keeps the server for long

/// How many names of each list make most of a page of `count`, however uneven they are spread. Not
/// `count` of each: that would keep the server for many times as long as a call may.
std::uint32_t share_of(std::uint32_t count, std::size_t lists) {
  constexpr std::uint32_t room = 8;
  return std::min(count, count / static_cast<std::uint32_t>(lists) + room);
}

/// The names that each list has.
using Names = std::vector<std::vector<std::string>>;

/// Of lists that are in one slot, or on a single server.
asio::awaitable<void> read_lists(Servers& servers, std::span<std::string const> lists,
                                 std::string_view first, std::uint32_t count,
                                 std::span<std::vector<std::string>> into, Instant deadline) {
  ScriptCall call(scripts::list, lists.size(), 2);
  for (auto const& list : lists) call.add(list);
  call.add(first).add(count);
  Reply const reply = co_await run_script(servers, call, reading, deadline);
  for (std::size_t i = 0; i < lists.size(); ++i) {
    auto const names = (*reply)[i];
    for (std::size_t n = 0; n < names.size(); ++n) into[i].emplace_back(names[n].text());
  }
}

/// A shard that gave all it was asked for may have more: beyond the last name of such a shard the
/// order is not known yet.
NameBatch merged(Names found, std::string_view prefix, std::uint32_t count) {
  auto const share = share_of(count, found.size());
  NameBatch batch;
  std::string known_to;
  bool all = true;
  for (auto& names : found) {
    if (names.size() >= share) {
      if (all || names.back() < known_to) known_to = names.back();
      all = false;
    }
    std::ranges::move(names, std::back_inserter(batch.names));
  }
  std::ranges::sort(batch.names);
  if (!all) std::erase_if(batch.names, [&](auto const& name) { return name > known_to; });
  batch.next = known_to + '\0';
  auto const beyond = std::ranges::find_if(
      batch.names, [&](auto const& name) { return !name.starts_with(prefix); });
  batch.last = all || beyond != batch.names.end();
  batch.names.erase(beyond, batch.names.end());
  if (batch.names.size() > count) {
    batch.names.resize(count);
    batch.next = batch.names.back() + '\0';
    batch.last = false;
  }
  return batch;
}

}  // namespace

asio::awaitable<NameBatch> list_names(Servers& servers, std::vector<std::string> lists,
                                      std::string prefix, std::string first, std::uint32_t count,
                                      Instant deadline) {
  auto const share = share_of(count, lists.size());
  Names found(lists.size());
  std::span<std::string const> const all(lists);
  std::span<std::vector<std::string>> const into(found);
  if (servers.are_cluster()) {
    std::vector<asio::awaitable<void>> calls;
    calls.reserve(lists.size());
    for (std::size_t i = 0; i < lists.size(); ++i) {
      calls.push_back(
          read_lists(servers, all.subspan(i, 1), first, share, into.subspan(i, 1), deadline));
    }
    co_await together(std::move(calls));
  } else {
    co_await read_lists(servers, all, first, share, into, deadline);
  }
  co_return merged(std::move(found), prefix, count);
}

bool calls_for_sweep(std::uint64_t number) {
  return XXH64(&number, sizeof number, 0) % drawn_per_sweep == 0;
}

asio::awaitable<std::string> sweep_names(Servers& servers, std::string list,
                                         std::function<std::string(std::string const&)> key_of,
                                         std::string from, Instant deadline) {
  for (int step = 0; step < sweep_steps; ++step) {
    std::vector<std::string> lists{list};
    NameBatch batch = co_await list_names(servers, std::move(lists), std::string(), from,
                                          swept_at_once, deadline);
    ScriptCall call(scripts::sweep, 1 + batch.names.size(), batch.names.size());
    call.add(list);
    for (auto const& name : batch.names) call.add(key_of(name));
    for (auto const& name : batch.names) call.add(name);
    [[maybe_unused]] Reply const reply = co_await run_script(servers, call, writing, deadline);
    from = batch.last ? std::string() : std::move(batch.next);
    if (batch.last) break;
  }
  co_return from;
}

}  // namespace holt::redis
