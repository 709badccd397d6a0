// SPDX-License-Identifier: Apache-2.0
#pragma once
// Writes that count only when replicas have them, where the store's address asks for that
// (wait_replicas): behind each goes WAIT, in the same write. A connection waits as long as a WAIT
// on it does, so these have their own. Without wait_replicas they are the connections of all other
// calls, and nothing is waited for. On Env::executor().

#include "contracts/env.hpp"
#include "engines/redis/place.hpp"
#include "engines/redis/script_call.hpp"
#include "engines/redis/servers.hpp"

#include <holt/error.hpp>

#include <boost/asio/awaitable.hpp>

#include <optional>
#include <string>
#include <string_view>

namespace holt::redis {

class DurableWrites {
 public:
  struct Written {
    Reply reply;
    int replicas = 0;  ///< how many have it
    std::chrono::milliseconds waited{};
    bool confirmed = true;  ///< as many as there should be
  };

  DurableWrites(Env& env, Place const& place, Keys const& keys, Servers& others);

  /// What it writes on.
  [[nodiscard]] Servers& servers() { return own_ ? *own_ : others_; }
  /// Whether anything is waited for.
  [[nodiscard]] bool waits() const { return replicas_ > 0; }

  /// As run_script() and run_command().
  asio::awaitable<Written> run(ScriptCall const& call, Purpose purpose, Instant deadline);
  asio::awaitable<Written> run(std::string_view key, std::string command,
                               std::string_view operation, Instant deadline);

  /// For what was written and not confirmed.
  [[nodiscard]] EngineError not_durable(Written const& written, Outcome outcome,
                                        std::string_view operation) const;

 private:
  asio::awaitable<Written> send(std::string_view key, Purpose purpose, std::string command,
                                std::string_view operation, Instant deadline);

  Env& env_;
  Servers& others_;
  std::optional<Servers> own_;
  int replicas_;
  std::chrono::milliseconds timeout_;
  Instant hurry_until_;  ///< replicas have just been missing: WAIT is not given its full time
};

}  // namespace holt::redis
