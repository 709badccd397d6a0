// SPDX-License-Identifier: Apache-2.0
// The judge of `holt demo`'s polling: it must see what must not be.

#include "cli/demo_polled.hpp"

#include <holt/clock.hpp>

#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>

namespace holt::cli {
namespace {

Instant at(int ms) { return Instant(std::chrono::milliseconds(ms)); }

/// Endpoint a is polled by worker 1 from 0 to 20, by worker 2 as told.
PolledSide with_second_poll(int from, std::uint64_t fence) {
  PolledSide polled(1);
  polled.begins(0, 1, 7, at(0));
  polled.ends(0, 1, at(20));
  polled.begins(0, 2, fence, at(from));
  polled.ends(0, 2, at(from + 20));
  return polled;
}

TEST(DemoPolledTest, PollsThatFollowOneAnotherAreRight) {
  EXPECT_TRUE(with_second_poll(20, 8).one_at_a_time());
}

TEST(DemoPolledTest, TwoAtOnceAreWrong) { EXPECT_FALSE(with_second_poll(19, 8).one_at_a_time()); }

TEST(DemoPolledTest, AFenceThatDoesNotGrowWithAMoveIsWrong) {
  EXPECT_FALSE(with_second_poll(20, 6).one_at_a_time());
  EXPECT_FALSE(with_second_poll(20, 7).one_at_a_time());
}

TEST(DemoPolledTest, AnEndpointThatNobodyPolledIsWrong) {
  EXPECT_FALSE(PolledSide(1).one_at_a_time());
}

TEST(DemoPolledTest, APollWithoutAnEndLastsUntilItsWorkerDies) {
  PolledSide polled(1);
  polled.begins(0, 1, 7, at(0));
  polled.begins(0, 2, 8, at(30));
  EXPECT_FALSE(polled.one_at_a_time());
  polled.dies(1, at(10));
  EXPECT_TRUE(polled.one_at_a_time());
}

TEST(DemoPolledTest, TimesCountNotTheOrderOfTelling) {
  PolledSide polled(1);
  polled.begins(0, 2, 8, at(20));
  polled.begins(0, 1, 7, at(0));
  polled.ends(0, 1, at(20));
  EXPECT_TRUE(polled.one_at_a_time());
  EXPECT_EQ(polled.poller(0), 2);
  EXPECT_EQ(polled.polls(), 2U);
}

TEST(DemoPolledTest, SinceWhenAndByWhomEndpointsAreShared) {
  PolledSide polled(3);
  for (int i = 0; i < 3; ++i) {
    polled.begins(0, 1, 1, at(10 * i));
    polled.begins(1, i == 0 ? 1 : 2, 2, at(10 * i));
  }
  EXPECT_FALSE(polled.shared_by({1, 2}));  // nobody polls the third
  polled.begins(2, 1, 3, at(5));
  EXPECT_TRUE(polled.shared_by({1, 2}));
  EXPECT_FALSE(polled.shared_by({1}));
  EXPECT_FALSE(polled.shared_by({1, 2, 3, 4}));  // two and none
  EXPECT_EQ(polled.endpoints_of(1), "a c");
  EXPECT_EQ(polled.since(0), at(0));
  EXPECT_EQ(polled.since(1), at(10));
  EXPECT_EQ(polled.since(), at(10));
}

}  // namespace
}  // namespace holt::cli
