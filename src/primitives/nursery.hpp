// SPDX-License-Identifier: Apache-2.0
#pragma once
// Nursery: owns the coroutines that were started beside their caller. None outlives it: close()
// waits for all of them. Children end by themselves when what they wait for is set.

#include "contracts/env.hpp"
#include "primitives/event.hpp"

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>

#include <memory>

namespace holt {

class Nursery {
 public:
  /// Children run on Env::executor() unless told otherwise.
  explicit Nursery(Env& env);
  Nursery(Env& env, asio::any_io_executor executor);

  /// Starts `child`, never inside this call: the caller may hold a mutex. A child must not throw:
  /// what it throws aborts. Any thread.
  void spawn(asio::awaitable<void> child);

  /// Waits until no child is left, or until the deadline (then false). One caller.
  asio::awaitable<bool> close(Instant deadline);

 private:
  struct State;
  asio::any_io_executor const executor_;
  std::shared_ptr<State> state_;
};

}  // namespace holt
