// SPDX-License-Identifier: Apache-2.0
// RealEnv: timers, the thread for the user's callbacks, and events on top of them.

#include "client/caller_loops.hpp"
#include "env/real_env.hpp"
#include "primitives/event.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <future>
#include <set>
#include <thread>
#include <vector>

namespace holt {
namespace {

using namespace std::chrono_literals;

TEST(RealEnv, RunsTimersInOrderOfTimeAndNotBefore) {
  RealEnv env;
  std::vector<int> order;
  std::promise<Instant> done;
  auto const start = env.now();
  env.call_at(start + 30ms, [&] { done.set_value(env.now()); });
  env.call_at(start + 20ms, [&] { order.push_back(2); });
  env.call_at(start + 10ms, [&] { order.push_back(1); });
  env.call_at(start - 1s, [&] { order.push_back(0); });
  EXPECT_GE(done.get_future().get(), start + 30ms);
  EXPECT_EQ(order, (std::vector{0, 1, 2}));
}

TEST(RealEnv, ACancelledTimerDoesNotRun) {
  RealEnv env;
  std::atomic<bool> ran = false;
  std::promise<void> later;
  auto const timer = env.call_at(env.now() + 20ms, [&] { ran = true; });
  env.call_at(env.now() + 60ms, [&] { later.set_value(); });
  env.cancel(timer);
  later.get_future().wait();
  EXPECT_FALSE(ran);
}

TEST(RealEnv, ACallbackThatHangsDoesNotDelayTheNext) {
  std::promise<void> release;
  auto const released = release.get_future().share();
  std::promise<void> next;
  {
    RealEnv env;
    env.call_user([released] { released.wait(); });
    env.call_user([&next] { next.set_value(); });
    EXPECT_EQ(next.get_future().wait_for(20s), std::future_status::ready);
    release.set_value();
  }
}

TEST(RealEnv, CallbacksRunInOrderAndMayThrow) {
  RealEnv env;
  std::vector<int> order;
  std::promise<void> done;
  for (int i = 0; i < 100; ++i) {
    env.call_user([&order, i] {
      order.push_back(i);
      throw std::runtime_error("ignored");
    });
  }
  env.call_user([&done] { done.set_value(); });
  done.get_future().wait();
  EXPECT_EQ(order.size(), 100U);
  EXPECT_TRUE(std::ranges::is_sorted(order));
}

TEST(RealEnv, RandomDoesNotRepeat) {
  RealEnv env;
  std::set<std::uint64_t> seen;
  for (int i = 0; i < 1000; ++i) seen.insert(env.random());
  EXPECT_EQ(seen.size(), 1000U);
}

TEST(Event, SetBeforeTheWaitCounts) {
  RealEnv env;
  client::CallerLoops loops;
  Event event(env);
  event.set();
  EXPECT_TRUE(loops.run(event.wait_until(env.now() + 1h)));
}

TEST(Event, AnswersFalseWhenTimeIsUpAndStaysUsable) {
  RealEnv env;
  client::CallerLoops loops;
  Event event(env);
  auto const until = env.now() + 10ms;
  EXPECT_FALSE(loops.run(event.wait_until(until)));
  EXPECT_GE(env.now(), until);
  event.set();
  EXPECT_TRUE(loops.run(event.wait_until(env.now() + 1h)));
}

TEST(Event, WakesAWaiterOnItsOwnThread) {
  RealEnv env;
  client::CallerLoops loops;
  for (int round = 0; round < 200; ++round) {
    Event event(env);
    std::jthread const setter([&event] { event.set(); });
    EXPECT_TRUE(loops.run(event.wait_until(env.now() + 1h)));
  }
}

}  // namespace
}  // namespace holt
