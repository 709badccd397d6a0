// SPDX-License-Identifier: Apache-2.0
#pragma once
// What the server does at most, by redis-benchmark. It repeats one command; of locks that runs both
// of the engine's scripts: whatever it takes it lets go again.

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

/// The least that an add can be, one command for each: RPUSH per second by redis-benchmark, of so
/// many clients that have one under way each.
double pushes_by_redis_benchmark(test::RedisServer const& server, int clients);

}  // namespace holt::bench
