// SPDX-License-Identifier: Apache-2.0
#include "cli/latencies.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <random>
#include <vector>

namespace holt::cli {
namespace {

using namespace std::chrono_literals;
using std::chrono::nanoseconds;

TEST(LatenciesTest, NoneAreZero) {
  auto const none = std::make_unique<Latencies>();
  EXPECT_EQ(none->count(), 0U);
  EXPECT_EQ(none->longest(), 0ns);
  EXPECT_EQ(none->percentile(500), 0ns);
}

TEST(LatenciesTest, SmallOnesAreExactByNearestRank) {
  auto const some = std::make_unique<Latencies>();
  for (int i = 1; i <= 200; ++i) some->add(nanoseconds(i));
  EXPECT_EQ(some->percentile(500), 100ns);
  EXPECT_EQ(some->percentile(900), 180ns);
  EXPECT_EQ(some->percentile(990), 198ns);
  EXPECT_EQ(some->percentile(999), 200ns);
  EXPECT_EQ(some->longest(), 200ns);
}

TEST(LatenciesTest, OneIsEveryPercentile) {
  auto const one = std::make_unique<Latencies>();
  one->add(123'456'789ns);
  for (std::uint32_t const share : {1U, 500U, 999U}) {
    EXPECT_EQ(one->percentile(share), 123'456'789ns);
  }
}

TEST(LatenciesTest, WhatCannotBeIsKeptInRange) {
  auto const odd = std::make_unique<Latencies>();
  odd->add(-5ns);
  odd->add(48h);
  EXPECT_EQ(odd->percentile(500), 0ns);
  EXPECT_EQ(odd->longest(), 1h);
  EXPECT_EQ(odd->percentile(999), 1h);
}

/// Against a sorted list, over nine orders of magnitude: never too low, at most 1 % too high.
TEST(LatenciesTest, PercentilesAreNeverTooLowAndAtMostAHundredthTooHigh) {
  // NOLINTNEXTLINE(cert-msc32-c,cert-msc51-cpp): the same numbers in every run
  std::mt19937_64 random(1);
  std::lognormal_distribution<double> spread(12, 3);
  std::vector<std::int64_t> all;
  auto const counted = std::make_unique<Latencies>();
  for (int i = 0; i < 20'000; ++i) {
    all.push_back(std::min<std::int64_t>(static_cast<std::int64_t>(spread(random)), 3'000'000'000));
    counted->add(nanoseconds(all.back()));
  }
  std::ranges::sort(all);
  for (std::uint32_t share = 1; share <= 1000; ++share) {
    auto const rank = (all.size() * share + 999) / 1000;
    auto const exact = all[rank - 1];
    auto const found = counted->percentile(share).count();
    EXPECT_GE(found, exact) << share;
    EXPECT_LE(static_cast<double>(found), static_cast<double>(exact) * 1.01 + 1) << share;
  }
  EXPECT_EQ(counted->longest().count(), all.back());
  EXPECT_EQ(counted->count(), all.size());
}

}  // namespace
}  // namespace holt::cli
