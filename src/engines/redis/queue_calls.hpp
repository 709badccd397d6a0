// SPDX-License-Identifier: Apache-2.0
#pragma once
// Calls of the scripts of one queue's tasks: their keys, and the server's identity, which a queue's
// counter must know before numbers are drawn from it on a connection. On Env::executor().

#include "engines/redis/durable.hpp"
#include "engines/redis/layout.hpp"
#include "engines/redis/script_call.hpp"
#include "engines/redis/servers.hpp"

#include <boost/asio/awaitable.hpp>

#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

namespace holt::redis {

class QueueCalls {
 public:
  static constexpr std::size_t keys_of_add = 12;
  static constexpr std::size_t all_keys = 18;

  QueueCalls(Servers& servers, DurableWrites& writes, Keys const& keys)
      : servers_(servers), writes_(writes), keys_(keys) {}

  /// The first so many keys of scripts/task_keys.lua.
  void add_keys(std::string_view queue, std::size_t count, ScriptCall& call) const;
  /// Where requests are kept that begin so.
  [[nodiscard]] std::string requests_key(std::string_view queue, std::string_view start) const {
    return keys_.queue(queue).append("a:").append(start);
  }
  [[nodiscard]] std::string const& inbox_channel() const { return keys_.inbox_channel(); }
  /// All that ever had a task, as far as the servers know. Looks at all their keys.
  asio::awaitable<std::vector<std::string>> queues(Instant deadline);

  /// What a call that draws numbers says of the server; empty: its counter knows that. The call
  /// follows before the coroutine suspends again.
  asio::awaitable<std::string> identity(std::string queue, std::string_view operation,
                                        Instant deadline);
  /// Durable when it returns. The call stays with whoever awaits this.
  asio::awaitable<Reply> write(std::string queue, ScriptCall const& call, Purpose purpose,
                               Instant deadline);
  /// Not durable: may be lost with the server.
  asio::awaitable<Reply> send(ScriptCall const& call, Purpose purpose, Instant deadline);

 private:
  asio::awaitable<void> find_queues(Connection& server, std::vector<std::string>& found,
                                    Instant deadline);

  Servers& servers_;
  DurableWrites& writes_;
  Keys const& keys_;
  std::uint64_t generation_ = 0;  ///< the connection that `known_` is about
  std::unordered_set<std::string> known_;
};

}  // namespace holt::redis
