// SPDX-License-Identifier: Apache-2.0
#include "sim/crew.hpp"

#include "primitives/task_pace.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <stop_token>
#include <utility>

namespace holt::sim {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr std::uint32_t percent = 10'000;

WorkPlan plan_of(Options const& options, std::string const& name) {
  auto const& tasks = options.tasks;
  WorkPlan plan(TaskLedger::queue, name);
  plan.concurrency = tasks.handlers;
  plan.prefetch = tasks.prefetch;
  plan.ttl = tasks.ttl;
  plan.poll = tasks.poll;
  plan.patience = tasks.ttl;
  return plan;
}

}  // namespace

Crew::Crew(Tools tools, WorkTools parts, Foreman& foreman, TaskLedger& ledger)
    : tools_(tools),
      foreman_(foreman),
      ledger_(ledger),
      random_(tools.options.seed, fmt::format("crew {}", tools.env.node())),
      inbox_(parts.signals.inbox()),
      worker_(
          parts, plan_of(tools.options, fmt::format("crew-{}", tools.env.node())),
          [this] {
            handlers_.spawn(work_at_bench());
            return true;
          },
          [this](LateFinish const& finish) { foreman_.late(tools_.env, finish); }),
      handlers_(tools.env) {}

void Crew::die() {
  dead_ = true;
  foreman_.leaves(tools_.env);
}

asio::awaitable<void> Crew::sleep(Nanos for_how_long) {
  Event never(tools_.env);
  [[maybe_unused]] bool const woken = co_await never.wait_until(tools_.env.now() + for_how_long);
}

asio::awaitable<void> Crew::run() {
  worker_.start({});
  while (!over()) {
    co_await sleep(random_.between(milliseconds(100), seconds(1)));
    if (over()) break;
    if (!tools_.phase.healed) {
      if (random_.chance(5 * percent)) co_await stop_and_start();
    } else if (ledger_.settled()) {
      served_ = true;
    }
  }
  bool const complete = co_await worker_.stop(served_ ? Nanos(seconds(5)) : Nanos(0));
  if (served_) expect(complete, "a healthy stop is complete");
  if (served_ && !dead_ && !tools_.phase.ending) foreman_.check_heard(tools_.env);
  foreman_.leaves(tools_.env);
  co_await worker_.close();
  bool const closed = co_await handlers_.close(Instant::max());
  expect(closed, "handlers end");
}

asio::awaitable<void> Crew::stop_and_start() {
  auto& world = tools_.env.world();
  auto const patience = random_.between(Nanos(0), seconds(1));
  auto const began = world.now();
  auto const stood_still = world.stood_still(tools_.env.node());
  bool const complete = co_await worker_.stop(patience);
  if (over()) co_return;
  auto const took = world.now() - began - (world.stood_still(tools_.env.node()) - stood_still);
  auto const slack = milliseconds(60) + tools_.options.faults.lateness * 8;
  expect(took <= patience + seconds(1) + slack, "a stop ends by its deadline");
  bool const calm = tools_.options.calm;
  if (calm && complete) expect(!ledger_.holds(inbox_), "who has stopped holds no task");
  if (!complete) foreman_.leaves(tools_.env);
  co_await sleep(random_.between(Nanos(0), seconds(1)));
  if (!over()) worker_.start({});
}

/// What a thread does in a real process.
asio::awaitable<void> Crew::work_at_bench() {
  auto const bench = worker_.bench();
  while (true) {
    auto held = bench->take(tools_.env.now());
    if (!held) co_return;
    auto const began = tools_.env.now();
    if (!dead_) foreman_.begins(tools_.env, held);
    if (held->task().kind == stuck_kind) {
      co_await be_stuck(held);
    } else {
      co_await handle(held);
    }
    auto end = choose_end(held);
    if (!dead_) foreman_.ends(tools_.env, *held, end.outcome);
    bench->done(std::move(end), tools_.env.now() - began);
  }
}

/// Until it is done or told to stop; some return a little later than they are told.
asio::awaitable<void> Crew::handle(std::shared_ptr<HeldTask> held) {
  auto const longest =
      random_.chance(80 * percent) ? Nanos(milliseconds(40)) : tools_.options.tasks.ttl * 3 / 2;
  auto const until = tools_.env.now() + random_.between(Nanos(1000), longest);
  if (random_.chance(20 * percent)) held->progress("began");
  Event stopped(tools_.env);
  std::stop_callback const told(held->stop(), [&stopped] { stopped.set(); });
  bool const early = co_await stopped.wait_until(until);
  if (early && random_.chance(50 * percent)) {
    co_await sleep(random_.between(Nanos(0), milliseconds(50)));
  }
}

/// Longer than its claim lasts.
asio::awaitable<void> Crew::be_stuck(std::shared_ptr<HeldTask> held) {
  while (held->held() && !over()) co_await sleep(milliseconds(100));
  if (!over()) co_await sleep(random_.between(Nanos(0), tools_.options.tasks.ttl));
}

TaskEnd Crew::choose_end(std::shared_ptr<HeldTask> held) {
  auto const draw = random_.between(0, 99);
  auto const how = draw < 70   ? TaskOutcome::completed
                   : draw < 88 ? TaskOutcome::failed
                   : draw < 96 ? TaskOutcome::again
                               : TaskOutcome::rejected;
  auto const failures = held->task().attempt;
  TaskEnd end(std::move(held), how);
  end.text = random_.chance(50 * percent) ? "told" : "";
  RetryPolicy policy;
  policy.first = milliseconds(100);
  policy.longest = milliseconds(1000);
  bool const retried = how == TaskOutcome::failed || how == TaskOutcome::again;
  if (retried) end.delay = pace::retry_delay(policy, failures, random_.next());
  return end;
}

void Crew::expect(bool is_so, std::string const& promise) {
  if (is_so || dead_ || tools_.phase.ending) return;
  tools_.checker.violated(fmt::format("crew {}: {}", tools_.env.node(), promise));
}

}  // namespace holt::sim
