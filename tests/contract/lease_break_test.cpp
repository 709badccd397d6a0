// SPDX-License-Identifier: Apache-2.0
// LeaseStore::break_lease: asks the holder to stop, or frees at once.

#include "contract/engine_test.hpp"

namespace holt::test {
namespace {

class LeaseBreak : public EngineTest {};
HOLT_ON_EVERY_STORE(LeaseBreak);

TEST_P(LeaseBreak, MarksTheLeaseAndSignalsTheHolder) {
  Client holder(*store_);
  auto const owner = holder.owner();
  holder.take("a", owner);
  EXPECT_EQ(client_.break_lease("a", "maintenance"), BreakResult::asked);
  EXPECT_TRUE(holder.hears(topic::check, owner.text()));
  auto const found = client_.find("a");
  ASSERT_TRUE(found);
  EXPECT_EQ(found->owner, owner);
  EXPECT_EQ(found->broken, "maintenance");
}

TEST_P(LeaseBreak, ABrokenLeaseIsBusyForEverybody) {
  auto const owner = client_.owner();
  auto const fence = client_.take("a", owner, {.ttl = 60s});
  client_.break_lease("a", "please");
  EXPECT_FALSE(client_.acquire("a", client_.owner()));
  auto const own = client_.acquire("a", owner);
  ASSERT_FALSE(own);
  EXPECT_EQ(own.error().holder, owner);
  EXPECT_EQ(own.error().fence, fence);
}

TEST_P(LeaseBreak, IsFreeWhenItsTimeEnds) {
  client_.take("a", client_.owner(), {.ttl = 500ms});
  client_.break_lease("a", "please");
  advance(501ms);
  auto const owner = client_.owner();
  client_.take("a", owner);
  EXPECT_EQ(client_.find("a")->broken, "");
  EXPECT_TRUE(client_.renew("a", owner));
}

TEST_P(LeaseBreak, NowFreesAtOnce) {
  auto const owner = client_.owner();
  client_.take("a", owner, {.ttl = 60s});
  EXPECT_EQ(client_.break_lease("a", "stuck", true), BreakResult::freed);
  EXPECT_FALSE(client_.find("a"));
  auto const renewed = client_.renew("a", owner);
  ASSERT_FALSE(renewed);
  EXPECT_EQ(renewed.error().reason, LossReason::taken);
}

TEST_P(LeaseBreak, NowPassesOnToTheFirstInLine) {
  auto const waiter = client_.owner();
  client_.take("a", client_.owner(), {.ttl = 60s});
  client_.wait_for("a", waiter);
  EXPECT_EQ(client_.break_lease("a", "stuck", true), BreakResult::freed);
  EXPECT_TRUE(client_.hears(topic::offer, waiter.text()));
  client_.take("a", waiter);
}

TEST_P(LeaseBreak, AnOfferIsFreedAtOnce) {
  auto const holder = client_.owner();
  auto const first = client_.owner();
  auto const second = client_.owner();
  client_.take("a", holder);
  client_.wait_for("a", first, {.ttl = 60s});  // so that the offers live for a second
  client_.wait_for("a", second, {.ttl = 60s});
  EXPECT_TRUE(client_.release("a", holder));
  EXPECT_EQ(client_.break_lease("a", "next please"), BreakResult::freed);
  EXPECT_EQ(client_.find("a")->owner, second);
}

TEST_P(LeaseBreak, OfAnotherFenceChangesNothing) {
  auto const owner = client_.owner();
  auto const fence = client_.take("a", owner);
  EXPECT_EQ(client_.break_lease("a", "old", true, Fence(fence.value() - 1)),
            BreakResult::other_fence);
  EXPECT_TRUE(client_.renew("a", owner));
  EXPECT_EQ(client_.break_lease("a", "this one", false, fence), BreakResult::asked);
}

TEST_P(LeaseBreak, OfWhatNobodyHoldsSaysSo) {
  EXPECT_EQ(client_.break_lease("a", "why not"), BreakResult::not_held);
  client_.take("b", client_.owner(), {.ttl = 500ms});
  advance(501ms);
  EXPECT_EQ(client_.break_lease("b", "too late"), BreakResult::not_held);
}

TEST_P(LeaseBreak, NowEndsTheRestOfAName) {
  client_.take("a", client_.owner(), {.ttl = 500ms, .delay = 60s});
  advance(501ms);
  EXPECT_EQ(client_.break_lease("a", "no rest", true), BreakResult::freed);
  client_.take("a", client_.owner());
}

}  // namespace
}  // namespace holt::test
