// SPDX-License-Identifier: Apache-2.0
#pragma once
// What is said before the first call: who we are, which database, and what kind of server this is.

#include "engines/redis/place.hpp"
#include "engines/redis/reply.hpp"

#include <functional>
#include <string>
#include <vector>

namespace holt::redis {

/// What the server told about itself.
struct Greeting {
  std::string role;      ///< master or slave, as the server says it
  std::string identity;  ///< master_replid
  std::string version;
  std::string eviction;  ///< maxmemory-policy
};

struct GreetingStep {
  std::string command;
  /// Throws EngineError if the answer is no good.
  std::function<void(ReplyView const&, Greeting&)> take;
};

[[nodiscard]] std::vector<GreetingStep> greeting_steps(Place const& place);

/// Throws EngineError when this server must not be used.
void check(Greeting const& greeting, Place const& place);

}  // namespace holt::redis
