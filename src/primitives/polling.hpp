// SPDX-License-Identifier: Apache-2.0
#pragma once
// Poller: one node of one polling: it keeps its own heartbeat, knows who else is alive, and asks
// for the endpoints that it is nominated for. docs/adr/0016-polling.md says why it is so.
//
//   for each endpoint: nominated -> try -> (held by a dead node) in line until its lease ends
//                                       -> (held by a living one) in line, and ask it to yield
//                      granted -> polled -> asked, removed, stopped: drain, release -> the next
//                                        -> lost: drain
//
// Threads: all of it belongs to Env::executor(); duties and rounds are shared with any thread. The
// user's code runs as such.

#include "base/log.hpp"
#include "contracts/env.hpp"
#include "contracts/lease_store.hpp"
#include "contracts/record_store.hpp"
#include "contracts/signal_bus.hpp"
#include "primitives/duty.hpp"
#include "primitives/event.hpp"
#include "primitives/keeper.hpp"
#include "primitives/lock.hpp"
#include "primitives/nursery.hpp"
#include "primitives/roster.hpp"
#include "primitives/rounds.hpp"
#include "primitives/turns.hpp"

#include <holt/polling.hpp>

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <stop_token>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace holt {

/// Who takes part in what, and how; all of it checked.
struct PollPlan {
  PollPlan(std::string of, std::string who) : group(std::move(of)), node(std::move(who)) {}
  std::string group;
  std::string node;
  Nanos every{};
  Nanos ttl{};
  Nanos renew_every = usual_renewal;
  Nanos node_ttl{};
  Nanos discover_every{};
  Nanos settle{};
  Nanos drain{};
  Nanos patience{};  ///< for each question to the store
  double weight = 1;
  double cap = 0;
  std::uint32_t moves = 1;
  PollWeights weights = PollWeights::mixed;
  bool stored = false;
  bool line = true;  ///< the store has lines of waiters; else what is not ours is given up unasked
};

/// Signals between the nodes of a polling; the text is lines.
namespace topic {
inline constexpr std::string_view yield = "yield";  ///< to a holder: its lease, id of who wants it
inline constexpr std::string_view nodes = "nodes";  ///< to all: group; a node came or went
inline constexpr std::string_view endpoints = "endpoints";  ///< to all: group; the store's changed
}  // namespace topic

/// What the primitives and the store are, for a Poller.
struct PollTools {
  Env& env;
  Locks& locks;
  Keeper& keeper;
  LeaseStore& leases;
  RecordStore* records;  ///< null: no endpoints in the store
  SignalBus& signals;
  EventLog const& log;
};

class Poller {
 public:
  using Assigned = std::function<void(std::shared_ptr<Duty> const&)>;
  using Lost = std::function<void(std::string const&, ReleaseReason)>;

  Poller(PollTools tools, PollPlan plan);

  // As those of Polling; on Env::executor() only. Callbacks must not throw.
  void set_endpoints(std::vector<std::string> const& endpoints);
  void add(std::string const& endpoint);
  void remove(std::string const& endpoint);
  void pause(std::string const& endpoint, bool paused);
  void on_assigned(Assigned assigned) { assigned_ = std::move(assigned); }
  void on_lost(Lost lost) { lost_ = std::move(lost); }
  void start();
  asio::awaitable<bool> stop(Instant deadline);
  [[nodiscard]] EndpointState state(std::string const& endpoint) const;
  [[nodiscard]] std::vector<std::string> owned() const;
  /// Needed before it goes; stop() before it.
  asio::awaitable<void> close();

  // Any thread:
  [[nodiscard]] std::shared_ptr<Rounds> const& rounds() const noexcept { return rounds_; }
  [[nodiscard]] PollPlan const& plan() const noexcept { return plan_; }

 private:
  /// An endpoint, and where we stand with it.
  struct Post {
    Post(Env& env, std::string endpoint, Name named)
        : id(std::move(endpoint)), lease(std::move(named)), wake(env) {}
    std::string id;
    Name lease;
    Event wake;         ///< whoever serves it: something to look at
    bool known = true;  ///< false: removed
    bool paused = false;
    bool served = false;    ///< a coroutine sees to it
    bool stand_in = false;  ///< nobody else takes it
    bool seen_free = false;
    bool unsure = false;  ///< ours ended while nobody could tell us who has it
    std::string nominee;  ///< who should have it; empty: nobody is alive
    std::string holder;   ///< which other node was last seen to have it; empty: none
    std::string wisher;   ///< who asked us for it
    Busy busy;            ///< the last answer, if it was one
    bool failed = false;  ///< there was none
    std::optional<ReleaseReason> let_go;  ///< of what we have
    std::shared_ptr<Duty> duty;           ///< while we have it
    std::stop_source campaign;            ///< ends the present question for it
  };
  using Posts = std::map<std::string, std::shared_ptr<Post>, std::less<>>;

  // The loops:
  asio::awaitable<void> attend();
  asio::awaitable<std::shared_ptr<KeptLease>> announce();
  asio::awaitable<void> run();
  asio::awaitable<void> look();
  asio::awaitable<void> read_nodes();
  asio::awaitable<void> read_endpoints();
  asio::awaitable<void> look_for_free();
  // One endpoint:
  asio::awaitable<void> serve(std::shared_ptr<Post> post);
  asio::awaitable<std::shared_ptr<KeptLease>> obtain(std::shared_ptr<Post> post);
  asio::awaitable<std::shared_ptr<KeptLease>> ask(std::shared_ptr<Post> post, LockRequest request);
  asio::awaitable<std::shared_ptr<KeptLease>> wait_for(std::shared_ptr<Post> post);
  asio::awaitable<void> hold(std::shared_ptr<Post> post, std::shared_ptr<KeptLease> lease);
  asio::awaitable<bool> drain(std::shared_ptr<Post> post, ReleaseReason reason);
  asio::awaitable<void> give_back(std::shared_ptr<KeptLease> lease, std::string why);
  asio::awaitable<void> pause_for(std::shared_ptr<Post> post, Nanos pause);
  asio::awaitable<void> handle(std::function<void()> work);

  [[nodiscard]] bool taking_part() const { return running_ && !stopping_; }
  [[nodiscard]] bool wanted(Post const& post) const;
  [[nodiscard]] bool alive(std::string_view node) const;
  [[nodiscard]] LockRequest request(Post& post);
  Post& post_of(std::string const& endpoint);
  void begin();
  void part_ended();
  void dirty();
  void nominate();
  void reconsider(std::shared_ptr<Post> const& post);
  void give_unasked();
  void let_go(Post& post, ReleaseReason reason);
  void call_off(Post& post);
  void heard_busy(Post& post, Busy const& busy);
  void on_yield(std::string const& text);
  void tell_assigned(std::shared_ptr<Duty> const& duty);
  void tell_lost(std::shared_ptr<Duty> const& duty, ReleaseReason reason);
  void hint();
  void report(LogLevel level, std::string_view event, Post const& post, Fence fence,
              std::string_view reason) const;

  PollTools const tools_;
  Env& env_;
  PollPlan const plan_;
  std::string const node_prefix_;
  std::string const lease_prefix_;
  std::string const record_prefix_;
  std::shared_ptr<Rounds> const rounds_;
  Assigned assigned_;
  Lost lost_;
  Posts posts_;
  Roster roster_;
  Turns tries_;
  Turns moves_;
  Event wake_;             ///< run(): something to look at
  Event attendance_wake_;  ///< attend(): the same
  Event ended_;            ///< stop(): something has ended
  Nursery nursery_;
  std::shared_ptr<KeptLease> heartbeat_;
  std::stop_source attendance_;
  std::map<std::string, bool> stored_;  ///< what the store had at the last look, paused or not
  Instant settled_;                     ///< until then others may still come
  Instant settled_at_last_;
  Instant next_look_;
  Instant next_free_look_;
  Instant stop_by_ = Instant::max();
  int parts_ = 0;  ///< that run: both loops, and one for each endpoint that is served
  bool running_ = false;
  bool stopping_ = false;
  bool again_ = false;  ///< start() was called before all parts had ended
  bool hinted_ = false;
  bool dirty_ = false;         ///< a set has changed since the last nomination
  bool more_to_give_ = false;  ///< unasked, when what is leaving now has gone
  bool late_ = false;          ///< something did not end in time at the last stop
  std::vector<SignalBus::Subscription> subscriptions_;
};

}  // namespace holt
