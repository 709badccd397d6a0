// SPDX-License-Identifier: Apache-2.0
#pragma once
// What `holt doctor` finds in the keys of an instance: how far the fences are, and whether every
// lease has an end.

#include "contracts/engine.hpp"
#include "contracts/env.hpp"
#include "engines/redis/layout.hpp"
#include "engines/redis/servers.hpp"

#include <boost/asio/awaitable.hpp>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace holt::redis {

/// The state of the counters of an instance.
struct Counters {
  std::uint64_t highest = 0;
  unsigned all = 0;              ///< one, or one for each shard
  unsigned used = 0;             ///< those that exist
  std::vector<std::string> odd;  ///< keys whose number is none
  std::uint64_t clock = 0;       ///< the server's, in microseconds
};
[[nodiscard]] Finding fence_finding(Counters const& counters);

/// The keys of leases that were looked at.
struct LeaseKeys {
  std::size_t looked_at = 0;
  bool all = true;  ///< there are no more
  std::vector<std::string> endless;
};
[[nodiscard]] Finding lease_finding(LeaseKeys const& keys);

/// Both, on Env::executor(). Throws EngineError.
asio::awaitable<std::vector<Finding>> stored_findings(Servers& servers, Keys const& keys,
                                                      Instant deadline);

}  // namespace holt::redis
