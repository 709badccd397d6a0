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
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace holt::bench {
namespace {

using namespace std::chrono_literals;

constexpr int pairs = 10;  // of a holder and a waiter, each on a lock and with a client of its own
constexpr auto watched = 90s;

Name name_of(int number) { return Name("name-" + std::to_string(number)); }

/// Holds the locks, which are renewed every 10 s, not all at the same moment.
void hold(std::string const& url) {
  std::vector<Holt> clients;
  std::vector<Lock> locks;
  for (int i = 0; i < pairs; ++i) {
    clients.push_back(open(url));
    auto lock = clients.back().try_lock(name_of(i), {.ttl = 30s});
    if (!lock) throw std::runtime_error("the lock is not free");
    locks.push_back(std::move(*lock));
    std::this_thread::sleep_for(300ms);
  }
  ::pause();
}

void wait(std::string const& url) {
  std::vector<Holt> clients;
  std::vector<std::jthread> threads;
  for (int i = 0; i < pairs; ++i) clients.push_back(open(url));
  for (int i = 0; i < pairs; ++i) {
    threads.emplace_back([&clients, i] {
      [[maybe_unused]] auto const lock =
          clients[static_cast<std::size_t>(i)].lock(name_of(i), {.ttl = 30s, .wait = 10min});
    });
  }
}

void measure() {
  PostgresAtWork const server(StatementStats::config());
  StatementStats const stats(server);
  server->query("CREATE ROLE waiter SUPERUSER LOGIN");  // to tell its statements from the holders'
  auto const count = std::to_string(pairs);
  auto const holders = start([&] { hold(server->url()); });
  await("the holders", [&] {
    return server->query("SELECT to_regclass('holt.lease') IS NOT NULL") == "t" &&
           server->query("SELECT count(*) FROM holt.lease") == count;
  });
  auto const waiters = start([&] { wait("postgres://waiter@" + server->address() + "/postgres"); });
  await("the waiters", [&] { return server->query("SELECT count(*) FROM holt.ticket") == count; });
  std::this_thread::sleep_for(5s);  // all that they say at first is said
  auto const before = stats.by("waiter").statements;
  std::this_thread::sleep_for(watched);
  auto const sent = stats.by("waiter").statements - before;
  bool const all_wait = server->query("SELECT count(*) FROM holt.ticket") == count;
  kill_all({holders, waiters});
  if (!all_wait) throw std::runtime_error("somebody does not wait any more");
  auto const minutes = std::chrono::duration<double, std::ratio<60>>(watched).count();
  head("Locks: what waiting costs, PostgreSQL",
       fmt::format("{} clients that each wait for a lock which another one holds and renews, all "
                   "with a ttl of 30 s, over\n{} s. {}",
                   pairs, watched.count(), server.settings()));
  row("statements of a waiter per minute", fmt::format("{:.2f}", sent / pairs / minutes),
      "at most 2.5");
}

}  // namespace
}  // namespace holt::bench

int main() { holt::bench::measure(); }
