// SPDX-License-Identifier: Apache-2.0
// The task queue on PostgreSQL, beside graphile-worker, pg-boss and the classic floor on the same
// server; what it costs the server; and what somebody's old snapshot does to it.

#include "figures.hpp"
#include "postgres_bare.hpp"
#include "postgres_figures.hpp"
#include "processes.hpp"
#include "task_peers.hpp"
#include "task_shapes.hpp"
#include "tasks.hpp"

#include <fmt/core.h>

#include <unistd.h>

#include <string>
#include <vector>

namespace holt::bench {
namespace {

constexpr auto how =
    "Workers are two processes with five handlers each, which do nothing; peers have their\n"
    "documented fast settings: graphile-worker 0.18 in two processes with a local queue of 500 "
    "and\n"
    "completions in batches, pg-boss 12.35 with NOTIFY. A drain begins with 100,000 tasks and "
    "ends\n"
    "when the store is empty. The floor is pgbench with two connections: claim 100 by UPDATE of "
    "rows\n"
    "locked past others, then DELETE. Pickup is from before the add to the handler's start; its "
    "raw\n"
    "limit: from before an UPDATE with a notification to the end of the listener's own UPDATE.\n";

double number(PostgresAtWork const& server, std::string const& query) {
  return std::stod(server->query("SELECT " + query));
}

/// What the server did since it was made.
class ServerCost {
 public:
  explicit ServerCost(PostgresAtWork const& server) : server_(server), before_(now()) {}
  void rows(std::string const& what, double tasks) const {
    auto const after = now();
    constexpr std::array names{"write-ahead log, bytes", "commits", "dead rows"};
    for (std::size_t i = 0; i < names.size(); ++i) {
      row(fmt::format("{}, {} per task", what, names[i]),
          fmt::format("{:.4g}", (after[i] - before_[i]) / tasks));
    }
  }

 private:
  [[nodiscard]] std::array<double, 3> now() const {
    return {number(server_, "pg_wal_lsn_diff(pg_current_wal_insert_lsn(), '0/0')"),
            number(server_, "sum(xact_commit) FROM pg_stat_database"),
            number(server_, "coalesce(sum(n_tup_upd + n_tup_del), 0) FROM pg_stat_user_tables")};
  }

  PostgresAtWork const& server_;
  std::array<double, 3> before_;
};

void rates(PostgresAtWork const& server) {
  auto const url = server->url();
  TaskPeer const graphile("graphile", url);
  TaskPeer const boss("pgboss", url);
  drain(url, {.count = 5'000});  // makes the tables
  ServerCost const cost(server);
  auto const ours = drain(url);
  cost.rows("add and drain", 100'000);
  auto const theirs = graphile.drain(100'000, 2);
  auto const floor = classic_floor(server);
  row("drain, tasks per second", rate_text(ours.per_second));
  versus("drain / graphile-worker", ours.per_second, theirs.per_second, "at least 3x");
  versus("drain / floor", ours.per_second, floor, "at least 2x");
  versus("drain / pg-boss", ours.per_second, boss.drain(100'000, 2).per_second, "");
  row("CPU of the workers per task", time_text(ours.cpu_us * 1e-6));
  row("CPU of graphile-worker per task", time_text(theirs.cpu_us * 1e-6));
  auto const bulk = bulk_adds(url, 100'000, 20'000);
  row("bulk add, tasks per second", rate_text(bulk));
  versus("bulk add / graphile-worker", bulk, graphile.bulk_adds(100'000, 20'000), "at least 5x");
  auto const single = single_adds(url, 16, 40'000);
  row("single adds of 16 callers, tasks per second", rate_text(single));
  auto const awaited = single_adds_async(url, 16, 40'000);
  row("single adds of 16 coroutines, tasks per second", rate_text(awaited));
  auto const in_flight = boss.single_adds(3'000, 16);
  versus("single adds / pg-boss with 16 in flight", single, in_flight, "at least 20x");
  versus("single adds of coroutines / pg-boss with 16 in flight", awaited, in_flight,
         "at least 20x");
  auto const picked = median(pickups(url, 150, false));
  row("pickup when idle, p50", time_text(picked), "at most 1.5 ms");
  auto const bare = median(bare_messages(150, std::chrono::milliseconds(30)));
  row("bare write, message and write when idle, p50", time_text(bare));
  row("pickup when idle / that", ratio_text(picked / bare));
  versus("the same / graphile-worker", picked, graphile.pickup(150), "at most 0.5x");
  row("pickup within a process, p50", time_text(median(pickups(url, 150, true))), "at most 0.9 ms");
  task_shape_rows(url, ours.per_second);
}

/// Five times filled and drained.
std::vector<double> passes(std::string const& url) {
  std::vector<double> rates;
  for (int i = 0; i < 5; ++i) rates.push_back(drain(url, {.count = 50'000}).per_second);
  return rates;
}

/// A statement that is under way holds its snapshot.
pid_t hold_snapshot(PostgresAtWork const& server) {
  auto const psql = test::postgres_programs() + "/psql";
  auto const url = server->url();
  auto const child = start(
      [&] { ::execl(psql.c_str(), "psql", "-qc", "SELECT pg_sleep(3600)", url.c_str(), nullptr); });
  await("a snapshot is held", [&] {
    return number(server, "count(*) FROM pg_stat_activity WHERE query LIKE 'SELECT pg_sleep%'") > 0;
  });
  return child;
}

void under_a_snapshot(PostgresAtWork const& server) {
  head("Tasks: an old snapshot, PostgreSQL",
       "Five times 50,000 tasks are added and drained, first alone, then while one statement of\n"
       "another session goes on, so that no row that dies meanwhile can be removed.");
  auto const alone = passes(server->url());
  auto const holder = hold_snapshot(server);
  auto const held = passes(server->url());
  server->query(
      "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
      "WHERE query LIKE 'SELECT pg_sleep%' AND pid <> pg_backend_pid()");
  kill_all({holder});
  row("drain, median of the five / alone", ratio_text(median(held) / median(alone)),
      "at least 0.6x");
  row("drain, the fifth / alone", ratio_text(held.back() / median(alone)), "at least 0.6x");
}

void run() {
  PostgresAtWork const server;
  head("Tasks: PostgreSQL", how + server.settings() + TaskPeer::missing());
  rates(server);
  under_a_snapshot(server);
}

}  // namespace
}  // namespace holt::bench

int main() {
  holt::bench::run();
  return 0;
}
