// SPDX-License-Identifier: Apache-2.0
#pragma once
// TaskWorker: works on one queue. It claims tasks, lays them out on a Workbench for its runners,
// hands in what has ended and keeps the claims alive; docs/adr/0020-task-queue.md says why it is
// so.
//
//   woken, or handlers idle -> exchange -> lay out -> (runners) -> ended -> the next exchange
//     an exchange hands in and claims in one step; two are in flight at the most
//     a claim: renewed at a third of its ttl; past its local deadline, or refused: its handlers are
//     asked to stop, before anybody else can have their tasks
//   not started in time, others idle, stop: goes back, at no cost
//
// A store that does not answer is asked again, as the same owner, so that nothing is done twice; it
// delays neither losses nor timeouts, which the loop sees to beside it.
//
// Threads: all of it belongs to WorkTools::executor; the bench and its tasks are shared with
// runners. At the engine's home a signal, the exchange that it leads to and what comes of it are on
// one thread: each hop to another costs an idle worker as much as reading the answer does.

#include "base/log.hpp"
#include "contracts/env.hpp"
#include "contracts/signal_bus.hpp"
#include "contracts/task_store.hpp"
#include "primitives/event.hpp"
#include "primitives/held_task.hpp"
#include "primitives/nursery.hpp"
#include "primitives/workbench.hpp"

#include <holt/queue.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <expected>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace holt {

/// Who works on what, and how; all of it checked.
struct WorkPlan {
  WorkPlan(std::string on, std::string who) : queue(std::move(on)), worker(std::move(who)) {}
  std::string queue;
  std::string worker;
  std::uint32_t concurrency = 1;
  std::uint32_t prefetch = 0;
  Nanos ttl{};
  Nanos poll{};
  Nanos patience{};  ///< for each question to the store
};

/// What the machine and the store are, for a TaskWorker.
struct WorkTools {
  Env& env;
  TaskStore& tasks;
  SignalBus& signals;
  EventLog const& log;
  asio::any_io_executor executor;  ///< of the worker's loop; one thread at a time
};

class TaskWorker {
 public:
  /// Starts something that takes tasks from the bench until none is left. False: not now.
  using StartRunner = std::function<bool()>;
  /// Called on the worker's executor; must be quick and not throw.
  using OnLate = std::function<void(LateFinish const&)>;

  TaskWorker(WorkTools tools, WorkPlan plan, StartRunner start_runner, OnLate late);

  // On the worker's executor only:

  /// As those of Worker. Throws EngineError when it cannot hear signals.
  void start(std::vector<std::string> kinds);
  asio::awaitable<bool> stop(Nanos patience);
  /// Needed before it goes; stop() before it.
  asio::awaitable<void> close();

  // Any thread:

  /// As stop() without patience; does not wait.
  void hurry() {
    nursery_.spawn(handle([this] { begin_stop(Nanos(0)); }));
  }
  /// The store is void: all claims are lost, soon.
  void lose_all() {
    nursery_.spawn(handle([this] { lose_all_now(); }));
  }
  [[nodiscard]] std::shared_ptr<Workbench> const& bench() const noexcept { return bench_; }
  [[nodiscard]] WorkPlan const& plan() const noexcept { return plan_; }

 private:
  /// A claim with tasks that have not ended here.
  struct Claim {
    std::shared_ptr<HeldClaim> held;
    std::vector<std::shared_ptr<HeldTask>> tasks;
    std::size_t left = 0;
    Instant renew_at;
    Instant give_back_at;
    bool lost = false;
  };
  using Ends = std::vector<TaskEnd>;
  using Holds = std::vector<std::shared_ptr<HeldClaim>>;
  /// An exchange on its way.
  struct Exchange {
    explicit Exchange(ClaimRequest with) : request(std::move(with)) {}
    ClaimRequest request;
    Ends ends;        ///< those that its finishes are of
    Instant started;  ///< the last time it was asked
    Fence seen;       ///< what was answered before it began: its own must be above
    std::optional<Claimed> answer;
  };

