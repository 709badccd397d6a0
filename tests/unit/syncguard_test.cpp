// SPDX-License-Identifier: Apache-2.0
// The layout syncguard, as far as it is the same on every engine.

#include "base/syncguard.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace holt {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;

constexpr char const* id = "AAECAwQFBgcICQoLDA0ODw";

TEST(SyncguardOwner, IsTheLockIdBehindAFixedInbox) {
  Owner const owner("syncguard", id);
  EXPECT_EQ(syncguard_lock_id(owner), id);
  EXPECT_EQ(syncguard_owner(id), owner);
  EXPECT_FALSE(syncguard_owner("too-short"));
  EXPECT_FALSE(syncguard_owner("with.a.dot.in.it.......").has_value());
}

TEST(SyncguardMs, IsNeverLessThanAskedForAndWithinFourteenDigits) {
  EXPECT_EQ(syncguard_ms(30s), 30'000);
  EXPECT_EQ(syncguard_ms(1ms + 1ns), 2);
  EXPECT_EQ(syncguard_ms(0ns), 1);
  EXPECT_LT(syncguard_ms(std::chrono::nanoseconds::max()), 10'000'000'000'000);
}

TEST(SyncguardFence, IsDigitsOnly) {
  EXPECT_EQ(parse_syncguard_fence("000000000000042"), Fence(42));
  EXPECT_EQ(parse_syncguard_fence("0000000000000000042"), Fence(42));
  for (auto const* bad : {"", "x", "4x", "-1", " 1", "99999999999999999999"}) {
    EXPECT_FALSE(parse_syncguard_fence(bad)) << bad;
  }
}

TEST(SyncguardFence, WarnsNearTheLast) {
  EXPECT_EQ(syncguard_warning(Fence(1), syncguard_fences), "");
  EXPECT_EQ(syncguard_warning(syncguard_fences.warn_above, syncguard_fences), "");
  EXPECT_THAT(syncguard_warning(Fence(90'000'000'000'001), syncguard_fences),
              HasSubstr("90000000000001 of at most 900000000000000"));
  EXPECT_THAT(syncguard_used_up(Name("a"), syncguard_fences), HasSubstr("has reached 9000000000"));
}

TEST(SyncguardInfo, IsWhatTheLockSays) {
  SyncguardLock lock{.lock_id = id,
                     .name = "a",
                     .fence = "000000000000007",
                     .acquired_ms = 1'700'000'000'123,
                     .ttl_ms = 30'000,
                     .left_ms = -5};
  auto const info = syncguard_info(lock);
  ASSERT_TRUE(info);
  EXPECT_EQ(info->owner.text(), std::string("syncguard.") + id);
  EXPECT_EQ(info->fence, Fence(7));
  EXPECT_EQ(info->ttl, 30s);
  EXPECT_EQ(info->expires_in, 0ms);
  EXPECT_EQ(info->acquired_at.time_since_epoch(), 1'700'000'000'123ms);
  lock.name = "with\nnewline";
  EXPECT_FALSE(syncguard_info(lock));
  lock.name = "a";
  lock.fence = "seven";
  EXPECT_FALSE(syncguard_info(lock));
  lock.fence = "7";
  lock.lock_id = "nobody";
  EXPECT_FALSE(syncguard_info(lock));
}

TEST(SyncguardBusy, IsBusyWhoeverWroteIt) {
  auto const busy = syncguard_busy("nobody", "x", 250);
  EXPECT_TRUE(busy.holder.empty());
  EXPECT_EQ(busy.fence, Fence());
  EXPECT_EQ(busy.expires_in, 250ms);
}

TEST(SyncguardAnswer, IsDoneEndedOrAnothers) {
  EXPECT_TRUE(syncguard_answer(1));
  EXPECT_EQ(syncguard_answer(-2).error().reason, LossReason::expired);
  EXPECT_EQ(syncguard_answer(-1).error().reason, LossReason::taken);
  EXPECT_EQ(syncguard_answer(0).error().reason, LossReason::taken);
}

}  // namespace
}  // namespace holt
