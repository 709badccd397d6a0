// SPDX-License-Identifier: Apache-2.0
#include "engines/redis/scripting.hpp"

#include "engines/redis/errors.hpp"

#include <utility>

namespace holt::redis {

asio::awaitable<Reply> run_script(Connection& connection, ScriptCall const& call, Effect effect,
                                  Instant deadline) {
  if (!connection.is_ready()) co_await connection.ready(call.name(), deadline);
  Reply reply = co_await connection.call(call.by_sha(), effect, call.name(), deadline);
  if (reply->is_error() && reply->text().starts_with("NOSCRIPT")) {
    reply = co_await connection.call(call.with_text(), effect, call.name(), deadline);
  }
  if (reply->is_error()) throw refused(call.name(), reply->text());
  co_return reply;
}

asio::awaitable<Reply> run_command(Connection& connection, std::string bytes, Effect effect,
                                   std::string_view operation, Instant deadline) {
  if (!connection.is_ready()) co_await connection.ready(operation, deadline);
  Reply reply = co_await connection.call(std::move(bytes), effect, operation, deadline);
  if (reply->is_error()) throw refused(operation, reply->text());
  co_return reply;
}

}  // namespace holt::redis
