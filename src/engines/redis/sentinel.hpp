// SPDX-License-Identifier: Apache-2.0
#pragma once
// The Sentinels of a store's address: they know which server is the master. A lone one may be
// wrong, cut off or not told yet, so what most of the configured ones say counts.
// All of it on Env::executor(), but for the constructor and the destructor.

#include "contracts/env.hpp"
#include "engines/redis/place.hpp"

#include <boost/asio/awaitable.hpp>

#include <memory>

namespace holt::redis {

class Sentinels {
 public:
  Sentinels(Env& env, Place const& place);

  /// Asks all of them at once and answers as soon as a majority names the same master; those that
  /// do not answer within a second are passed over. Throws EngineError when there is no majority.
  asio::awaitable<Endpoint> master();

  /// Closes the connections to them, which master() leaves open for the next time.
  void hang_up();

 private:
  struct State;
  std::shared_ptr<State> state_;
};

}  // namespace holt::redis
