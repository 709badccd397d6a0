// SPDX-License-Identifier: Apache-2.0
// Claims whose time is over: taken back by a later step on their queue.

#include "contract/task_fixture.hpp"

#include <algorithm>

namespace holt::test {
namespace {

class TaskEndedClaims : public TaskTest {};
HOLT_ON_EVERY_ENGINE(TaskEndedClaims);

TEST_P(TaskEndedClaims, ATaskIsRunningUntilItIsTakenBack) {
  auto const id = add();
  auto const held = claim_one(1s);
  outlive(1s);
  EXPECT_EQ(state(id), TaskState::running);
  EXPECT_EQ(count().running, 1U);
}

TEST_P(TaskEndedClaims, AreTakenBackByTheNextClaimWhichMayTakeTheirTasks) {
  auto const id = add();
  auto const held = claim_one(1s);
  EXPECT_EQ(claim(1).size(), 0U) << "before its end";
  outlive(1s);
  auto const next = claim_one();
  EXPECT_EQ(next.task().id, id);
  EXPECT_GT(next.claimed.fence, held.claimed.fence);
}

TEST_P(TaskEndedClaims, ATaskAloneHasFailed) {
  NewTask task("job", "payload");
  task.max_attempts = 2;
  auto const id = add(task).id;
  auto const held = claim_one(1s);
  lose();
  auto const found = info(id);
  EXPECT_EQ(found.state, TaskState::pending);
  EXPECT_EQ(found.attempt, 1U);
  ASSERT_EQ(found.errors.size(), 1U);
  EXPECT_EQ(found.errors[0].number, 1U);
  EXPECT_EQ(found.errors[0].fence, held.claimed.fence);
  EXPECT_FALSE(found.errors[0].error.empty());
  EXPECT_EQ(claim_one(1s).task().attempt, 2U);
  lose();
  EXPECT_EQ(state(id), TaskState::dead);
  EXPECT_EQ(info(id).payload, "payload");
  EXPECT_EQ(info(id).errors.size(), 2U);
}

TEST_P(TaskEndedClaims, TasksOfManyComeBackAtNoCost) {
  auto const ids = add_many(3);
  claim(3, 1s);
  lose();
  for (auto const& id : ids) {
    auto const found = info(id);
    EXPECT_EQ(found.state, TaskState::pending);
    EXPECT_EQ(found.attempt, 0U);
    EXPECT_TRUE(found.errors.empty());
  }
}

TEST_P(TaskEndedClaims, TasksOfManyAreClaimedAloneFromThenOn) {
  auto const ids = add_many(3);
  claim(3, 1s);
  lose();
  auto const behind = add();
  auto const first = claim(10);
  ASSERT_EQ(first.size(), 1U);
  EXPECT_LE(first.claimed.ask_again, 100ms) << "there is more";
  EXPECT_EQ(return_as(TaskOutcome::untouched, first).value(), TaskState::pending);
  for (auto const& id : ids) {
    auto const held = claim(10);
    EXPECT_EQ(numbers(held.claimed.tasks), numbers({id}));
    EXPECT_EQ(held.task().attempt, 1U);
  }
  EXPECT_EQ(numbers(claim(10).claimed.tasks), numbers({behind}));
}

TEST_P(TaskEndedClaims, WhatWasHandedInBeforeStaysSo) {
  auto const ids = add_many(2);
  auto const held = claim(2, 1s);
  EXPECT_TRUE(complete(held));
  lose();
  EXPECT_EQ(state(ids[0]), TaskState::completed);
  auto const left = info(ids[1]);
  EXPECT_EQ(left.state, TaskState::pending);
  EXPECT_EQ(left.attempt, 0U) << "it was not alone when the claim was made";
}

TEST_P(TaskEndedClaims, ATaskThatKillsItsWorkerEndsDeadAndTakesNobodyWithIt) {
  auto const ids = add_many(5);
  auto const& killer = ids[2];
  for (int round = 0; round < 20 && state(killer) != TaskState::dead; ++round) {
    auto const held = claim(5, 1s);
    bool const dies =
        std::ranges::find(held.claimed.tasks, killer, &Task::id) != held.claimed.tasks.end();
    if (dies) {
      outlive(1s);
      continue;
    }
    for (std::size_t i = 0; i < held.size(); ++i) EXPECT_TRUE(complete(held, "", i));
    if (held.size() == 0) break;
  }
  EXPECT_EQ(state(killer), TaskState::dead);
  EXPECT_EQ(info(killer).attempt, 3U);
  for (auto const& id : ids) {
    if (id == killer) continue;
    if (state(id) == TaskState::completed) continue;
    EXPECT_TRUE(complete(claim_one()));
  }
  EXPECT_EQ(count().completed, 4U);
}

TEST_P(TaskEndedClaims, WhatWasToBeCancelledIsCancelled) {
  auto const alone = add();
  auto const held = claim_one(1s);
  EXPECT_EQ(cancel(alone), Cancellation::asked);
  auto const ids = add_many(2);
  claim(2, 1s);
  EXPECT_EQ(cancel(ids[1]), Cancellation::asked);
  lose();
  EXPECT_EQ(state(alone), TaskState::cancelled);
  EXPECT_EQ(state(ids[0]), TaskState::pending);
  EXPECT_EQ(state(ids[1]), TaskState::cancelled);
}

TEST_P(TaskEndedClaims, ARenewedClaimLivesOn) {
  auto const id = add();
  auto const held = claim_one(1s);
  EXPECT_TRUE(renew(held.renewal(60s)));
  lose();
  EXPECT_EQ(state(id), TaskState::running);
  EXPECT_TRUE(complete(held));
}

TEST_P(TaskEndedClaims, ManyAreTakenBackInAFewSteps) {
  add_many(40);
  for (int i = 0; i < 40; ++i) claim_one(1s);
  outlive(1s);
  EXPECT_TRUE(comes_true([&] {
    exchange(asking(0));
    return count().running == 0;
  }));
  EXPECT_EQ(count().pending, 40U);
}

TEST_P(TaskEndedClaims, OfAnotherQueueAreLeftAlone) {
  auto const id = add();
  claim_one(1s);
  outlive(1s);
  exchange(client_, ClaimRequest("another", client_.owner(), 10, 60s));
  EXPECT_EQ(state(id), TaskState::running);
}

TEST_P(TaskEndedClaims, WhoIsIdleHearsOfTasksThatCameBack) {
  Client idle(*store_);
  add();
  claim_one(1s);
  ClaimRequest waiting(queue, idle.owner(), 1, 60s);
  waiting.idle_for = 60s;
  exchange(idle, waiting);
  lose();
  EXPECT_TRUE(idle.hears(topic::work, queue));
}

}  // namespace
}  // namespace holt::test
