// SPDX-License-Identifier: Apache-2.0
#pragma once
// What `holt doctor` is told about a PostgreSQL server.

#include "contracts/engine.hpp"
#include "engines/postgres/place.hpp"
#include "engines/postgres/pool.hpp"
#include "engines/postgres/signal_bus.hpp"

#include <vector>

namespace holt::postgres {

/// See Engine::diagnose. `reads`: where listings are read, if not at `pool`.
asio::awaitable<std::vector<Finding>> diagnose(Env& env, Place const& place, Pool& pool,
                                               Pool* reads, PostgresSignalBus& signals,
                                               std::chrono::nanoseconds patience);

}  // namespace holt::postgres
