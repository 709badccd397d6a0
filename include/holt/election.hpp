// SPDX-License-Identifier: Apache-2.0
#pragma once
// An election: of all candidates one leads at a time, and knows it without asking anybody.
//   auto election = holt.election("scheduler");
//   election.on([](holt::ElectionEvent const& event) { ... });
//   election.start();
//   while (election.is_leader()) write(election.term());   // the term is the fence
// A leadership is the lease `election/NAME`, with all that a lock promises: docs/primitives/
// election.md says what follows from it.

#include <holt/lease.hpp>
#include <holt/lock.hpp>
#include <holt/watch.hpp>

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#pragma GCC visibility push(default)
namespace holt {

/// How to stand for election. Trivially destructible on purpose: docs/adr/0005-coroutine-rules.md.
struct ElectionOptions {
  std::string_view id{};                  ///< who this is; empty: `<host>-<pid>-<random>`
  std::chrono::milliseconds ttl{30'000};  ///< 100 ms to 24 h
  /// How often the leader renews, which is its heartbeat too. 0: at about a third of the ttl.
  std::chrono::milliseconds renew_every{0};
  std::int32_t priority = 5;  ///< 1 to 10: when it is free, 1 leads before 10
  /// The host that should lead when it can; empty: none. All candidates should name the same.
  std::string_view preferred_host{};
  std::string_view host{};  ///< where this candidate runs; empty: the machine's name
  /// After a leader's lease has ended without a release, nobody leads for so long: for resources
  /// that cannot check a fence.
  std::chrono::milliseconds lock_delay{0};
};
static_assert(std::is_trivially_destructible_v<ElectionOptions>);

enum class ElectionState {
  follower,   ///< somebody else leads, or it is not known who does
  candidate,  ///< asks for a term
  leader
};
[[nodiscard]] std::string_view to_string(ElectionState state) noexcept;

enum class ElectionEventKind {
  state_changed,        ///< comes before the others that belong to it
  leadership_acquired,  ///< a term began
  leadership_lost,      ///< it ended: `reason`
  election_failed       ///< the store cannot be asked: `cause`; it is asked again
};
[[nodiscard]] std::string_view to_string(ElectionEventKind kind) noexcept;

struct ElectionEvent {
  ElectionEventKind kind = ElectionEventKind::state_changed;
  std::chrono::system_clock::time_point at;  ///< for people
  ElectionState previous = ElectionState::follower;
  ElectionState now = ElectionState::follower;
  Fence term;                            ///< the one that began, goes on or ended; none else
  std::stop_token stop;                  ///< of leadership_acquired: fires when this term ends
  LossReason reason = LossReason::none;  ///< of leadership_lost; `released`: on purpose
  std::string cause;                     ///< of election_failed
};

/// What came of a wish that somebody else should lead.
enum class Resignation {
  done,          ///< the leadership was given up
  not_leader,    ///< there was none to give up
  no_candidate,  ///< the one who should follow did not answer; nothing has changed
  late           ///< the leader's work did not stop in time: its lease ends by itself
};
[[nodiscard]] std::string_view to_string(Resignation resignation) noexcept;

/// What onlookers see of an election.
struct LeaderInfo {
  Name election;
  std::string id;  ///< of the leader
  Fence term;
  std::chrono::system_clock::time_point since;  ///< for people
  std::chrono::milliseconds ttl{};
  std::chrono::milliseconds expires_in{};
  std::chrono::milliseconds heartbeat_age{};  ///< since the last renewal, by the store's clock
  std::uint32_t candidates = 0;               ///< how many stand in line behind the leader
  bool offered = false;                       ///< promised to `id`, who has not begun its term yet
};

namespace [[gnu::visibility("hidden")]] client {
class Standing;
struct Inside;
}  // namespace client

/// One candidate of one election. Move-only; any thread, moving aside. Destroying it stops it: the
/// leadership passes on if the listeners return within 50 ms, else its lease ends by itself.
class Election {
 public:
  using Listener = std::function<void(ElectionEvent const&)>;
  using Registration = std::uint64_t;
  enum class Listen {
    at_once,  ///< nobody waits for the listener
    in_turn   ///< the next event, and the next leader, wait until it has returned
  };

  Election(Election&& other) noexcept;
  Election& operator=(Election&& other) noexcept;
  ~Election();

  /// Stands for election from now on; does not wait. Again after stop() as well.
  void start();

  /// Ends it: is_leader() is false at once, the term's stop token fires, listeners are told, and
  /// when those that are waited for have returned the leadership passes on. `late`: they have not
  /// within `deadline`; then the lease ends by itself. Do not call it from a listener `in_turn`.
  Resignation stop(std::chrono::milliseconds deadline = std::chrono::seconds(5));

  /// Steps down as stop() does, and stands in line again; `to` names the candidate that is to lead
  /// next. Without anybody in line it may lead again at once, in a new term.
  Resignation resign(std::string_view to = {},
                     std::chrono::milliseconds deadline = std::chrono::seconds(5));

  /// True while nobody else can have been elected. No I/O.
  [[nodiscard]] bool is_leader() const noexcept;
  [[nodiscard]] ElectionState state() const;
  /// The fence of the present term; none when not leading.
  [[nodiscard]] Fence term() const;
  /// When is_leader() turns false unless the lease is renewed before; the epoch when not leading.
  [[nodiscard]] Instant deadline() const;
  [[nodiscard]] std::string const& id() const noexcept;
  [[nodiscard]] Name const& name() const noexcept;

  /// Calls `listener` for each event from now on, on a thread of the library, one at a time and in
  /// order. What it throws is ignored.
  Registration on(Listener listener, Listen how = Listen::at_once);
  /// When it has returned, and when the Election is gone, the listener is not running and is not
  /// called again; called from that listener itself it does not wait for it.
  void remove(Registration registration);

 private:
  friend class client::Core;
  friend struct client::Inside;
  explicit Election(std::unique_ptr<client::Standing> standing) noexcept;
  std::unique_ptr<client::Standing> standing_;
};

}  // namespace holt
#pragma GCC visibility pop
