// SPDX-License-Identifier: Apache-2.0
#pragma once
// Event: something to wait for with a deadline. Any thread sets it; one coroutine at a time waits.
// Setting before the wait counts: nothing is missed between looking and waiting.

#include "contracts/env.hpp"

#include <boost/asio/awaitable.hpp>

#include <memory>

namespace holt {

class Event {
 public:
  explicit Event(Env& env);

  /// Wakes the waiter, or lets the next wait return at once. Any thread.
  void set();

  /// Waits until set (true, and unset again) or until `when` has passed (false). Resumes on the
  /// awaiting coroutine's executor.
  asio::awaitable<bool> wait_until(Instant when);

 private:
  struct State;
  std::shared_ptr<State> state_;
};

}  // namespace holt
