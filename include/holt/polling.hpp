// SPDX-License-Identifier: Apache-2.0
#pragma once
// Polling: each endpoint of a set is polled by exactly one of the replicas that are alive.
//   auto polling = holt.polling("feeds", {.every = 10s});
//   polling.set_endpoints({"a", "b", "c"});
//   polling.start();
//   while (auto poll = polling.next()) fetch(poll->endpoint(), poll->fence(), poll->lost());
// An endpoint is the lease `poll/NAME/ENDPOINT`, with all that a lock promises: docs/primitives/
// polling.md says what follows from it.

#include <holt/clock.hpp>
#include <holt/fence.hpp>
#include <holt/name.hpp>

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

#pragma GCC visibility push(hidden)
class Duty;
class Rounds;
#pragma GCC visibility pop

/// How a node's weight for an endpoint is made; all nodes should use the same.
enum class PollWeights {
  mixed,      ///< even for any names
  compatible  ///< FNV-1a alone, for fleets that use it: uneven for names that count upwards
};
[[nodiscard]] std::string_view to_string(PollWeights weights) noexcept;

/// How to take part. Trivially destructible on purpose: docs/adr/0005-coroutine-rules.md.
struct PollingOptions {
  std::string_view node{};  ///< who this is; empty: `<host>-<start in ns>-<8 random hex digits>`
  std::chrono::milliseconds every{10'000};      ///< between two polls of an endpoint
  std::chrono::milliseconds ttl{30'000};        ///< of an endpoint's lease; 100 ms to 24 h
  std::chrono::milliseconds renew_every{0};     ///< 0: at about a third of the ttl
  std::chrono::milliseconds node_ttl{0};        ///< of the node's heartbeat; 0: as `ttl`
  std::chrono::milliseconds discover_every{0};  ///< looks for nodes, hints apart; 0: ttl / 3
  /// How long a fresh node waits for others that start with it. 0: it does not.
  std::chrono::milliseconds settle{200};
  /// How long a poll in flight may go on when its endpoint is to move, before it is told to stop.
  std::chrono::milliseconds drain{5'000};
  double weight = 1;  ///< this node's share, beside others; above 0, at most 1000
  double cap = 0;     ///< no node has more than this times its share; 0: no cap; else 1 to 10
  std::uint32_t moves = 32;  ///< how many endpoints are asked of living nodes at a time; 1 to 10000
  PollWeights weights = PollWeights::mixed;
  /// The endpoints are those in the store (Holt::add_endpoint), not those of set_endpoints().
  bool stored = false;
};
static_assert(std::is_trivially_destructible_v<PollingOptions>);

/// What a node knows of an endpoint.
enum class EndpointState {
  unknown,    ///< nothing, or that nobody has it
  owned,      ///< we have it, and the store confirmed that lately: polls start
  uncertain,  ///< we had it when we last heard: no poll starts, and it is not given up
  other       ///< another node has it
};
[[nodiscard]] std::string_view to_string(EndpointState state) noexcept;

/// Why an endpoint is not ours any more.
enum class ReleaseReason {
  voluntary,     ///< it was removed, paused, or somebody broke its lease
  shutdown,      ///< this node stops
  expired,       ///< its lease was not confirmed in time, or the store says it is gone
  not_preferred  ///< another node should have it, and asked
};
[[nodiscard]] std::string_view to_string(ReleaseReason reason) noexcept;

/// An endpoint that this node polls. Copies share it. Any thread.
class Assignment {
 public:
  [[nodiscard]] std::string const& endpoint() const noexcept;
  [[nodiscard]] Fence fence() const noexcept;
  /// True while a poll may start: nobody else can have it, and nobody is to get it. No I/O.
  [[nodiscard]] bool may_poll() const noexcept;
  /// True while nobody else can have it: also while it is about to move. No I/O.
  [[nodiscard]] bool held() const noexcept;
  /// When held() turns false unless the lease is renewed before.
  [[nodiscard]] Instant deadline() const noexcept;
  /// Fires when it ends: lost, or about to move.
  [[nodiscard]] std::stop_token lost() const noexcept;

 private:
  friend class Polling;
  explicit Assignment(std::shared_ptr<Duty> duty) noexcept;
  std::shared_ptr<Duty> duty_;
};

/// One poll, from Polling::next until this goes: so long its endpoint does not move to another
/// node. Move-only; any thread.
class Poll {
 public:
  Poll(Poll&& other) noexcept;
  Poll& operator=(Poll&& other) noexcept;
  ~Poll();

  [[nodiscard]] std::string const& endpoint() const noexcept;
  [[nodiscard]] Fence fence() const noexcept;
  /// True while nobody else can have the endpoint. No I/O.
  [[nodiscard]] bool held() const noexcept;
  [[nodiscard]] Instant deadline() const noexcept;
  /// Fires when the endpoint is lost, before anybody else can poll it; or when it is to move and
  /// has waited for this poll for PollingOptions::drain.
  [[nodiscard]] std::stop_token lost() const noexcept;

 private:
  friend class Polling;
  Poll(std::shared_ptr<Rounds> rounds, std::shared_ptr<Duty> duty, Instant started) noexcept;
  void end() noexcept;
  std::shared_ptr<Rounds> rounds_;
  std::shared_ptr<Duty> duty_;
  Instant started_;
};

/// A node as onlookers see it.
struct NodeInfo {
  std::string polling;
  std::string node;
  std::string status;  ///< `online`; in a foreign fleet also `init`
  double weight = 1;
  std::chrono::system_clock::time_point since;  ///< for people
  std::chrono::milliseconds ttl{};
  std::chrono::milliseconds heartbeat_age{};  ///< since the last renewal, by the store's clock
  std::uint64_t endpoints = 0;                ///< how many it has
};

/// An endpoint as onlookers see it.
struct EndpointInfo {
  std::string endpoint;
  EndpointState state =
      EndpointState::unknown;  ///< owned, uncertain (its renewal is late), unknown
  std::string node;            ///< who has it; empty: nobody
  std::string preferred;       ///< who should, if somebody is alive
  Fence fence;
  std::chrono::system_clock::time_point since;  ///< for people
  std::chrono::milliseconds expires_in{};
  bool paused = false;  ///< by Holt::pause_endpoint
};

namespace [[gnu::visibility("hidden")]] client {
class Core;
class PollStanding;
}  // namespace client

/// One node of one polling. Move-only; any thread, moving aside. Destroying it stops it: what is
/// idle passes on at once, what does not end within 50 ms when its lease ends.
class Polling {
 public:
  using OnAssigned = std::function<void(Assignment const&)>;
  using OnLost = std::function<void(std::string const& endpoint, ReleaseReason reason)>;

  Polling(Polling&& other) noexcept;
  Polling& operator=(Polling&& other) noexcept;
  ~Polling();

  /// The endpoints that this node knows; those that are gone from it are released. Each is a text
  /// as a Name is, without newlines; throws InvalidArgument, then nothing is changed.
  void set_endpoints(std::vector<std::string> const& endpoints);
  void add(std::string_view endpoint);
  void remove(std::string_view endpoint);
  /// Nobody who pauses it polls it; resume() undoes that. An endpoint that is not known: no change.
  void pause(std::string_view endpoint);
  void resume(std::string_view endpoint);

  /// Called, on a thread of the library, when an endpoint is ours; it should start the work and
  /// return. Set before start().
  void on_assigned(OnAssigned assigned);
  /// Called when it is not ours any more, after on_assigned has returned. The endpoint goes to
  /// another node when this has returned, unless it is lost already. Set before start().
  void on_lost(OnLost lost);

  /// Takes part from now on; does not wait. Again after stop() as well.
  void start();
  /// Leaves: polls in flight are told to stop, on_lost is called, and each endpoint passes on when
  /// its work has ended. False: not all did within `deadline`; their leases end by themselves.
  /// Not from a callback.
  bool stop(std::chrono::milliseconds deadline = std::chrono::seconds(5));

  /// Waits for the next endpoint of ours that is due; several threads may. Nothing: `stop` fired,
  /// `wait` passed, or the Polling stops.
  std::optional<Poll> next(std::stop_token stop = {},
                           std::chrono::milliseconds wait = std::chrono::milliseconds::max());

  [[nodiscard]] EndpointState state(std::string_view endpoint) const;
  /// What is ours now, in order.
  [[nodiscard]] std::vector<std::string> owned() const;
  [[nodiscard]] std::string const& node() const noexcept;
  [[nodiscard]] Name const& name() const noexcept;

 private:
  friend class client::Core;
  explicit Polling(std::unique_ptr<client::PollStanding> standing) noexcept;
  std::unique_ptr<client::PollStanding> standing_;
};

}  // namespace holt
#pragma GCC visibility pop
