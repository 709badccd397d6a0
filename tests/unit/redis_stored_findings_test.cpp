// SPDX-License-Identifier: Apache-2.0
#include "engines/redis/stored_findings.hpp"

#include <gmock/gmock.h>

namespace holt::redis {
namespace {

using testing::HasSubstr;

constexpr std::uint64_t now = 1'794'789'178'769'817;

Finding fences(std::uint64_t highest, unsigned used = 3, unsigned all = 64) {
  Counters counters;
  counters.highest = highest;
  counters.used = used;
  counters.all = all;
  counters.clock = now;
  return fence_finding(counters);
}

TEST(RedisFenceFinding, TellsTheLastOne) {
  EXPECT_EQ(fences(0, 0).detail, "none drawn yet");
  EXPECT_EQ(fences(now - 5).detail, "last 1794789178769812, in 3 of 64 shards");
  EXPECT_EQ(fences(now - 5).status, FindingStatus::ok);
  EXPECT_EQ(fences(now - 5, 1, 1).detail, "last 1794789178769812") << "on one server";
}

TEST(RedisFenceFinding, OneThatWasRaisedIsAheadOfTheClock) {
  auto const raised = fences(now + (std::uint64_t{1} << 32U));
  EXPECT_EQ(raised.status, FindingStatus::info);
  EXPECT_THAT(raised.detail, HasSubstr("ahead of the server's clock by 71 min"));
  EXPECT_THAT(fences(now + 40 * (std::uint64_t{1} << 32U)).detail, HasSubstr("by 47 h"));
}

TEST(RedisFenceFinding, TheLastNumberIsSeenFromAfar) {
  auto const used_up = fences(9'007'190'664'806'000);
  EXPECT_EQ(used_up.status, FindingStatus::warn);
  EXPECT_THAT(used_up.fix, HasSubstr("another instance"));
}

TEST(RedisFenceFinding, ACounterThatIsNoNumber) {
  Counters counters;
  counters.used = 1;
  counters.odd = {"holt:default:{00}:c"};
  auto const finding = fence_finding(counters);
  EXPECT_EQ(finding.status, FindingStatus::fail);
  EXPECT_THAT(finding.detail, HasSubstr("holt:default:{00}:c holds no number"));
  EXPECT_FALSE(finding.fix.empty());
}

TEST(RedisLeaseFinding, EveryLeaseHasAnEnd) {
  EXPECT_EQ(lease_finding({.looked_at = 1, .all = true, .endless = {}}).detail,
            "1 name, each with an end");
  EXPECT_EQ(lease_finding({.looked_at = 2000, .all = false, .endless = {}}).detail,
            "the first 2000 names, each with an end");
  auto const odd = lease_finding({.looked_at = 5, .all = true, .endless = {"key", "other"}});
  EXPECT_EQ(odd.status, FindingStatus::warn);
  EXPECT_EQ(odd.detail, "2 of 5 keys without a ttl, as key; such a lease counts as ended");
  EXPECT_FALSE(odd.fix.empty());
}

}  // namespace
}  // namespace holt::redis
