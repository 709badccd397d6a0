// SPDX-License-Identifier: Apache-2.0
// What doctor says of a cluster.

#include "engines/redis/cluster_findings.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace holt::redis {
namespace {

using enum FindingStatus;
using testing::HasSubstr;

TEST(RedisClusterFindingsTest, WhatAllNodesSayIsSaidOnce) {
  auto const findings = in_one({{"h1:1", {{"a", "A", ok, "same", ""}, {"b", "B", ok, "x", ""}}},
                                {"h2:2", {{"a", "A", ok, "same", ""}, {"b", "B", warn, "y", "do"}}},
                                {"h3:3", {{"a", "A", ok, "same", ""}, {"b", "B", info, "z", ""}}}});
  ASSERT_EQ(findings.size(), 2U);
  EXPECT_EQ(findings[0].detail, "same");
  EXPECT_EQ(findings[1].status, warn) << "the worst counts";
  EXPECT_EQ(findings[1].fix, "do");
  EXPECT_EQ(findings[1].detail, "h1:1: x; h2:2: y; h3:3: z");
}

TEST(RedisClusterFindingsTest, SlotsThatNobodyServesAreAFailure) {
  auto const finding = slots_served(SlotMap());
  EXPECT_EQ(finding.status, fail);
  EXPECT_THAT(finding.detail, HasSubstr("16384 of 16384 slots served by none"));
  EXPECT_THAT(finding.fix, HasSubstr("--cluster fix"));
}

}  // namespace
}  // namespace holt::redis
