// SPDX-License-Identifier: Apache-2.0
// What it costs to hold: CPU time of a process that holds 1,000 locks on SQLite, or 10,000 on
// Redis or PostgreSQL, at a ttl of 30 s and does nothing else, over three renewals of each; and
// what a waiter sends meanwhile on PostgreSQL.

#include "figures.hpp"
#include "postgres_figures.hpp"
#include "redis_figures.hpp"

#include <holt/holt.hpp>

#include <fmt/core.h>

#include <thread>
#include <vector>

namespace holt::bench {
namespace {

using namespace std::chrono_literals;
constexpr int renewals = 3;
constexpr auto watched = 30s;  // from any moment on: each is due every 10 s

std::vector<Lock> take(Holt& holt, int count) {
  std::vector<Lock> locks;
  for (int i = 0; i < count; ++i) {
    auto lock = holt.try_lock("lock-" + std::to_string(i), {.ttl = 30s});
    if (!lock) std::abort();
    locks.push_back(std::move(*lock));
  }
  return locks;
}

/// Does nothing for the time watched, and answers what share of a core that took.
double cpu_share(std::vector<Lock> const& locks) {
  auto const before = cpu_seconds();
  std::this_thread::sleep_for(watched);
  auto const used = cpu_seconds() - before;
  for (auto const& lock : locks) {
    if (!lock.held()) std::abort();
  }
  return used / std::chrono::duration<double>(watched).count();
}

std::string percent(double share) { return fmt::format("{:.3f} %", share * 100); }

void measure_sqlite() {
  Folder const folder;
  auto holt = open("sqlite://" + (folder.path() / "store.db").string());
  auto const locks = take(holt, 1'000);
  auto const share = cpu_share(locks);
  head("Locks: what holding costs, SQLite",
       "A process that holds 1,000 locks at a ttl of 30 s and does nothing else, over three "
       "renewals of\neach.");
  row("CPU of the process, share of a core", percent(share), "under 0.5 %");
}

void measure_redis() {
  test::RedisServer const server;
  auto holt = open(server.url());
  auto const locks = take(holt, 10'000);
  CommandStats stats(server);
  auto const before = stats.of("evalsha");
  auto const sent = stats.of_clients();
  auto const share = cpu_share(locks);
  auto const calls = static_cast<double>(stats.of_clients() - sent);
  auto const after = stats.of("evalsha");
  head("Locks: what holding costs, Redis",
       "The same with 10,000 locks. A cycle is one renewal of each, every 10 s. A call has about "
       "126\n"
       "of them; [ADR 0013](adr/0013-redis-layout.md) tells what they are made of, and why the two "
       "last targets exclude each\n"
       "other on such a machine. " +
           settings_of(server));
  row("CPU of the process, share of a core", percent(share), "under 1 %");
  row("calls per cycle", fmt::format("{:.1f}", calls / renewals), "at most 80");
  row("a call keeps the server for, mean",
      time_text((after.seconds - before.seconds) /
                static_cast<double>(after.number - before.number)),
      "about 0.3 ms at most");
}

void measure_postgres() {
  PostgresAtWork const server(StatementStats::config());
  StatementStats const stats(server);
  auto holt = open(server->url());
  auto const locks = take(holt, 10'000);
  auto const before = stats.of(".renew(");
  auto const sent = stats.of_all().statements;
  auto const share = cpu_share(locks);
  auto const statements = stats.of_all().statements - sent;
  auto const after = stats.of(".renew(");
  head("Locks: what holding costs, PostgreSQL",
       "The same with 10,000 locks. A cycle is one renewal of each, every 10 s.\n" +
           server.settings());
  row("CPU of the process, share of a core", percent(share));
  row("statements per cycle", fmt::format("{:.1f}", statements / renewals), "at most 100");
  row("a statement keeps the server for, mean, commit apart",
      time_text((after.seconds - before.seconds) / (after.statements - before.statements)));
}

}  // namespace
}  // namespace holt::bench

int main() {
  holt::bench::measure_sqlite();
  holt::bench::measure_redis();
  holt::bench::measure_postgres();
}
