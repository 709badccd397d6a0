// SPDX-License-Identifier: Apache-2.0
#pragma once
// What the server does at most: redis-benchmark calls the engine's own scripts. It repeats one
// command, so that command runs both scripts: whatever it takes it lets go again.

#include "support/servers/redis_server.hpp"

#include <string>
#include <string_view>

namespace holt::bench {

/// The texts of two scripts that take and let go of `names` names, and how many commands are under
/// way at a time, on one connection.
struct Ceiling {
  std::string_view acquire;
  std::string_view release;
  int names = 1;  ///< 1: the scripts for one; else those for many
  int commands = 1;
};

/// Pairs per second over about a second. Throws if not every name was granted.
double pairs_by_redis_benchmark(test::RedisServer const& server, Ceiling const& ceiling);

}  // namespace holt::bench
