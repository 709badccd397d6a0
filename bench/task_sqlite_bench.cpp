// SPDX-License-Identifier: Apache-2.0
// The task queue on SQLite, beside graphile-worker on a PostgreSQL of the same machine and minute.

#include "figures.hpp"
#include "postgres_figures.hpp"
#include "task_peers.hpp"
#include "task_shapes.hpp"
#include "tasks.hpp"

namespace holt::bench {
namespace {

constexpr auto how =
    "As on PostgreSQL; every commit is synced (`synchronous=FULL`). graphile-worker is on a\n"
    "PostgreSQL of the same machine, for want of a peer that is embedded.\n";

void run() {
  PostgresAtWork const server;
  Folder const folder;
  auto const url = "sqlite://" + (folder.path() / "holt.db").string();
  TaskPeer const graphile("graphile", server->url());
  head("Tasks: SQLite", how + server.settings() + TaskPeer::missing());
  drain(url, {.count = 5'000});
  auto const ours = drain(url);
  row("drain, tasks per second", rate_text(ours.per_second));
  versus("drain / graphile-worker", ours.per_second, graphile.drain(100'000, 2).per_second,
         "at least 4x");
  row("CPU of the workers per task", time_text(ours.cpu_us * 1e-6));
  auto const bulk = bulk_adds(url, 100'000, 20'000);
  row("bulk add, tasks per second", rate_text(bulk));
  versus("bulk add / graphile-worker", bulk, graphile.bulk_adds(100'000, 20'000), "at least 5x");
  auto const single = single_adds(url, 16, 40'000);
  row("single adds of 16 callers, tasks per second", rate_text(single));
  row("single adds of 16 coroutines, tasks per second",
      rate_text(single_adds_async(url, 16, 40'000)));
  versus("single adds, 16 callers / one", single, single_adds(url, 1, 5'000), "at least 5x");
  row("pickup when idle, across processes, p50", time_text(median(pickups(url, 150, false))),
      "at most 1 ms");
  row("pickup within a process, p50", time_text(median(pickups(url, 150, true))));
  task_shape_rows(url, ours.per_second);
}

}  // namespace
}  // namespace holt::bench

int main() {
  holt::bench::run();
  return 0;
}
