// SPDX-License-Identifier: Apache-2.0
// What it costs to wait: the statements that a waiter sends to PostgreSQL while nothing happens.

#include "figures.hpp"
#include "postgres_figures.hpp"
#include "processes.hpp"

#include <holt/holt.hpp>

#include <fmt/core.h>

#include <unistd.h>

#include <chrono>
#include <ratio>
#include <thread>

namespace holt::bench {
namespace {

using namespace std::chrono_literals;

constexpr auto waited = 2min;

/// One process holds a lock and one waits for it, which comes as another role, to be told apart.
void measure() {
  PostgresAtWork const server(StatementStats::config());
  StatementStats const stats(server);
  server->query("CREATE ROLE waiter SUPERUSER LOGIN");
  auto const holder = start([&] {
    auto holt = open(server->url());
    auto const lock = holt.lock("x", {.ttl = 30s});
    ::pause();
  });
  auto const held = [&] {
    return server->query("SELECT to_regclass('holt.lease') IS NOT NULL") == "t" &&
           server->query("SELECT count(*) FROM holt.lease") == "1";
  };
  await("the holder", held);
  auto const waiter = start([&] {
    auto holt = open("postgres://waiter@" + server->address() + "/postgres");
    auto const lock = holt.lock("x", {.ttl = 30s, .wait = 10min});
    ::pause();
  });
  await("the waiter", [&] { return server->query("SELECT count(*) FROM holt.ticket") == "1"; });
  std::this_thread::sleep_for(1s);  // all that it says at first is said
  auto const before = stats.by("waiter").statements;
  std::this_thread::sleep_for(waited);
  auto const sent = stats.by("waiter").statements - before;
  kill_all({holder, waiter});
  head("Locks: what waiting costs, PostgreSQL",
       "A process that waits for a lock which another one holds and renews, both with a ttl of 30 "
       "s, over\ntwo minutes. " +
           server.settings());
  row("statements of the waiter per minute",
      fmt::format("{:.1f}", sent / std::chrono::duration<double, std::ratio<60>>(waited).count()),
      "at most 2.5");
}

}  // namespace
}  // namespace holt::bench

int main() { holt::bench::measure(); }
