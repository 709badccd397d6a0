// SPDX-License-Identifier: Apache-2.0
#pragma once
// What `holt doctor` is told about a server.

#include "contracts/engine.hpp"
#include "engines/redis/servers.hpp"

namespace holt::redis {

/// See Engine::diagnose.
asio::awaitable<std::vector<Finding>> diagnose(Env& env, Place const& place, Servers& servers,
                                               std::chrono::nanoseconds patience);

}  // namespace holt::redis
