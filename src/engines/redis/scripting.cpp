// SPDX-License-Identifier: Apache-2.0
#include "engines/redis/scripting.hpp"

#include "engines/redis/errors.hpp"

#include <utility>

namespace holt::redis {
namespace {

Reply accepted(Answer answer, std::string_view operation) {
  Reply reply = reply_of(std::move(answer));
  if (reply->is_error()) throw refused(operation, reply->text());
  return reply;
}

}  // namespace

bool is_unknown_script(ReplyView const& reply) {
  return reply.is_error() && reply.text().starts_with("NOSCRIPT");
}

asio::awaitable<Reply> run_script(Connection& connection, ScriptCall const& call, Effect effect,
                                  Instant deadline) {
  if (!connection.is_ready()) co_await connection.ready(call.name(), deadline);
  Answer answer = co_await connection.call(call.by_sha(), effect, call.name(), deadline);
  if (answer && is_unknown_script(**answer)) {
    auto const whole = call.with_text();
    answer = co_await connection.call(whole, effect, call.name(), deadline);
  }
  co_return accepted(std::move(answer), call.name());
}

asio::awaitable<Reply> run_command(Connection& connection, std::string bytes, Effect effect,
                                   std::string_view operation, Instant deadline) {
  if (!connection.is_ready()) co_await connection.ready(operation, deadline);
  Answer answer = co_await connection.call(bytes, effect, operation, deadline);
  co_return accepted(std::move(answer), operation);
}

}  // namespace holt::redis
