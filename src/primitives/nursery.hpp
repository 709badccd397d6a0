// SPDX-License-Identifier: Apache-2.0
#pragma once
// Nursery: owns the coroutines that were started beside their caller. None outlives it: close()
// waits for all of them. Children end by themselves when what they wait for is set.

#include "contracts/env.hpp"
#include "primitives/event.hpp"

#include <boost/asio/awaitable.hpp>

#include <memory>

namespace holt {

class Nursery {
 public:
  explicit Nursery(Env& env);

  /// Starts `child` on Env::executor(), never inside this call: the caller may hold a mutex. A
  /// child must not throw: what it throws aborts. Any thread.
  void spawn(asio::awaitable<void> child);

  /// Waits until no child is left, or until the deadline (then false). One caller.
  asio::awaitable<bool> close(Instant deadline);

 private:
  struct State;
  Env& env_;
  std::shared_ptr<State> state_;
};

}  // namespace holt
