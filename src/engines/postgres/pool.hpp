// SPDX-License-Identifier: Apache-2.0
#pragma once
// Pool: a few connections that carry all calls. A call goes to the one with the least to do; one
// more connection is made when all are busy, up to a number. Connections that are old or unused go.
// It connects when first needed and again after a break, not more often than a growing pause
// allows; meanwhile calls fail at once with what went wrong.
// All of it on Env::executor(), but for the constructor and close().

#include "contracts/env.hpp"
#include "engines/postgres/place.hpp"
#include "engines/postgres/session.hpp"

#include <boost/asio/awaitable.hpp>

#include <memory>
#include <string_view>

namespace holt::postgres {

class Pool {
 public:
  /// Said first on each connection, if there is something: before any call.
  struct Greeting {
    Statement statement;
    Parameters parameters;
  };

  Pool(Env& env, Settings settings, PoolOptions options, Greeting greeting);
  ~Pool();
  Pool(Pool const&) = delete;
  Pool& operator=(Pool const&) = delete;

  /// A connection that is there already.
  void add(Link link);

  /// Calls that are under way fail, and later ones too. Not on Env::executor(), which must still
  /// run.
  void close();

  /// Runs a statement as a transaction of its own and answers its rows. What a server refuses
  /// because of others (a deadlock, a lock that was not to be had in time) is sent again, while
  /// there is time. Throws EngineError.
  asio::awaitable<Answer> call(Statement statement, Parameters parameters, Effect effect,
                               std::string_view operation, Instant deadline);

  /// Whom the last connection led to.
  [[nodiscard]] Server const& server() const;

 private:
  struct State;
  std::shared_ptr<State> state_;
};

}  // namespace holt::postgres
