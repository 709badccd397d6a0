// SPDX-License-Identifier: Apache-2.0
// LeaseStore::release: the owner lets go; nothing of it stays unless somebody waits.

#include "contract/engine_test.hpp"

namespace holt::test {
namespace {

class LeaseRelease : public EngineTest {};
HOLT_ON_EVERY_STORE(LeaseRelease);

TEST_P(LeaseRelease, FreesTheName) {
  auto const owner = client_.owner();
  client_.take("a", owner);
  EXPECT_TRUE(client_.release("a", owner));
  EXPECT_FALSE(client_.find("a"));
  client_.take("a", client_.owner());
}

TEST_P(LeaseRelease, ByAnotherOwnerChangesNothing) {
  auto const owner = client_.owner();
  client_.take("a", owner);
  auto const answer = client_.release("a", client_.owner());
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().reason, LossReason::taken);
  EXPECT_EQ(client_.find("a")->owner, owner);
}

TEST_P(LeaseRelease, ASecondTimeIsLost) {
  auto const owner = client_.owner();
  client_.take("a", owner);
  EXPECT_TRUE(client_.release("a", owner));
  auto const again = client_.release("a", owner);
  ASSERT_FALSE(again);
  EXPECT_EQ(again.error().reason, LossReason::taken);
}

TEST_P(LeaseRelease, OfWhatNobodyHasIsLost) {
  auto const answer = client_.release("a", client_.owner());
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().reason, LossReason::taken);
}

TEST_P(LeaseRelease, OfWhatEndedSaysSoAndCleansUp) {
  auto const owner = client_.owner();
  client_.take("a", owner, {.ttl = 500ms, .delay = 60s});
  advance(501ms);
  auto const answer = client_.release("a", owner);
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().reason, LossReason::expired);
  client_.take("a", client_.owner());
}

TEST_P(LeaseRelease, OfWhatEndedPassesItOn) {
  auto const owner = client_.owner();
  auto const waiter = client_.owner();
  client_.take("a", owner, {.ttl = 500ms});
  client_.wait_for("a", waiter);
  advance(501ms);
  EXPECT_FALSE(client_.release("a", owner));
  EXPECT_TRUE(client_.hears(topic::offer, waiter.text()));
}

TEST_P(LeaseRelease, OfABrokenLeaseIsFine) {
  auto const owner = client_.owner();
  client_.take("a", owner);
  client_.break_lease("a", "please");
  EXPECT_TRUE(client_.release("a", owner));
  EXPECT_FALSE(client_.find("a"));
}

TEST_P(LeaseRelease, LeavesTheLine) {
  auto const holder = client_.owner();
  auto const first = client_.owner();
  auto const second = client_.owner();
  client_.take("a", holder, {.ttl = 60s});
  client_.wait_for("a", first);
  client_.wait_for("a", second);
  EXPECT_TRUE(client_.release("a", first));
  EXPECT_EQ(client_.find("a")->waiting, 1U);
  EXPECT_EQ(client_.wait_for("a", second), 1U);
  EXPECT_EQ(client_.find("a")->owner, holder);
}

TEST_P(LeaseRelease, OfAnOfferPassesItOn) {
  auto const holder = client_.owner();
  auto const first = client_.owner();
  auto const second = client_.owner();
  client_.take("a", holder);
  client_.wait_for("a", first);
  client_.wait_for("a", second);
  EXPECT_TRUE(client_.release("a", holder));
  EXPECT_TRUE(client_.release("a", first));
  EXPECT_TRUE(client_.hears(topic::offer, second.text()));
  client_.take("a", second);
}

TEST_P(LeaseRelease, LeavingAsTheFirstInLineOfAFreeNamePassesItOn) {
  auto const first = client_.owner();
  auto const second = client_.owner();
  client_.take("a", client_.owner(), {.ttl = 500ms});
  client_.wait_for("a", first);
  client_.wait_for("a", second);
  advance(501ms);
  EXPECT_TRUE(client_.release("a", first));
  EXPECT_TRUE(client_.hears(topic::offer, second.text()));
}

}  // namespace
}  // namespace holt::test
