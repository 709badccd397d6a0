// SPDX-License-Identifier: Apache-2.0
#include "primitives/task_pace.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <limits>

namespace holt {
namespace {

using namespace std::chrono_literals;
constexpr auto largest = std::numeric_limits<std::uint64_t>::max();

TEST(TaskPaceTest, RetriesWaitARandomPartOfADoublingTime) {
  RetryPolicy const policy{.first = 1s, .longest = 10s};
  for (std::uint64_t random = 1; random < 1'000'000'007; random += 1'234'567) {
    EXPECT_LE(pace::retry_delay(policy, 1, random), 1s);
    EXPECT_LE(pace::retry_delay(policy, 2, random), 2s);
    EXPECT_LE(pace::retry_delay(policy, 100, random), 10s);
  }
  EXPECT_EQ(pace::retry_delay(policy, 1, 0), 0s);
  EXPECT_EQ(pace::retry_delay(policy, 3, 4'000'000'000), 4s);
  EXPECT_EQ(pace::retry_delay(policy, 100, 10'000'000'000), 10s);
}

TEST(TaskPaceTest, AListOfDelaysIsKeptToExactlyAndItsLastGoesOn) {
  std::array const delays{1000ms, 5000ms, 60'000ms};
  RetryPolicy const policy{.delays = delays};
  EXPECT_EQ(pace::retry_delay(policy, 1, largest), 1s);
  EXPECT_EQ(pace::retry_delay(policy, 2, largest), 5s);
  EXPECT_EQ(pace::retry_delay(policy, 3, 7), 60s);
  EXPECT_EQ(pace::retry_delay(policy, 9, 7), 60s);
}

TEST(TaskPaceTest, TwentyMillisecondsOfWorkAreTakenAhead) {
  EXPECT_EQ(pace::tasks_ahead(1ms, 1, 10s, 1000), 20U);
  EXPECT_EQ(pace::tasks_ahead(1ms, 5, 10s, 1000), 100U);
  EXPECT_EQ(pace::tasks_ahead(1us, 5, 10s, 1000), 1000U) << "no more than allowed";
  EXPECT_EQ(pace::tasks_ahead(1us, 5, 10s, 0), 0U);
  EXPECT_EQ(pace::tasks_ahead(50ms, 1, 10s, 1000), 0U) << "long ones are not";
  EXPECT_EQ(pace::tasks_ahead(1ms, 1, 40ms, 1000), 10U) << "a quarter of the ttl at the most";
  EXPECT_EQ(pace::tasks_ahead({}, 5, 10s, 1000), 0U);
}

TEST(TaskPaceTest, OneIsAskedForWhileNothingIsKnown) {
  EXPECT_EQ(pace::to_ask({5, 0, 0, 0}, 0, false), 1U);
  EXPECT_EQ(pace::to_ask({5, 2, 1, 1}, 0, false), 1U);
  EXPECT_EQ(pace::to_ask({5, 2, 1, 2}, 0, false), 0U);
  EXPECT_EQ(pace::to_ask({5, 5, 0, 0}, 0, false), 0U);
}

TEST(TaskPaceTest, EnoughIsAskedForOnceHalfIsUsedUp) {
  EXPECT_EQ(pace::to_ask({5, 0, 0, 0}, 100, true), 105U);
  EXPECT_EQ(pace::to_ask({5, 5, 51, 0}, 100, true), 0U);
  EXPECT_EQ(pace::to_ask({5, 5, 50, 0}, 100, true), 50U);
  EXPECT_EQ(pace::to_ask({5, 5, 10, 90}, 100, true), 0U) << "it is on its way";
  EXPECT_EQ(pace::to_ask({5, 5, 0, 0}, 0, true), 0U);
  EXPECT_EQ(pace::to_ask({5, 3, 1, 0}, 0, true), 1U);
  EXPECT_EQ(pace::to_ask({1000, 0, 0, 0}, 1000, true), 1000U) << "as many as a claim may have";
}

TEST(TaskPaceTest, WhatOurHandlersComeToSoonIsNotGivenToOthers) {
  EXPECT_FALSE(pace::worth_giving_back(0, {}, 5));
  EXPECT_TRUE(pace::worth_giving_back(1, {}, 5));
  EXPECT_TRUE(pace::worth_giving_back(1, 5ms, 5));
  EXPECT_FALSE(pace::worth_giving_back(10, 10us, 5));
  EXPECT_TRUE(pace::worth_giving_back(1000, 100us, 5));
}

TEST(TaskPaceTest, WhoIsToldTheSameTimeDoesNotComeAtTheSameTime) {
  EXPECT_EQ(pace::ask_pause(1s, 0), 1s);
  for (std::uint64_t random = 1; random < 1'000'000'007; random += 1'234'567) {
    EXPECT_LE(pace::ask_pause(1s, random), 1s + 10ms);
    EXPECT_LE(pace::ask_pause(10ms, random), 11ms);
  }
  EXPECT_GE(pace::ask_pause(0s, 0), 1ms) << "never at once, whatever a store says";
}

TEST(TaskPaceTest, TheUsualTimeFollowsWhatTasksTake) {
  auto typical = pace::typical_with({}, 80ms);
  EXPECT_EQ(typical, 80ms);
  typical = pace::typical_with(typical, 0ms);
  EXPECT_LT(typical, 71ms);
  for (int i = 0; i < 100; ++i) typical = pace::typical_with(typical, 10us);
  EXPECT_LT(typical, 20us);
}

}  // namespace
}  // namespace holt
