// SPDX-License-Identifier: Apache-2.0
#pragma once
// Options: everything that a simulation is, derived from its seed. A calm seed has no faults at
// all and is held to more (order, promptness, no loss); the others switch each kind of fault on or
// off by chance, because faults that are always on together hide what one alone would show.

#include "support/sim_random.hpp"

#include <cstdint>
#include <string>

namespace holt::sim {

/// Chances are per million. A zero interval: never.
struct FaultOptions {
  Nanos delay = std::chrono::milliseconds(2);  ///< longest ordinary way to the store or back
  bool ordered = true;                         ///< requests of a node arrive as they were sent
  std::uint32_t slow = 0;                      ///< a message takes up to slow_delay instead
  Nanos slow_delay{};
  std::uint32_t refused = 0;     ///< fails at once and was not applied
  std::uint32_t lost = 0;        ///< never arrives: times out
  std::uint32_t reply_lost = 0;  ///< applied, but the reply never comes
  std::uint32_t reset = 0;       ///< applied, but answered by a broken connection
  std::uint32_t repeated = 0;    ///< arrives twice
  Nanos signal_delay = std::chrono::milliseconds(1);
  std::uint32_t signal_lost = 0;
  std::uint32_t signal_repeated = 0;
  std::uint32_t tells_dead = 0;     ///< sending to a crashed node is noticed
  Nanos pause_every{};              ///< mean time between pauses of one node
  Nanos pause{};                    ///< longest
  std::uint32_t pause_at_call = 0;  ///< a node is paused soon after it asked the store something
  Nanos crash_every{};
  Nanos power_cut_every{};  ///< all nodes and the store's machine; the last commits are lost
  Nanos unsynced{};         ///< how old the disk's state may be then
  Nanos cut_every{};        ///< a node cannot reach the store for a while
  Nanos cut{};
  Nanos stall_every{};  ///< the store stands still for a while
  Nanos stall{};
  std::int64_t drift_ppm = 0;  ///< clocks run wrong by up to this much
  bool wall_steps = false;     ///< wall clocks jump by up to an hour
  Nanos lateness{};            ///< timers and callbacks come up to this much late
};

/// How all nodes of the polling take part.
struct PollOptions {
  std::uint32_t endpoints = 0;  ///< none: there is no polling
  Nanos every{};
  Nanos ttl{};
  Nanos settle{};
  Nanos drain{};
  std::uint32_t moves = 1;
  bool weighted = false;
  bool capped = false;
  bool compatible = false;
  bool disagree = false;  ///< nodes nominate by different hashes
};

/// How all nodes have instances.
struct TenancyOptions {
  std::uint32_t names = 0;  ///< besides default-N; none: there are no instances
  std::uint32_t hosts = 1;
  std::uint32_t folders = 1;
  bool evicts = false;  ///< the unsafe kind of `down` too
};

/// How all nodes have a worker of one queue, and add tasks to it.
struct QueueOptions {
  std::uint32_t handlers = 0;  ///< of each worker; none: there is no queue
  std::uint32_t prefetch = 0;
  Nanos ttl{};
  Nanos poll{};
  Nanos every{};       ///< longest pause between two adds of a node
  bool stuck = false;  ///< some handlers do not return when they are told to
};

struct Options {
  std::uint64_t seed = 0;
  bool calm = false;
  FaultOptions faults;
  std::uint32_t nodes = 3;
  std::uint32_t clients = 2;  ///< per node
  std::uint32_t names = 1;
  Nanos shortest_ttl{};
  Nanos longest_ttl{};
  Nanos disk{};   ///< how long the store waits for its writer; zero: each call writes by itself
  Nanos storm{};  ///< how long there are faults; then all must recover
  bool breaks = false;
  bool breaks_now = false;  ///< the unsafe kind too
  bool extends = false;
  bool cancels = false;
  bool priorities = false;  ///< some stand in line before others
  bool elections = false;   ///< each node stands for one
  PollOptions polls;        ///< and takes part in this
  TenancyOptions tenancy;   ///< and has instances
  QueueOptions tasks;       ///< and works on a queue
  bool strangers = false;   ///< somebody releases and renews what is not his
};

[[nodiscard]] Options options_of(std::uint64_t seed);

/// One line for people; what is off is left out.
[[nodiscard]] std::string describe(Options const& options);

}  // namespace holt::sim
