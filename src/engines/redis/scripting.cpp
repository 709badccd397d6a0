// SPDX-License-Identifier: Apache-2.0
#include "engines/redis/scripting.hpp"

#include "engines/redis/errors.hpp"

#include <utility>

namespace holt::redis {

std::string script_call(std::string_view verb, std::string_view script,
                        std::vector<std::string> const& keys,
                        std::vector<std::string> const& args) {
  auto const count = std::to_string(keys.size());
  std::vector<std::string_view> words{verb, script, count};
  words.reserve(3 + keys.size() + args.size());
  words.insert(words.end(), keys.begin(), keys.end());
  words.insert(words.end(), args.begin(), args.end());
  return command(words);
}

asio::awaitable<Reply> run_script(Connection& connection, Script const& script,
                                  std::vector<std::string> keys, std::vector<std::string> args,
                                  Effect effect, Instant deadline) {
  if (!connection.is_ready()) co_await connection.ready(script.name, deadline);
  Reply reply = co_await connection.call(script_call("EVALSHA", script.sha, keys, args), effect,
                                         script.name, deadline);
  if (reply->is_error() && reply->text().starts_with("NOSCRIPT")) {
    reply = co_await connection.call(script_call("EVAL", script.text, keys, args), effect,
                                     script.name, deadline);
  }
  if (reply->is_error()) throw refused(script.name, reply->text());
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
