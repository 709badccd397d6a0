// SPDX-License-Identifier: Apache-2.0
#pragma once
// Running our scripts: by their SHA, and once with their text on a server that does not know them.

#include "engines/redis/connection.hpp"
#include "engines/redis/script_call.hpp"
#include "engines/redis/servers.hpp"

#include <boost/asio/awaitable.hpp>

#include <string>
#include <string_view>

namespace holt::redis {

/// Connected or about to be; on Env::executor(), as the connection. Throws EngineError, also for an
/// error reply. The call stays with whoever awaits this.
asio::awaitable<Reply> run_script(Connection& connection, ScriptCall const& call, Effect effect,
                                  Instant deadline);

/// The same on the server that has the call's keys.
asio::awaitable<Reply> run_script(Servers& servers, ScriptCall const& call, Purpose purpose,
                                  Instant deadline);

/// A plain command, the same ways. `key`: one of its keys, or any text.
asio::awaitable<Reply> run_command(Connection& connection, std::string bytes, Effect effect,
                                   std::string_view operation, Instant deadline);

asio::awaitable<Reply> run_command(Servers& servers, std::string_view key, std::string bytes,
                                   Purpose purpose, std::string_view operation, Instant deadline);

}  // namespace holt::redis
