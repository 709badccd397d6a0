// SPDX-License-Identifier: Apache-2.0
#pragma once
// EventQueue: tells the events of an election to its listeners: in order, one at a time, as the
// user's code. Of two listeners the one that was added first hears first. It belongs to
// Env::executor().

#include "contracts/env.hpp"
#include "primitives/event.hpp"
#include "primitives/nursery.hpp"

#include <holt/election.hpp>

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <utility>

namespace holt {

class EventQueue {
 public:
  explicit EventQueue(Env& env);

  /// As Election::on and remove; a listener must not throw.
  Election::Registration add(Election::Listener listener, Election::Listen how);
  void remove(Election::Registration registration);

  /// Queues an event; does not wait.
  void tell(ElectionEvent event);

  /// Waits until all that was told has been heard by the listeners that are waited for, or until
  /// `deadline`, then false. One caller.
  asio::awaitable<bool> heard(Instant deadline);

  /// Tells no more; needed before it goes. A listener that has not returned is left to itself.
  asio::awaitable<void> close();

 private:
  /// No aggregate on purpose: docs/adr/0005-coroutine-rules.md.
  struct Ear {
    Ear(Election::Listener heard_by, Election::Listen in_which_way)
        : listener(std::make_shared<Election::Listener>(std::move(heard_by))), how(in_which_way) {}
    std::shared_ptr<Election::Listener> listener;
    Election::Listen how;
  };

  asio::awaitable<void> deliver();
  asio::awaitable<void> tell_one(Ear ear, std::shared_ptr<ElectionEvent const> event);

  Env& env_;
  Event changed_;  ///< something to tell, or the end
  Event drained_;  ///< nothing left to tell
  Nursery nursery_;
  bool closing_ = false;
  bool delivering_ = false;
  Election::Registration next_ = 1;
  std::map<Election::Registration, Ear> ears_;
  std::deque<std::shared_ptr<ElectionEvent const>> waiting_;
};

}  // namespace holt
