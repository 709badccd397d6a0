// SPDX-License-Identifier: Apache-2.0
#include "engines/redis/durable.hpp"

#include "engines/redis/errors.hpp"
#include "engines/redis/scripting.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace holt::redis {
namespace {

// Calls behind a WAIT that is in vain wait as well; so for a while the next ones are short.
constexpr std::chrono::seconds hurry_for{1};
constexpr std::chrono::milliseconds hurried{20};

}  // namespace

DurableWrites::DurableWrites(Env& env, Place const& place, Keys const& keys, Servers& others)
    : env_(env), others_(others), replicas_(place.wait_replicas), timeout_(place.wait_timeout) {
  if (waits()) own_.emplace(env, place, keys);
}

asio::awaitable<DurableWrites::Written> DurableWrites::send(std::string_view key, Purpose purpose,
                                                            std::string command,
                                                            std::string_view operation,
                                                            Instant deadline) {
  bool const hurry = env_.now() < hurry_until_;
  auto const timeout = hurry ? std::min(hurried, timeout_) : timeout_;
  auto wait = redis::command("WAIT", Digits(replicas_), Digits(timeout.count()));
  TwoReplies both;
  if (own_->are_cluster()) {
    both = co_await own_->cluster().call_both(key, purpose, std::move(command), std::move(wait),
                                              operation, deadline);
  } else {
    auto& connection = own_->one();
    if (!connection.is_ready()) co_await connection.ready(operation, deadline);
    both = co_await connection.call_both(std::move(command), std::move(wait), operation, deadline);
  }
  Written written;
  written.reply = std::move(both.first);
  if (written.reply->is_error()) co_return written;
  if (both.second->is_error()) {
    auto const why = refused(operation, both.second->text());
    throw failed(why.code(), Outcome::unknown, operation, why.reason(), why.hint());
  }
  written.replicas = static_cast<int>(both.second->integer());
  written.confirmed = written.replicas >= replicas_;
  written.waited = timeout;
  if (!written.confirmed && !hurry) hurry_until_ = env_.now() + hurry_for;
  co_return written;
}

asio::awaitable<DurableWrites::Written> DurableWrites::run(ScriptCall const& call, Purpose purpose,
                                                           Instant deadline) {
  Written written;
  if (!waits()) {
    written.reply = co_await run_script(others_, call, purpose, deadline);
    co_return written;
  }
  written = co_await send(call.first_key(), purpose, call.by_sha(), call.name(), deadline);
  if (is_unknown_script(*written.reply)) {
    written = co_await send(call.first_key(), purpose, call.with_text(), call.name(), deadline);
  }
  if (written.reply->is_error()) throw refused(call.name(), written.reply->text());
  co_return written;
}

asio::awaitable<DurableWrites::Written> DurableWrites::run(std::string_view key,
                                                           std::string command,
                                                           std::string_view operation,
                                                           Instant deadline) {
  Written written;
  if (!waits()) {
    written.reply =
        co_await run_command(others_, key, std::move(command), writing, operation, deadline);
    co_return written;
  }
  written = co_await send(key, writing, std::move(command), operation, deadline);
  if (written.reply->is_error()) throw refused(operation, written.reply->text());
  co_return written;
}

EngineError DurableWrites::not_durable(Written const& written, Outcome outcome,
                                       std::string_view operation) const {
  return failed(ErrorCode::not_durable, outcome, operation,
                fmt::format("{} of {} replicas confirmed it within {} ms", written.replicas,
                            replicas_, written.waited.count()),
                "are enough replicas connected? INFO replication on the master says so");
}

}  // namespace holt::redis
