// SPDX-License-Identifier: Apache-2.0
#pragma once
// Running our scripts: by their SHA, and once with their text on a server that does not know them.

#include "engines/redis/connection.hpp"
#include "redis_scripts.hpp"

#include <boost/asio/awaitable.hpp>

#include <string>
#include <string_view>
#include <vector>

namespace holt::redis {

/// Connected or about to be; on Env::executor(), as the connection. Throws EngineError, also for an
/// error reply.
asio::awaitable<Reply> run_script(Connection& connection, Script const& script,
                                  std::vector<std::string> keys, std::vector<std::string> args,
                                  Effect effect, Instant deadline);

/// The bytes of EVALSHA or EVAL.
[[nodiscard]] std::string script_call(std::string_view verb, std::string_view script,
                                      std::vector<std::string> const& keys,
                                      std::vector<std::string> const& args);

/// A plain command, the same way.
asio::awaitable<Reply> run_command(Connection& connection, std::string bytes, Effect effect,
                                   std::string_view operation, Instant deadline);

}  // namespace holt::redis
