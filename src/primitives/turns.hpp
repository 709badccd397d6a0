// SPDX-License-Identifier: Apache-2.0
#pragma once
// Turns: coroutines go one after the other, or only so many at a time, first come, first served. It
// belongs to Env::executor().
//
//   co_await turns.begin();
//   ... what must not happen twice at once ...
//   turns.end();

#include "primitives/event.hpp"

#include <boost/asio/awaitable.hpp>

#include <cstdint>
#include <deque>
#include <memory>
#include <utility>

namespace holt {

class Turns {
 public:
  explicit Turns(Env& env, std::uint32_t at_once = 1) : env_(env), free_(at_once) {}

  /// Waits for those before it.
  asio::awaitable<void> begin() {
    if (free_ > 0) {
      --free_;
      co_return;
    }
    auto const ours = std::make_shared<Event>(env_);
    waiting_.push_back(ours);
    [[maybe_unused]] bool const come = co_await ours->wait_until(Instant::max());
  }
  /// The turn passes to the next who waits.
  void end() {
    if (waiting_.empty()) {
      ++free_;
      return;
    }
    auto const next = std::move(waiting_.front());
    waiting_.pop_front();
    next->set();
  }

 private:
  Env& env_;
  std::uint32_t free_;
  std::deque<std::shared_ptr<Event>> waiting_;
};

}  // namespace holt
