// SPDX-License-Identifier: Apache-2.0
// TaskStore::renew: keeps claims, and carries progress.

#include "contract/task_fixture.hpp"

namespace holt::test {
namespace {

class TaskRenewal : public TaskTest {
 protected:
  static void expect_lost(std::expected<RenewedClaim, Lost> const& answer, LossReason why) {
    ASSERT_FALSE(answer);
    EXPECT_EQ(answer.error().reason, why) << to_string(answer.error().reason);
  }
};
HOLT_ON_EVERY_STORE(TaskRenewal);

TEST_P(TaskRenewal, MovesTheEnd) {
  auto const id = add();
  auto const held = claim_one(5s);
  auto const renewed = renew(held.renewal(60s));
  ASSERT_TRUE(renewed);
  EXPECT_TRUE(renewed->cancelled.empty());
  EXPECT_TRUE(renewed->refused.empty());
  EXPECT_GT(info(id).expires_in, 30s);
}

TEST_P(TaskRenewal, NeverBack) {
  auto const id = add();
  auto const held = claim_one(60s);
  EXPECT_TRUE(renew(held.renewal(1s)));
  EXPECT_GT(info(id).expires_in, 30s);
}

TEST_P(TaskRenewal, OfAnotherIsRefused) {
  add();
  auto const held = claim_one();
  expect_lost(renew({queue, client_.owner(), held.claimed.fence, 60s}), LossReason::taken);
  expect_lost(renew({queue, held.owner, Fence(held.claimed.fence.value() + 1), 60s}),
              LossReason::taken);
  expect_lost(renew({"another", held.owner, held.claimed.fence, 60s}), LossReason::taken);
}

TEST_P(TaskRenewal, OfWhatHasEndedIsRefused) {
  auto const id = add();
  auto const held = claim_one(1s);
  outlive(1s);
  expect_lost(renew(held.renewal()), LossReason::expired);
  exchange(asking(0));
  EXPECT_EQ(state(id), TaskState::pending) << "it came back to life";
  expect_lost(renew(held.renewal()), LossReason::taken);
}

TEST_P(TaskRenewal, OfWhatIsHandedInIsRefused) {
  add();
  auto const held = claim_one();
  EXPECT_TRUE(complete(held));
  expect_lost(renew(held.renewal()), LossReason::taken);
}

TEST_P(TaskRenewal, OfManyClaimsAnswersInTheOrderAsked) {
  auto const ids = add_many(3);
  auto const one = claim_one();
  auto const two = claim_one();
  auto const three = claim_one();
  EXPECT_TRUE(complete(two));
  EXPECT_EQ(cancel(ids[2]), Cancellation::asked);
  auto const answers =
      run(tasks().renew({one.renewal(), two.renewal(), three.renewal()}, deadline()));
  ASSERT_EQ(answers.size(), 3U);
  ASSERT_TRUE(answers[0]);
  EXPECT_TRUE(answers[0]->cancelled.empty());
  expect_lost(answers[1], LossReason::taken);
  ASSERT_TRUE(answers[2]);
  EXPECT_EQ(numbers(answers[2]->cancelled), numbers({ids[2]}));
}

TEST_P(TaskRenewal, ProgressIsSeenByAll) {
  auto const ids = add_many(2);
  auto const held = claim(2);
  auto renewal = held.renewal();
  renewal.progress.emplace_back(ids[1], "half done");
  ASSERT_TRUE(renew(renewal));
  EXPECT_EQ(info(ids[1]).progress, "half done");
  EXPECT_EQ(info(ids[0]).progress, "");
  renewal.progress.front().text = "nearly done";
  ASSERT_TRUE(renew(renewal));
  EXPECT_EQ(info(ids[1]).progress, "nearly done");
  EXPECT_TRUE(complete(held, "", 1));
  EXPECT_EQ(info(ids[1]).progress, "nearly done");
}

TEST_P(TaskRenewal, ProgressOfATaskThatIsNotInTheClaimIsRefused) {
  auto const ids = add_many(2);
  auto const one = claim_one();
  auto const two = claim_one();
  auto renewal = one.renewal();
  renewal.progress.emplace_back(ids[1], "not mine");
  renewal.progress.emplace_back(ids[0], "mine");
  auto const renewed = renew(renewal);
  ASSERT_TRUE(renewed);
  EXPECT_EQ(numbers(renewed->refused), numbers({ids[1]}));
  EXPECT_EQ(info(ids[1]).progress, "");
  EXPECT_EQ(info(ids[0]).progress, "mine");
}

TEST_P(TaskRenewal, ProgressOfALostClaimChangesNothing) {
  auto const id = add();
  auto const held = claim_one(1s);
  outlive(1s);
  auto renewal = held.renewal();
  renewal.progress.emplace_back(id, "too late");
  expect_lost(renew(renewal), LossReason::expired);
  EXPECT_EQ(info(id).progress, "");
}

}  // namespace
}  // namespace holt::test
