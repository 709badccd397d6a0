// SPDX-License-Identifier: Apache-2.0
#pragma once
// What `holt doctor` is told about a server.

#include "contracts/engine.hpp"
#include "engines/redis/servers.hpp"

namespace holt::redis {

/// See Engine::diagnose. `keys`: null where leases are in another layout.
asio::awaitable<std::vector<Finding>> diagnose(Env& env, Place const& place, Servers& servers,
                                               Keys const* keys, std::chrono::nanoseconds patience);

}  // namespace holt::redis