  asio::awaitable<void> run();
  void begin();
  void begin_stop(Nanos patience);
  [[nodiscard]] bool finished(Instant now) const;
  [[nodiscard]] Instant next_alarm(Instant now);

  // worker_exchange.cpp: to and from the store.
  void collect();
  void ask(Instant now);
  [[nodiscard]] bool hand_in_due(Instant now) const;
  [[nodiscard]] std::uint32_t ahead() const;
  std::shared_ptr<Exchange> make_exchange(std::uint32_t want);
  void pack_ends(Exchange& exchange);
  asio::awaitable<void> exchange(std::shared_ptr<Exchange> ours);
  asio::awaitable<void> ask_until_answered(std::shared_ptr<Exchange> ours);
  asio::awaitable<void> pause(Nanos pause);
  void settle(Exchange& done);
  void settle_ends(Exchange const& done);
  void abandon(Exchange& failed);
  void take_back_next();
  asio::awaitable<void> take_back(Owner next);
  void take_on(Exchange& done);
  void start_runners(std::uint32_t count);

  // worker_care.cpp: what is held.
  void look_after(Instant now);
  [[nodiscard]] Instant look_at(Claim& claim, Instant now);
  [[nodiscard]] static bool renewable(Claim const& claim, Instant now);
  void give_back(Claim& claim);
  void give_back_all();
  void give_back_for_others();
  void lose(Claim& claim, LossReason why);
  void lose_all_now();
  void stop_handlers();
  void start_renewal(Instant now);
  asio::awaitable<void> renew(Holds due);
  [[nodiscard]] ClaimRenewal renewal_of(HeldClaim& held);
  void settle(HeldClaim& held, Instant started, std::expected<RenewedClaim, Lost> const& answer);
  void renew_later(HeldClaim const& held, ClaimRenewal const& sent);
  void check(std::string const& owner);
  asio::awaitable<void> handle(std::function<void()> work);
  void report(LogLevel level, std::string_view event, Owner const& owner, Fence fence,
              std::string_view reason) const;

  WorkTools const tools_;
  Env& env_;
  WorkPlan const plan_;
  StartRunner const start_runner_;
  OnLate const late_;
  Event wake_;   ///< run(): something to look at
  Event ended_;  ///< stop(): run() has ended
  std::shared_ptr<Workbench> const bench_;
  Nursery nursery_;
  std::vector<SignalBus::Subscription> subscriptions_;
  std::vector<std::string> kinds_;

  std::map<std::uint64_t, Claim> claims_;
  std::uint64_t next_claim_ = 1;
  std::deque<TaskEnd> to_hand_in_;
  std::deque<Owner> give_back_;  ///< exchanges whose answer never came
  std::deque<Owner> answered_;   ///< exchanges that the store may forget
  std::list<Event> pauses_;
  Fence last_fence_;
  Owner next_;               ///< under which the store may hand over a task while we idle
  Fence before_next_;        ///< the last fence before there was this one
  bool hands_over_ = false;  ///< it may do so now
  int in_flight_ = 0;
  std::size_t asked_ = 0;                ///< tasks, by exchanges in flight
  Instant runners_at_ = Instant::max();  ///< when runners are started that could not be before
  Instant idle_until_;                   ///< the store had nothing more: not asked before
  std::atomic<bool> woken_ = false;      ///< since the last question
  Instant hand_in_at_ = Instant::max();  ///< the oldest end has waited long enough
  Instant look_at_;                      ///< when claims need to be looked at
  Instant next_note_at_;                 ///< progress is not told more often
  bool crowded_ = false;  ///< tasks went back because handlers were busy: none is taken ahead
  bool renewing_ = false;
  bool running_ = false;
  bool stopping_ = false;
  bool told_to_stop_ = false;  ///< the handlers, because we stop
  bool again_ = false;         ///< start() was called before the last stop was through
  bool complete_ = true;       ///< the last stop left nothing behind
  Instant stop_handlers_at_;
  Instant over_at_;
};

}  // namespace holt
