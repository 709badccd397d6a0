// SPDX-License-Identifier: Apache-2.0
#pragma once
// What `holt doctor` is told about a server.

#include "contracts/engine.hpp"
#include "engines/redis/connection.hpp"
#include "engines/redis/layout.hpp"

namespace holt::redis {

/// See Engine::diagnose.
asio::awaitable<std::vector<Finding>> diagnose(Env& env, Place const& place, Connection& connection,
                                               Keys const& keys, std::chrono::nanoseconds patience);

}  // namespace holt::redis
