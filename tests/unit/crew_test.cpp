// SPDX-License-Identifier: Apache-2.0
#include "env/crew.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <latch>

namespace holt {
namespace {

TEST(CrewTest, TasksThatBlockRunBesideEachOther) {
  Crew crew(3);
  std::latch all(4);
  for (int i = 0; i < 3; ++i) {
    EXPECT_TRUE(crew.run([&] { all.arrive_and_wait(); }));
  }
  all.arrive_and_wait();
}

TEST(CrewTest, MoreThanThereAreThreadsWaitTheirTurn) {
  constexpr int tasks = 200;
  std::atomic<int> running = 0;
  std::atomic<int> most = 0;
  std::latch done(tasks);
  Crew crew(2);
  for (int i = 0; i < tasks; ++i) {
    EXPECT_TRUE(crew.run([&] {
      int const now = ++running;
      int seen = most;
      while (now > seen && !most.compare_exchange_weak(seen, now)) {
      }
      --running;
      done.count_down();
    }));
  }
  done.wait();
  EXPECT_LE(most, 2);
}

TEST(CrewTest, WhatWasQueuedRunsAfterItsEnd) {
  std::latch go(1);
  std::latch done(2);
  {
    Crew crew(1);
    EXPECT_TRUE(crew.run([&] {
      go.wait();
      done.count_down();
    }));
    EXPECT_TRUE(crew.run([&] { done.count_down(); }));
  }
  go.count_down();
  done.wait();
}

}  // namespace
}  // namespace holt
