// SPDX-License-Identifier: Apache-2.0
#include "engines/redis/queue_calls.hpp"

#include "engines/redis/key_scan.hpp"
#include "engines/redis/scripting.hpp"

#include <array>
#include <utility>

namespace holt::redis {
namespace {

constexpr std::size_t most_known = 10'000;

/// In the order of scripts/task_keys.lua.
constexpr std::array<std::string_view, QueueCalls::all_keys> key_names{
    "c", "k", "t", "s", "r", "w", "y", "u", "v", "i", "n", "p", "o", "h", "e", "m", "l", "x"};

}  // namespace

void QueueCalls::add_keys(std::string_view queue, std::size_t count, ScriptCall& call) const {
  auto const start = keys_.queue(queue);
  for (std::size_t i = 0; i < count; ++i) call.add(start, key_names.at(i));
}

asio::awaitable<std::vector<std::string>> QueueCalls::queues(Instant deadline) {
  std::vector<std::string> found;
  if (!servers_.are_cluster()) {
    co_await find_queues(servers_.one(), found, deadline);
    co_return found;
  }
  SlotMap const map = co_await servers_.cluster().look(deadline);
  for (auto const& master : map.masters()) {
    auto const connection = servers_.cluster().connection_to(master);
    co_await find_queues(*connection, found, deadline);
  }
  co_return found;
}

/// A queue that has drawn a number has a counter.
asio::awaitable<void> QueueCalls::find_queues(Connection& server, std::vector<std::string>& found,
                                              Instant deadline) {
  std::vector<std::string> const keys =
      co_await scan_keys(server, keys_.queues_prefix(), {}, deadline);
  for (auto const& rest : keys) {
    auto const name = rest.substr(0, rest.find('}'));
    if (rest == name + "}:c") found.push_back(name);
  }
}

asio::awaitable<std::string> QueueCalls::identity(std::string queue, std::string_view operation,
                                                  Instant deadline) {
  // A cluster sees to that itself: a call may be sent on to another server.
  if (servers_.are_cluster()) co_return std::string();
  auto& connection = writes_.servers().one();
  if (!connection.is_ready()) co_await connection.ready(operation, deadline);
  auto const& server = connection.server();
  if (std::exchange(generation_, server.generation) != server.generation) known_.clear();
  co_return known_.contains(queue) ? std::string() : server.identity;
}

asio::awaitable<Reply> QueueCalls::write(std::string queue, ScriptCall const& call, Purpose purpose,
                                         Instant deadline) {
  DurableWrites::Written written = co_await writes_.run(call, purpose, deadline);
  if (!written.confirmed) throw writes_.not_durable(written, Outcome::unknown, call.name());
  if (purpose.draws && !servers_.are_cluster()) {
    auto const& connection = writes_.servers().one();
    if (connection.is_ready() && connection.server().generation == generation_) {
      if (known_.size() >= most_known) known_.clear();
      known_.insert(std::move(queue));
    }
  }
  co_return std::move(written.reply);
}

asio::awaitable<Reply> QueueCalls::send(ScriptCall const& call, Purpose purpose, Instant deadline) {
  return run_script(servers_, call, purpose, deadline);
}

}  // namespace holt::redis
