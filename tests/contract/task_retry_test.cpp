// SPDX-License-Identifier: Apache-2.0
// Attempts that fail, and tasks that ask to be tried later.

#include "contract/task_fixture.hpp"

namespace holt::test {
namespace {

class TaskRetry : public TaskTest {
 protected:
  TaskId add_with_attempts(std::uint32_t attempts) {
    NewTask task("job", "payload");
    task.max_attempts = attempts;
    return add(std::move(task)).id;
  }
};
HOLT_ON_EVERY_ENGINE(TaskRetry);

TEST_P(TaskRetry, AFailedTaskIsTriedAfterItsDelay) {
  auto const id = add();
  EXPECT_EQ(fail(claim_one(), "no luck", 1s).value(), TaskState::retrying);
  auto const found = info(id);
  EXPECT_EQ(found.state, TaskState::retrying);
  EXPECT_EQ(found.attempt, 1U);
  EXPECT_GT(found.run_at, found.added_at + 900ms);
  EXPECT_EQ(claim(1).size(), 0U);
  advance(1100ms);
  EXPECT_EQ(state(id), TaskState::pending);
  auto const held = claim_one();
  EXPECT_EQ(held.task().id, id);
  EXPECT_EQ(held.task().attempt, 2U);
}

TEST_P(TaskRetry, WithoutADelayItIsPendingAtOnce) {
  auto const id = add();
  EXPECT_EQ(fail(claim_one()).value(), TaskState::pending);
  EXPECT_EQ(state(id), TaskState::pending);
  EXPECT_EQ(claim_one().task().attempt, 2U);
}

TEST_P(TaskRetry, AfterTheLastAttemptItIsDead) {
  auto const id = add_with_attempts(2);
  EXPECT_EQ(fail(claim_one(), "first").value(), TaskState::pending);
  EXPECT_EQ(fail(claim_one(), "second", 1h).value(), TaskState::dead);
  auto const found = info(id);
  EXPECT_EQ(found.state, TaskState::dead);
  EXPECT_EQ(found.payload, "payload");
  EXPECT_EQ(found.attempt, 2U);
  EXPECT_EQ(claim(1).size(), 0U);
}

TEST_P(TaskRetry, EachFailureIsRemembered) {
  auto const id = add_with_attempts(3);
  auto request = asking(1);
  request.worker = "host/1";
  auto const owner = request.owner;
  Held const first{owner, exchange(request)};
  EXPECT_TRUE(fail(first, "first"));
  auto const second = claim_one();
  EXPECT_TRUE(fail(second, "second"));
  auto const errors = info(id).errors;
  ASSERT_EQ(errors.size(), 2U);
  EXPECT_EQ(errors[0].number, 1U);
  EXPECT_EQ(errors[0].error, "first");
  EXPECT_EQ(errors[0].worker, "host/1");
  EXPECT_EQ(errors[0].fence, first.claimed.fence);
  EXPECT_LE(errors[0].claimed_at, errors[0].ended_at);
  EXPECT_EQ(errors[1].number, 2U);
  EXPECT_EQ(errors[1].error, "second");
  EXPECT_EQ(errors[1].fence, second.claimed.fence);
}

TEST_P(TaskRetry, OfManyFailuresTheLastTenAreTold) {
  auto const id = add_with_attempts(15);
  for (int i = 1; i <= 15; ++i) EXPECT_TRUE(fail(claim_one(), "error " + std::to_string(i)));
  auto const found = info(id);
  EXPECT_EQ(found.state, TaskState::dead);
  ASSERT_EQ(found.errors.size(), task_limits::told_attempts);
  EXPECT_EQ(found.errors.front().error, "error 6");
  EXPECT_EQ(found.errors.back().error, "error 15");
}

TEST_P(TaskRetry, ACompletedTaskStillTellsItsFailures) {
  auto const id = add();
  EXPECT_TRUE(fail(claim_one(), "first"));
  EXPECT_TRUE(complete(claim_one()));
  ASSERT_EQ(info(id).errors.size(), 1U);
  EXPECT_EQ(info(id).errors[0].error, "first");
}

TEST_P(TaskRetry, RejectedIsDeadAtOnce) {
  auto const id = add_with_attempts(10);
  auto const held = claim_one();
  auto finish = held.finish(TaskOutcome::rejected);
  finish.text = "cannot be done";
  EXPECT_EQ(hand_in(finish).value(), TaskState::dead);
  auto const found = info(id);
  EXPECT_EQ(found.attempt, 1U);
  EXPECT_EQ(found.errors.at(0).error, "cannot be done");
  EXPECT_EQ(found.payload, "payload");
}

TEST_P(TaskRetry, AgainCostsNoAttempt) {
  auto const id = add_with_attempts(1);
  EXPECT_EQ(return_as(TaskOutcome::again, claim_one(), 1s).value(), TaskState::retrying);
  auto const found = info(id);
  EXPECT_EQ(found.state, TaskState::retrying);
  EXPECT_EQ(found.attempt, 0U);
  EXPECT_EQ(found.returns, 1U);
  EXPECT_EQ(claim(1).size(), 0U);
  advance(1100ms);
  EXPECT_EQ(claim_one().task().attempt, 1U);
}

TEST_P(TaskRetry, AgainIsBounded) {
  auto const id = add_with_attempts(1);
  for (std::uint32_t i = 0; i < task_limits::returns; ++i) {
    ASSERT_EQ(return_as(TaskOutcome::again, claim_one()).value(), TaskState::pending) << i;
  }
  EXPECT_EQ(info(id).returns, task_limits::returns);
  EXPECT_EQ(return_as(TaskOutcome::again, claim_one()).value(), TaskState::dead);
  EXPECT_EQ(info(id).attempt, 1U);
}

TEST_P(TaskRetry, UntouchedCostsNothing) {
  auto const id = add_with_attempts(1);
  EXPECT_EQ(return_as(TaskOutcome::untouched, claim_one()).value(), TaskState::pending);
  auto const found = info(id);
  EXPECT_EQ(found.attempt, 0U);
  EXPECT_EQ(found.returns, 0U);
  EXPECT_TRUE(found.errors.empty());
  EXPECT_EQ(claim_one().task().attempt, 1U);
}

TEST_P(TaskRetry, ALargePayloadComesEachTime) {
  std::string const large(200'000, 'p');
  auto const id = add("job", large);
  EXPECT_TRUE(fail(claim_one(), "", 1s));
  EXPECT_EQ(info(id).payload, large);
  advance(1100ms);
  auto const held = claim_one();
  EXPECT_EQ(held.task().payload, large);
  EXPECT_EQ(return_as(TaskOutcome::rejected, held).value(), TaskState::dead);
  EXPECT_EQ(info(id).payload, large);
}

class TaskGiveBack : public TaskTest {};
HOLT_ON_EVERY_ENGINE(TaskGiveBack);

TEST_P(TaskGiveBack, AllOfAClaimComesBackUntouched) {
  auto const ids = add_many(3);
  auto const held = claim(3);
  give_back(held.owner);
  EXPECT_EQ(count().pending, 3U);
  EXPECT_EQ(info(ids[0]).attempt, 0U);
  auto const next = claim(3);
  EXPECT_EQ(numbers(next.claimed.tasks), numbers(ids));
  EXPECT_EQ(next.task().attempt, 1U);
  EXPECT_GT(next.claimed.fence, held.claimed.fence);
  EXPECT_FALSE(complete(held));
}

TEST_P(TaskGiveBack, AllButWhatIsHandedIn) {
  auto const ids = add_many(3);
  auto const held = claim(3);
  auto request = asking(0);
  request.finishes.push_back(held.finish(TaskOutcome::completed, 1));
  request.give_back.push_back(held.owner);
  EXPECT_EQ(exchange(request).finishes.at(0).value(), TaskState::completed);
  EXPECT_EQ(state(ids[0]), TaskState::pending);
  EXPECT_EQ(state(ids[1]), TaskState::completed);
  EXPECT_EQ(state(ids[2]), TaskState::pending);
}

TEST_P(TaskGiveBack, OfAClaimThatIsNotThereDoesNothing) {
  add_many(1);
  auto const held = claim_one();
  give_back(client_.owner());
  EXPECT_EQ(count().running, 1U);
  EXPECT_TRUE(complete(held));
  give_back(held.owner);
  EXPECT_EQ(count().completed, 1U);
}

TEST_P(TaskGiveBack, WhatWasCancelledIsCancelled) {
  auto const ids = add_many(2);
  auto const held = claim(2);
  EXPECT_EQ(cancel(ids[0]), Cancellation::asked);
  give_back(held.owner);
  EXPECT_EQ(state(ids[0]), TaskState::cancelled);
  EXPECT_EQ(state(ids[1]), TaskState::pending);
}

}  // namespace
}  // namespace holt::test
