// SPDX-License-Identifier: Apache-2.0
#include "sim/options.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace holt::sim {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr std::uint32_t half = 500'000;

/// On in half of the seeds, then anything up to `most`.
std::uint32_t sometimes(Random& random, std::uint32_t most) {
  if (!random.chance(half)) return 0;
  return static_cast<std::uint32_t>(random.between(1, most));
}

/// Often hardly any: what a margin is there for is not seen behind long delays.
Nanos choose_delay(Random& random, Nanos longest) {
  if (random.chance(half)) return random.between(microseconds(20), microseconds(200));
  return random.between(microseconds(200), longest);
}

void choose_clocks(Random& random, FaultOptions& faults) {
  if (random.chance(half)) faults.drift_ppm = random.chance(half) ? 1000 : random.between(1, 1000);
  faults.wall_steps = random.chance(half);
}

void choose_link_faults(Random& random, FaultOptions& faults, Nanos ttl) {
  faults.delay = choose_delay(random, milliseconds(20));
  faults.ordered = random.chance(half / 2);
  faults.slow = sometimes(random, 300'000);
  faults.slow_delay = random.between(milliseconds(50), ttl * 2);
  faults.refused = sometimes(random, 150'000);
  faults.lost = sometimes(random, 150'000);
  faults.reply_lost = sometimes(random, 150'000);
  faults.reset = sometimes(random, 100'000);
  faults.repeated = sometimes(random, 150'000);
  faults.signal_delay = random.between(milliseconds(1), milliseconds(50));
  faults.signal_lost = sometimes(random, 900'000);
  faults.signal_repeated = sometimes(random, 300'000);
  faults.tells_dead = sometimes(random, 1'000'000);
  if (random.chance(half)) faults.cut_every = random.between(seconds(3), seconds(20));
  faults.cut = random.between(milliseconds(100), ttl * 3);
}

void choose_node_faults(Random& random, FaultOptions& faults, Nanos ttl) {
  if (random.chance(half)) faults.pause_every = random.between(seconds(2), seconds(15));
  faults.pause_at_call = sometimes(random, 150'000);
  faults.pause = random.between(milliseconds(50), ttl * 3);
  if (random.chance(half)) faults.crash_every = random.between(seconds(15), seconds(60));
  if (random.chance(half / 2)) faults.stall_every = random.between(seconds(10), seconds(40));
  faults.stall = random.between(milliseconds(20), ttl * 2);
  if (random.chance(half)) faults.lateness = random.between(milliseconds(0), milliseconds(20));
}

/// From a source of their own: they came later, and the seeds without them stay as they were.
void choose_power_cuts(std::uint64_t seed, FaultOptions& faults) {
  Random random(seed, "power");
  if (!random.chance(half / 2)) return;
  faults.power_cut_every = random.between(seconds(5), seconds(25));
  faults.unsynced = random.between(Nanos(1), seconds(3));
}

void choose_work(Random& random, Options& options) {
  options.nodes = static_cast<std::uint32_t>(random.between(3, 5));
  options.clients = static_cast<std::uint32_t>(random.between(1, 3));
  options.names = static_cast<std::uint32_t>(random.between(1, 3));
  options.shortest_ttl = random.between(milliseconds(300), milliseconds(600));
  options.longest_ttl = random.between(milliseconds(600), milliseconds(3000));
  if (random.chance(half)) options.disk = random.between(Nanos(1000), milliseconds(2));
  options.storm = random.between(seconds(20), seconds(60));
  options.breaks = random.chance(half);
  options.breaks_now = options.breaks && random.chance(half / 2);
  options.extends = random.chance(half);
  options.cancels = random.chance(half);
  options.strangers = random.chance(half);
}

void choose_polls(Random random, Options& options) {
  if (!random.chance(half)) return;
  auto& polls = options.polls;
  polls.endpoints = static_cast<std::uint32_t>(random.between(2, 6));
  polls.every = random.between(milliseconds(50), milliseconds(500));
  polls.ttl = random.between(options.shortest_ttl, options.longest_ttl);
  if (random.chance(half)) polls.settle = random.between(milliseconds(1), milliseconds(300));
  polls.drain = random.between(milliseconds(0), polls.ttl * 2);
  polls.moves = static_cast<std::uint32_t>(random.between(1, 4));
  polls.weighted = random.chance(half / 2);
  polls.capped = random.chance(half / 2);
  polls.compatible = random.chance(half / 2);
  polls.disagree = random.chance(half / 4);
}

void choose_tenancy(Random random, Options& options) {
  if (!random.chance(half)) return;
  auto& tenancy = options.tenancy;
  tenancy.names = random.chance(half) ? 1 : static_cast<std::uint32_t>(random.between(2, 3));
  tenancy.hosts = static_cast<std::uint32_t>(random.between(1, options.nodes));
  tenancy.folders = static_cast<std::uint32_t>(random.between(1, 3));
  tenancy.evicts = random.chance(half / 2);
}

void choose_tasks(Random random, Options& options) {
  if (!random.chance(half)) return;
  auto& tasks = options.tasks;
  tasks.handlers = static_cast<std::uint32_t>(random.between(1, 4));
  if (random.chance(half)) tasks.prefetch = static_cast<std::uint32_t>(random.between(1, 20));
  tasks.ttl = random.between(seconds(1), seconds(3));
  tasks.poll = random.between(milliseconds(200), seconds(2));
  tasks.every = random.between(milliseconds(200), seconds(2));
  tasks.stuck = random.chance(half);
}

void describe_polls(PollOptions const& polls, auto const& add, auto const& add_ms) {
  add("endpoints", polls.endpoints);
  add_ms("poll_every_ms", polls.every);
  add_ms("poll_ttl_ms", polls.ttl);
  add_ms("poll_settle_ms", polls.settle);
  add_ms("poll_drain_ms", polls.drain);
  if (polls.endpoints > 0) add("poll_moves", polls.moves);
  add("poll_weighted", polls.weighted);
  add("poll_capped", polls.capped);
  add("poll_compatible", polls.compatible);
  add("poll_disagree", polls.disagree);
}

void describe_tasks(QueueOptions const& tasks, auto const& add, auto const& add_ms) {
  if (tasks.handlers == 0) return;
  add("handlers", tasks.handlers);
  add("prefetch", tasks.prefetch);
  add_ms("task_ttl_ms", tasks.ttl);
  add_ms("task_poll_ms", tasks.poll);
  add_ms("task_every_ms", tasks.every);
  add("stuck", tasks.stuck);
}

void describe_tenancy(TenancyOptions const& tenancy, auto const& add) {
  if (tenancy.names == 0) return;
  add("instances", tenancy.names);
  add("hosts", tenancy.hosts);
  add("folders", tenancy.folders);
  add("evicts", tenancy.evicts);
}

}  // namespace

Options options_of(std::uint64_t seed) {
  Random random(seed, "options");
  Options options;
  options.seed = seed;
  options.calm = random.chance(half / 2);
  options.elections = Random(seed, "elections").chance(half);
  options.priorities = Random(seed, "priorities").chance(half);
  choose_work(random, options);
  choose_polls(Random(seed, "polling"), options);
  choose_tenancy(Random(seed, "tenancy"), options);
  choose_tasks(Random(seed, "tasks"), options);
  auto& faults = options.faults;
  choose_clocks(random, faults);
  faults.delay = choose_delay(random, milliseconds(2));
  if (options.calm) return options;
  choose_link_faults(random, faults, options.longest_ttl);
  choose_node_faults(random, faults, options.longest_ttl);
  choose_power_cuts(seed, faults);
  return options;
}

std::string describe(Options const& options) {
  auto const& faults = options.faults;
  auto text = fmt::format("{} nodes={} clients={} names={}", options.calm ? "calm" : "stormy",
                          options.nodes, options.clients, options.names);
  auto const add = [&text](char const* name, std::int64_t value) {
    if (value != 0) text += fmt::format(" {}={}", name, value);
  };
  auto const add_ms = [&add](char const* name, Nanos value) {
    add(name, std::chrono::ceil<milliseconds>(value).count());
  };
  add_ms("ttl_min_ms", options.shortest_ttl);
  add_ms("ttl_max_ms", options.longest_ttl);
  add_ms("storm_ms", options.storm);
  add("disk_us", options.disk.count() / 1000);
  add("breaks", options.breaks);
  add("breaks_now", options.breaks_now);
  add("extends", options.extends);
  add("cancels", options.cancels);
  add("priorities", options.priorities);
  add("strangers", options.strangers);
  add("elections", options.elections);
  describe_polls(options.polls, add, add_ms);
  describe_tenancy(options.tenancy, add);
  describe_tasks(options.tasks, add, add_ms);
  add("delay_us", faults.delay / microseconds(1));
  add("ordered", faults.ordered);
  add("slow_ppm", faults.slow);
  if (faults.slow != 0) add_ms("slow_ms", faults.slow_delay);
  add("refused_ppm", faults.refused);
  add("lost_ppm", faults.lost);
  add("reply_lost_ppm", faults.reply_lost);
  add("reset_ppm", faults.reset);
  add("repeated_ppm", faults.repeated);
  add_ms("signal_delay_ms", faults.signal_delay);
  add("signal_lost_ppm", faults.signal_lost);
  add("signal_repeated_ppm", faults.signal_repeated);
  add("tells_dead_ppm", faults.tells_dead);
  add_ms("pause_every_ms", faults.pause_every);
  add("pause_at_call_ppm", faults.pause_at_call);
  if (faults.pause_every > Nanos{} || faults.pause_at_call > 0) add_ms("pause_ms", faults.pause);
  add_ms("crash_every_ms", faults.crash_every);
  add_ms("power_cut_every_ms", faults.power_cut_every);
  if (faults.power_cut_every > Nanos{}) add_ms("unsynced_ms", faults.unsynced);
  add_ms("cut_every_ms", faults.cut_every);
  if (faults.cut_every > Nanos{}) add_ms("cut_ms", faults.cut);
  add_ms("stall_every_ms", faults.stall_every);
  if (faults.stall_every > Nanos{}) add_ms("stall_ms", faults.stall);
  add("drift_ppm", faults.drift_ppm);
  add("wall_steps", faults.wall_steps);
  add_ms("lateness_ms", faults.lateness);
  return text;
}

}  // namespace holt::sim
