// SPDX-License-Identifier: Apache-2.0
#pragma once
// Names of all shards in one order: leases and records are listed the same way.

#include "engines/redis/servers.hpp"

#include <boost/asio/awaitable.hpp>

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace holt::redis {

/// Some names in byte order, and where to go on.
struct NameBatch {
  std::vector<std::string> names;  ///< may be of what has ended
  std::string next;                ///< the first name to look at then
  bool last = false;               ///< there are no more
};

/// From `first` on, those with the prefix: `count` where they are spread evenly, fewer where many
/// are of one shard. `lists`: one key per shard.
asio::awaitable<NameBatch> list_names(Servers& servers, std::vector<std::string> lists,
                                      std::string prefix, std::string first, std::uint32_t count,
                                      Instant deadline);

/// Whether a sweep of its shard follows this fence or version: of the numbers of each shard about
/// one in 4096, in whatever order shards draw from one counter.
[[nodiscard]] bool calls_for_sweep(std::uint64_t number);

/// Takes names out of a shard's list that have nothing behind them any more: what ended without
/// being removed. Looks at some thousands from `from` on; answers where to go on next time, empty
/// for the beginning. `key_of` says which key stands behind a name.
asio::awaitable<std::string> sweep_names(Servers& servers, std::string list,
                                         std::function<std::string(std::string const&)> key_of,
                                         std::string from, Instant deadline);

}  // namespace holt::redis
