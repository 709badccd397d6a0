// SPDX-License-Identifier: Apache-2.0
#pragma once
// Candidate: one candidate of one election: a loop that stands in line for the lease, leads while
// it holds it, and steps down in the right order. docs/adr/0015-elections.md says why it is so.
//
//   start -> candidate -> (busy) follower -> (free, offered) candidate -> leader -> follower -> ...
//
// Threads: all of it belongs to Env::executor(), but for what PresentTerm tells any thread.
// Listeners run as the user's code.

#include "contracts/env.hpp"
#include "contracts/signal_bus.hpp"
#include "primitives/event.hpp"
#include "primitives/event_queue.hpp"
#include "primitives/keeper.hpp"
#include "primitives/lock.hpp"
#include "primitives/nursery.hpp"
#include "primitives/present_term.hpp"

#include <holt/election.hpp>

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <stop_token>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace holt {

/// Who stands for what; all of it checked.
struct Candidacy {
  Candidacy(Name of, std::string who, Nanos time_to_live)
      : lease(std::move(of)), id(std::move(who)), ttl(time_to_live) {}
  Name lease;
  std::string id;
  Nanos ttl;
  Nanos renew_every = usual_renewal;
  Nanos delay{};
  Nanos patience{};  ///< for each question to the store, and for a successor's answer
  std::int32_t priority = LeaseRequest::usual_priority;
  bool preferred = false;  ///< this host should lead
  bool yields = false;     ///< another host should
};

/// Signals between candidates; the text is the lease's name and, after newlines, what else is said.
namespace topic {
/// To the leader: id of whom to make room for, the term that is to end.
inline constexpr std::string_view resign = "resign";
inline constexpr std::string_view front = "front";    ///< to all: id of who is to come first, inbox
inline constexpr std::string_view ready = "ready";    ///< to the leader: id, which is first in line
inline constexpr std::string_view prefer = "prefer";  ///< to the leader: the preferred host is here
}  // namespace topic

class Candidate {
 public:
  Candidate(Env& env, Locks& locks, Keeper& keeper, SignalBus& signals, Candidacy candidacy);

  // As those of Election; on Env::executor() only, one stop and one resign at a time:
  void start();
  asio::awaitable<Resignation> stop(Instant deadline);
  asio::awaitable<Resignation> resign(std::string to, Instant deadline);
  [[nodiscard]] EventQueue& events() noexcept { return events_; }
  /// Tells all events from now on; before them, while we lead, how this term began.
  void tell_from_now_on(std::shared_ptr<Hearer> const& hearer, Election::Listen how);
  /// Needed before it goes; stop() before it.
  asio::awaitable<void> close();

  // Any thread:
  /// The lease while we lead, else nothing.
  [[nodiscard]] std::shared_ptr<KeptLease> leading() const { return present_.held(env_.now()); }
  [[nodiscard]] ElectionState state() const noexcept { return state_.load(); }
  [[nodiscard]] Candidacy const& candidacy() const noexcept { return candidacy_; }

 private:
  /// A term of ours.
  struct Term {
    explicit Term(std::shared_ptr<KeptLease> held) : lease(std::move(held)) {}
    std::shared_ptr<KeptLease> lease;
    std::stop_source stop;
    ElectionEvent begun;
    bool over = false;  ///< stop() ended it, even if start() was called since
  };
  /// A wish to step down, and what came of it.
  struct Wish {
    Wish(Env& env, std::string successor, Instant until)
        : to(std::move(successor)), deadline(until), answered(env) {}
    std::string to;
    Instant deadline;
    Resignation answer = Resignation::not_leader;
    Event answered;
  };

  using Lines = std::vector<std::string_view>;
  using LineHandler = std::function<void(Lines const&)>;

  asio::awaitable<void> handle(LineHandler handler, std::string text);
  asio::awaitable<void> run();
  asio::awaitable<void> stand();
  asio::awaitable<void> lead(std::shared_ptr<KeptLease> lease);
  asio::awaitable<void> give_up(std::shared_ptr<KeptLease> lease);
  asio::awaitable<bool> make_room(std::shared_ptr<Wish> wish);
  asio::awaitable<Resignation> step_down(std::shared_ptr<Term> term, Instant deadline);
  LockRequest request();
  void begin(Term& term);
  void end(std::shared_ptr<Term> const& term, LossReason reason);
  void fail(std::string cause);
  void enter(ElectionState next, Fence term = {});
  void tell(ElectionEvent event);
  void answer_wish(Resignation what);
  void heard_busy(Busy const& busy);
  void wish_to_resign(std::string_view to);
  void on_front(std::string_view id, std::string_view leader);
  void on_ready(std::string_view id);

  Env& env_;
  Locks& locks_;
  Keeper& keeper_;
  SignalBus& signals_;
  Candidacy const candidacy_;
  EventQueue events_;
  PresentTerm present_;
  std::atomic<ElectionState> state_ = ElectionState::follower;
  Event wake_;   ///< the loop: something to look at
  Event ended_;  ///< stop(): the loop has ended
  Nursery nursery_;
  bool running_ = false;
  bool stopping_ = false;
  Instant stop_by_;
  Resignation stopped_as_ = Resignation::not_leader;
  std::shared_ptr<Term> term_;
  std::shared_ptr<Wish> wish_;
  std::stop_source campaign_;  ///< ends the present stand in line
  std::string front_for_;      ///< inbox of the leader that asked us to come first
  std::string successor_;      ///< id whose `ready` we wait for
  std::vector<SignalBus::Subscription> subscriptions_;
};

}  // namespace holt
