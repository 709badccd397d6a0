// SPDX-License-Identifier: Apache-2.0
#pragma once
// What benchmarks on a Redis of their own say of it, and what they count on it.

#include "support/servers/redis_server.hpp"

#include <cstdint>
#include <string>

namespace holt::bench {

/// "Redis 7.0.15 on 127.0.0.1, no persistence; Linux 6.1."
std::string settings_of(test::RedisServer const& server);

/// Counts commands from the server's own statistics.
class CommandStats {
 public:
  explicit CommandStats(test::RedisServer const& server) : client_(server.connect()) {}

  /// That clients sent since the server started. It counts what scripts call as well, so all
  /// commands that scripts of the engine call are left out: clients of locks send none of those.
  std::uint64_t of_clients();
  struct Calls {
    std::uint64_t number = 0;
    double seconds = 0;  ///< that the server spent on them
  };
  /// Of one command, named in lower case, by clients and scripts.
  Calls of(std::string const& command);
  /// That the server has used.
  double cpu_seconds();

 private:
  test::RedisClient client_;
};

}  // namespace holt::bench
