// SPDX-License-Identifier: Apache-2.0
// The task queue on Redis, beside BullMQ on the same server.

#include "figures.hpp"
#include "redis_ceiling.hpp"
#include "redis_figures.hpp"
#include "task_peers.hpp"
#include "task_shapes.hpp"
#include "tasks.hpp"

#include <fmt/core.h>

namespace holt::bench {
namespace {

constexpr auto how =
    "As on PostgreSQL. BullMQ 6.7 has one worker per process with 200 at a time and keeps nothing\n"
    "of completed tasks; its drain is the better one of one and two processes. The bare RPUSH is "
    "by\n"
    "redis-benchmark: the most that single adds can reach, each a command of its own.\n";

void run() {
  test::RedisServer const server(test::RedisOptions{.append_only = true});
  auto const url = server.url();
  TaskPeer const bullmq("bullmq", url);
  head("Tasks: Redis", how + settings_of(server) + TaskPeer::missing());
  drain(url, {.count = 5'000});
  CommandStats stats(server);
  auto const before = stats.cpu_seconds();
  auto const ours = drain(url);
  auto const server_cpu = stats.cpu_seconds() - before;
  auto const theirs =
      std::max(bullmq.drain(50'000, 1).per_second, bullmq.drain(50'000, 2).per_second);
  row("drain, tasks per second", rate_text(ours.per_second));
  versus("drain / BullMQ", ours.per_second, theirs, "at least 20x");
  row("CPU of the workers per task", time_text(ours.cpu_us * 1e-6));
  row("CPU of the server per task, add and drain", time_text(server_cpu / 100'000));
  auto const bulk = bulk_adds(url, 100'000, 20'000);
  row("bulk add, tasks per second", rate_text(bulk));
  versus("bulk add / BullMQ", bulk, bullmq.bulk_adds(50'000, 10'000), "at least 20x");
  server.flush();
  auto const single = single_adds(url, 16, 100'000);
  row("single adds of 16 callers, tasks per second", rate_text(single));
  server.flush();
  auto const awaited = single_adds_async(url, 16, 100'000);
  row("single adds of 16 coroutines, tasks per second", rate_text(awaited));
  auto const in_flight = bullmq.single_adds(50'000, 16);
  versus("single adds / BullMQ with 16 in flight", single, in_flight, "at least 3x");
  versus("single adds of coroutines / BullMQ with 16 in flight", awaited, in_flight, "at least 3x");
  versus("bare RPUSH with 16 in flight / BullMQ", pushes_by_redis_benchmark(server, 16), in_flight,
         "");
  server.flush();
  auto const picked = median(pickups(url, 150, false));
  row("pickup when idle, p50", time_text(picked));
  versus("the same / BullMQ", picked, bullmq.pickup(150), "at most 0.6x");
  row("pickup within a process, p50", time_text(median(pickups(url, 150, true))));
  task_shape_rows(url, ours.per_second);
}

}  // namespace
}  // namespace holt::bench

int main() {
  holt::bench::run();
  return 0;
}
