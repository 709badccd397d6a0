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

asio::awaitable<Reply> run_on_cluster(Cluster& cluster, ScriptCall const& call, Purpose purpose,
                                      Instant deadline) {
  auto const key = call.first_key();
  Reply reply = co_await cluster.call(key, purpose, call.by_sha(), call.name(), deadline);
  if (is_unknown_script(*reply)) {
    reply = co_await cluster.call(key, purpose, call.with_text(), call.name(), deadline);
  }
  co_return accepted(std::move(reply), call.name());
}

asio::awaitable<Reply> run_on_cluster(Cluster& cluster, std::string_view key, std::string bytes,
                                      Purpose purpose, std::string_view operation,
                                      Instant deadline) {
  Reply reply = co_await cluster.call(key, purpose, std::move(bytes), operation, deadline);
  co_return accepted(std::move(reply), operation);
}

}  // namespace

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

asio::awaitable<Reply> run_script(Servers& servers, ScriptCall const& call, Purpose purpose,
                                  Instant deadline) {
  if (!servers.are_cluster()) return run_script(servers.one(), call, purpose.effect, deadline);
  return run_on_cluster(servers.cluster(), call, purpose, deadline);
}

asio::awaitable<Reply> run_command(Servers& servers, std::string_view key, std::string bytes,
                                   Purpose purpose, std::string_view operation, Instant deadline) {
  if (!servers.are_cluster()) {
    return run_command(servers.one(), std::move(bytes), purpose.effect, operation, deadline);
  }
  return run_on_cluster(servers.cluster(), key, std::move(bytes), purpose, operation, deadline);
}

}  // namespace holt::redis
