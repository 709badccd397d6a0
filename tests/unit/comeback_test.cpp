// SPDX-License-Identifier: Apache-2.0
#include "base/comeback.hpp"

#include <gtest/gtest.h>

namespace holt {
namespace {

TEST(ComebackTest, WaitsForAllWhoWereAnsweredBesideThoseWhoWait) {
  Comeback comeback;
  ASSERT_TRUE(comeback.begin(3, 2));
  EXPECT_TRUE(comeback.awaits());
  EXPECT_FALSE(comeback.all(4));
  EXPECT_TRUE(comeback.all(5));
  comeback.end(5);
  EXPECT_FALSE(comeback.awaits());
}

TEST(ComebackTest, OneCallerIsNotWaitedFor) {
  Comeback comeback;
  EXPECT_FALSE(comeback.begin(1, 7));
  EXPECT_FALSE(comeback.awaits());
}

TEST(ComebackTest, IsTriedLessOftenWhereNobodyComes) {
  Comeback comeback;
  int waits = 0;
  for (int i = 0; i < 1000; ++i) {
    if (!comeback.begin(4, 0)) continue;
    ++waits;
    comeback.end(0);
  }
  EXPECT_LT(waits, 30);
  EXPECT_GT(waits, 10);
}

TEST(ComebackTest, IsTriedEachTimeAgainOnceTheyCome) {
  Comeback comeback;
  while (!comeback.begin(4, 0)) continue;
  comeback.end(0);
  while (!comeback.begin(4, 0)) continue;
  comeback.end(3);
  EXPECT_TRUE(comeback.begin(4, 0));
}

TEST(ComebackTest, AFewOfManyAreNotWorthIt) {
  Comeback comeback;
  int waits = 0;
  for (int i = 0; i < 1000; ++i) {
    if (!comeback.begin(16, 2)) continue;
    ++waits;
    comeback.end(2 + 7);
  }
  EXPECT_LT(waits, 30);
  while (!comeback.begin(16, 2)) continue;
  comeback.end(2 + 8);
  EXPECT_TRUE(comeback.begin(16, 2));
}

TEST(ComebackTest, OneWaitAtATime) {
  Comeback comeback;
  ASSERT_TRUE(comeback.begin(4, 0));
  EXPECT_FALSE(comeback.begin(4, 0));
  EXPECT_TRUE(comeback.all(4));
}

}  // namespace
}  // namespace holt
