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
#include <functional>
#include <map>
#include <memory>
#include <utility>

namespace holt {

/// Hears events, and says of each itself when it is done with it.
class Hearer {
 public:
  using Heard = std::function<void()>;

  Hearer() = default;
  virtual ~Hearer() = default;
  Hearer(Hearer const&) = delete;
  Hearer& operator=(Hearer const&) = delete;

  /// Runs as the user's code and must not throw. `heard` is to be called once, on any thread, also
  /// when the hearer goes; it is empty when nobody waits for it.
  virtual void hear(ElectionEvent const& event, Heard heard) = 0;
};

class EventQueue {
 public:
  explicit EventQueue(Env& env);

  /// As Election::on and remove: it hears what is told from now on. A listener must not
  /// throw.
  Election::Registration add(Election::Listener listener, Election::Listen how);
  void remove(Election::Registration registration);
  /// The same for a hearer that others own, until it is gone.
  void add(std::weak_ptr<Hearer> hearer, Election::Listen how);

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
    Ear(std::weak_ptr<Hearer> heard_by, std::shared_ptr<Hearer> of_ours,
        Election::Listen in_which_way)
        : hearer(std::move(heard_by)), own(std::move(of_ours)), how(in_which_way) {}
    std::weak_ptr<Hearer> hearer;
    std::shared_ptr<Hearer> own;  ///< null: others keep it
    Election::Listen how;
    std::uint64_t first = 0;  ///< number of the first event that it hears
  };
  struct Told {
    std::uint64_t number;
    ElectionEvent event;
  };

  asio::awaitable<void> deliver();
  asio::awaitable<void> tell_one(Ear ear, std::shared_ptr<Told const> told);

  Env& env_;
  Event changed_;  ///< something to tell, or the end
  Event drained_;  ///< nothing left to tell
  Nursery nursery_;
  bool closing_ = false;
  bool delivering_ = false;
  Election::Registration next_ = 1;
  std::uint64_t told_ = 0;
  std::map<Election::Registration, Ear> ears_;
  std::deque<std::shared_ptr<Told const>> waiting_;
};

}  // namespace holt
