// SPDX-License-Identifier: Apache-2.0
#include "env/crew.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <latch>
#include <memory>

namespace holt {
namespace {

// Its threads belong to nobody, so they share what they touch.

TEST(CrewTest, TasksThatBlockRunBesideEachOther) {
  Crew crew(3);
  auto const all = std::make_shared<std::latch>(4);
  for (int i = 0; i < 3; ++i) {
    EXPECT_TRUE(crew.run([all] { all->arrive_and_wait(); }));
  }
  all->arrive_and_wait();
}

TEST(CrewTest, MoreThanThereAreThreadsWaitTheirTurn) {
  constexpr int tasks = 200;
  struct Seen {
    std::atomic<int> running = 0;
    std::atomic<int> most = 0;
    std::latch done{tasks};
  };
  auto const seen = std::make_shared<Seen>();
  Crew crew(2);
  for (int i = 0; i < tasks; ++i) {
    EXPECT_TRUE(crew.run([seen] {
      int const now = ++seen->running;
      int before = seen->most;
      while (now > before && !seen->most.compare_exchange_weak(before, now)) {
      }
      --seen->running;
      seen->done.count_down();
    }));
  }
  seen->done.wait();
  EXPECT_LE(seen->most, 2);
}

TEST(CrewTest, WhatWasQueuedRunsAfterItsEnd) {
  auto const go = std::make_shared<std::latch>(1);
  auto const done = std::make_shared<std::latch>(2);
  {
    Crew crew(1);
    EXPECT_TRUE(crew.run([go, done] {
      go->wait();
      done->count_down();
    }));
    EXPECT_TRUE(crew.run([done] { done->count_down(); }));
  }
  go->count_down();
  done->wait();
}

}  // namespace
}  // namespace holt
