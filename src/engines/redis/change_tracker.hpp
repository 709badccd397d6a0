// SPDX-License-Identifier: Apache-2.0
#pragma once
// ChangeTracker: one server's word on which keys change or end there (CLIENT TRACKING, Redis 6 and
// newer), on a connection of its own. After a break it connects and asks for it again, until end().
// All of it on Env::executor().

#include "contracts/env.hpp"
#include "engines/redis/connection.hpp"
#include "engines/redis/layout.hpp"

#include <boost/asio/awaitable.hpp>

#include <functional>
#include <memory>

namespace holt::redis {

class ChangeTracker : public std::enable_shared_from_this<ChangeTracker> {
 public:
  enum class Answer { tracks, refused, unreachable };
  struct Hooks {
    std::function<void()> changed;  ///< a lease may have changed
    std::function<void()> lost;     ///< the server is not heard, now and at each vain attempt
  };

  ChangeTracker(Env& env, Place const& place, Keys const& keys, Hooks hooks);

  /// Whether the server has agreed to tell.
  asio::awaitable<Answer> start();
  /// Starts, and again until the server agrees. Then something may have been missed: `changed`.
  void start_until_heard();
  /// After a start() in vain: tries again after a pause.
  void try_again();
  /// Nothing is called any more. Before it is dropped.
  void end();

  [[nodiscard]] Connection& connection() { return connection_; }

 private:
  asio::awaitable<void> start_again();
  void heard(ReplyView const& message);

  Env& env_;
  Keys const& keys_;
  Hooks hooks_;
  bool ended_ = false;
  bool pausing_ = false;  ///< about to try again
  Connection connection_;
};

}  // namespace holt::redis
