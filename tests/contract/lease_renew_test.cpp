// SPDX-License-Identifier: Apache-2.0
// LeaseStore::renew: nothing that ended, was broken or belongs to another is brought back.

#include "contract/engine_test.hpp"

namespace holt::test {
namespace {

class LeaseRenew : public EngineTest {};
HOLT_ON_EVERY_STORE(LeaseRenew);

TEST_P(LeaseRenew, SetsTheEndToNowPlusTtl) {
  auto const owner = client_.owner();
  client_.take("a", owner, {.ttl = 1s});
  EXPECT_TRUE(client_.renew("a", owner, 20s));
  auto const found = client_.find("a");
  ASSERT_TRUE(found);
  EXPECT_GT(found->expires_in, 10s);
  EXPECT_EQ(found->ttl, 20s);
}

TEST_P(LeaseRenew, NeverMovesTheEndBack) {
  auto const owner = client_.owner();
  client_.take("a", owner, {.ttl = 60s});
  EXPECT_TRUE(client_.renew("a", owner, 1s));
  EXPECT_GT(client_.find("a")->expires_in, 30s);
}

TEST_P(LeaseRenew, KeepsTheFenceAndTheNote) {
  auto const owner = client_.owner();
  auto const fence = client_.take("a", owner, {.note = "kept"});
  EXPECT_TRUE(client_.renew("a", owner));
  EXPECT_EQ(client_.find("a")->fence, fence);
  EXPECT_EQ(client_.find("a")->note, "kept");
}

TEST_P(LeaseRenew, KeepsALeaseAliveForLongerThanItsTtl) {
  auto const owner = client_.owner();
  client_.take("a", owner, {.ttl = 500ms});
  for (int i = 0; i < 5; ++i) {
    advance(300ms);
    ASSERT_TRUE(client_.renew("a", owner, 500ms));
  }
}

TEST_P(LeaseRenew, DoesNotBringBackWhatEnded) {
  auto const owner = client_.owner();
  client_.take("a", owner, {.ttl = 500ms});
  outlive(500ms);
  auto const answer = client_.renew("a", owner);
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().reason, LossReason::expired);
  EXPECT_FALSE(client_.find("a"));
}

TEST_P(LeaseRenew, DoesNotBringBackWhatEndedAndRests) {
  auto const owner = client_.owner();
  client_.take("a", owner, {.ttl = 500ms, .delay = 60s});
  advance(501ms);
  auto const answer = client_.renew("a", owner);
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().reason, LossReason::expired);
}

TEST_P(LeaseRenew, IsLostWhenAnotherHasIt) {
  auto const owner = client_.owner();
  client_.take("a", client_.owner(), {.ttl = 60s});
  auto const answer = client_.renew("a", owner);
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().reason, LossReason::taken);
}

TEST_P(LeaseRenew, IsLostWhenNobodyHasIt) {
  auto const owner = client_.owner();
  client_.take("a", owner);
  EXPECT_TRUE(client_.release("a", owner));
  auto const answer = client_.renew("a", owner);
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().reason, LossReason::taken);
}

TEST_P(LeaseRenew, IsLostWhenBrokenAndSaysWhy) {
  auto const owner = client_.owner();
  client_.take("a", owner);
  EXPECT_EQ(client_.break_lease("a", "maintenance"), BreakResult::asked);
  auto const answer = client_.renew("a", owner);
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().reason, LossReason::broken);
  EXPECT_EQ(answer.error().detail, "maintenance");
}

TEST_P(LeaseRenew, IsNotForAPlaceInLine) {
  auto const waiter = client_.owner();
  client_.take("a", client_.owner(), {.ttl = 60s});
  client_.wait_for("a", waiter, {.ticket_ttl = 500ms});
  auto const answer = client_.renew("a", waiter, 60s);
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().reason, LossReason::taken);
  advance(501ms);
  EXPECT_EQ(client_.find("a")->waiting, 0U);
}

TEST_P(LeaseRenew, IsNotForAnOffer) {
  auto const holder = client_.owner();
  auto const waiter = client_.owner();
  client_.take("a", holder);
  client_.wait_for("a", waiter);
  EXPECT_TRUE(client_.release("a", holder));
  auto const answer = client_.renew("a", waiter, 60s);
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().reason, LossReason::taken);
  EXPECT_TRUE(client_.find("a")->offered);
  EXPECT_LE(client_.find("a")->expires_in, 1s);
}

TEST_P(LeaseRenew, AnswersManyInTheOrderAsked) {
  std::vector<LeaseRenewal> renewals;
  for (auto const* name : {"a", "b", "c", "d"}) {
    renewals.emplace_back(client_.named(name), client_.owner(), 60s);
  }
  client_.take("a", renewals[0].owner, {.ttl = 60s});
  client_.take("c", renewals[2].owner, {.ttl = 60s});
  auto const answers =
      run(client_.engine().leases().renew(std::move(renewals), client_.deadline()));
  ASSERT_EQ(answers.size(), 4U);
  EXPECT_TRUE(answers[0]);
  EXPECT_FALSE(answers[1]);
  EXPECT_TRUE(answers[2]);
  EXPECT_FALSE(answers[3]);
}

TEST_P(LeaseRenew, OfNothingAnswersNothing) {
  EXPECT_TRUE(run(client_.engine().leases().renew({}, client_.deadline())).empty());
}

}  // namespace
}  // namespace holt::test
