// SPDX-License-Identifier: Apache-2.0
// TaskStore::cancel.

#include "contract/task_fixture.hpp"

namespace holt::test {
namespace {

class TaskCancel : public TaskTest {};
HOLT_ON_EVERY_STORE(TaskCancel);

TEST_P(TaskCancel, AWaitingTaskWillNotRun) {
  auto const id = add("job", "payload");
  EXPECT_EQ(cancel(id), Cancellation::cancelled);
  auto const found = info(id);
  EXPECT_EQ(found.state, TaskState::cancelled);
  EXPECT_EQ(found.payload, "");
  EXPECT_EQ(claim(1).size(), 0U);
  EXPECT_EQ(count().cancelled, 1U);
}

TEST_P(TaskCancel, AmongOthersOnlyThatOneGoes) {
  auto const ids = add_many(3);
  EXPECT_EQ(cancel(ids[1]), Cancellation::cancelled);
  EXPECT_EQ(numbers(claim(10).claimed.tasks), numbers({ids[0], ids[2]}));
}

TEST_P(TaskCancel, AScheduledOrRetryingTaskWillNotRun) {
  NewTask task("job", "");
  task.delay = 1s;
  auto const scheduled = add(task).id;
  auto const retrying = add();
  EXPECT_TRUE(fail(claim_one(), "", 1s));
  EXPECT_EQ(cancel(scheduled), Cancellation::cancelled);
  EXPECT_EQ(cancel(retrying), Cancellation::cancelled);
  advance(1100ms);
  EXPECT_EQ(claim(10).size(), 0U);
  EXPECT_EQ(state(scheduled), TaskState::cancelled);
  EXPECT_EQ(state(retrying), TaskState::cancelled);
}

TEST_P(TaskCancel, ARunningTaskIsAskedToStop) {
  auto const ids = add_many(2);
  auto const held = claim(2);
  EXPECT_EQ(cancel(ids[1]), Cancellation::asked);
  EXPECT_TRUE(client_.hears(topic::task_check, held.owner.text()));
  EXPECT_TRUE(info(ids[1]).cancel_asked);
  EXPECT_FALSE(info(ids[0]).cancel_asked);
  EXPECT_EQ(state(ids[1]), TaskState::running);
  auto const renewed = renew(held.renewal());
  ASSERT_TRUE(renewed);
  EXPECT_EQ(numbers(renewed->cancelled), numbers({ids[1]}));
}

TEST_P(TaskCancel, AllButCompletedIsCancelledThen) {
  for (auto const outcome :
       {TaskOutcome::failed, TaskOutcome::rejected, TaskOutcome::again, TaskOutcome::untouched}) {
    auto const id = add();
    auto const held = claim_one();
    EXPECT_EQ(cancel(id), Cancellation::asked);
    EXPECT_EQ(return_as(outcome, held).value(), TaskState::cancelled);
    EXPECT_EQ(state(id), TaskState::cancelled);
  }
  EXPECT_EQ(claim(1).size(), 0U);
}

TEST_P(TaskCancel, WhatCompletesAllTheSameIsCompleted) {
  auto const id = add();
  auto const held = claim_one();
  EXPECT_EQ(cancel(id), Cancellation::asked);
  EXPECT_EQ(complete(held, "result").value(), TaskState::completed);
  EXPECT_EQ(info(id).result, "result");
}

TEST_P(TaskCancel, TwiceIsHarmless) {
  auto const waiting = add();
  EXPECT_EQ(cancel(waiting), Cancellation::cancelled);
  EXPECT_EQ(cancel(waiting), Cancellation::finished);
  auto const running = add();
  auto const held = claim_one();
  EXPECT_EQ(cancel(running), Cancellation::asked);
  EXPECT_EQ(cancel(running), Cancellation::asked);
  EXPECT_EQ(renew(held.renewal())->cancelled.size(), 1U);
}

TEST_P(TaskCancel, WhatHasEndedStaysAsItIs) {
  auto const completed = add();
  EXPECT_TRUE(complete(claim_one(), "result"));
  EXPECT_EQ(cancel(completed), Cancellation::finished);
  EXPECT_EQ(info(completed).result, "result");
  auto const dead = add("job", "payload");
  EXPECT_TRUE(return_as(TaskOutcome::rejected, claim_one()));
  EXPECT_EQ(cancel(dead), Cancellation::finished);
  EXPECT_EQ(state(dead), TaskState::dead);
}

TEST_P(TaskCancel, WhatIsNotThereIsNotFound) {
  EXPECT_EQ(cancel(TaskId(queue, 12345)), Cancellation::not_found);
  EXPECT_EQ(cancel(TaskId("never", 12345)), Cancellation::not_found);
}

}  // namespace
}  // namespace holt::test
