// SPDX-License-Identifier: Apache-2.0
// An exchange that is asked again, because its answer got lost, answers the same and does nothing.

#include "contract/task_fixture.hpp"

namespace holt::test {
namespace {

class TaskRepeat : public TaskTest {};
HOLT_ON_EVERY_ENGINE(TaskRepeat);

TEST_P(TaskRepeat, GivesTheSameClaim) {
  NewTask task("job", "payload");
  task.metadata = "trace=7";
  add_all({task, task});
  add("job", std::string(100'000, 'p'));
  add_many(3);
  auto const request = asking(3);
  auto const first = exchange(request);
  auto const again = exchange(request);
  EXPECT_EQ(again.fence, first.fence);
  ASSERT_EQ(numbers(again.tasks), numbers(first.tasks));
  EXPECT_EQ(again.tasks[0].payload, "payload");
  EXPECT_EQ(again.tasks[0].metadata, "trace=7");
  EXPECT_EQ(again.tasks[2].payload.size(), 100'000U);
  EXPECT_EQ(again.tasks[0].attempt, 1U);
  EXPECT_EQ(count().running, 3U);
  EXPECT_EQ(count().pending, 3U);
}

TEST_P(TaskRepeat, TellsAgainWhatBecameOfWhatWasHandedIn) {
  auto const ids = add_many(3);
  auto const held = claim(3);
  EXPECT_TRUE(complete(held, "", 2));
  auto request = asking(0);
  for (std::size_t i = 0; i < 3; ++i) {
    request.finishes.push_back(held.finish(TaskOutcome::completed, i));
  }
  request.finishes[1].outcome = TaskOutcome::failed;
  request.finishes[1].delay = 1h;
  exchange(request);
  auto const again = exchange(request).finishes;
  ASSERT_EQ(again.size(), 3U);
  EXPECT_EQ(again[0].value(), TaskState::completed);
  EXPECT_EQ(again[1].value(), TaskState::retrying);
  ASSERT_FALSE(again[2]);
  EXPECT_EQ(again[2].error().reason, LossReason::taken);
  EXPECT_EQ(info(ids[1]).attempt, 1U);
  EXPECT_EQ(info(ids[1]).errors.size(), 1U);
}

TEST_P(TaskRepeat, TellsItWithTheClaimThatCameWithIt) {
  add_many(2);
  auto const held = claim(1);
  auto request = asking(1);
  request.finishes.push_back(held.finish(TaskOutcome::completed));
  auto const first = exchange(request);
  auto const again = exchange(request);
  EXPECT_EQ(again.finishes.at(0).value(), TaskState::completed);
  EXPECT_EQ(numbers(again.tasks), numbers(first.tasks));
  EXPECT_EQ(again.fence, first.fence);
}

TEST_P(TaskRepeat, GivesOnlyTasksThatAreStillInTheClaim) {
  auto const ids = add_many(2);
  auto const request = asking(2);
  Held const held{request.owner, exchange(request)};
  EXPECT_TRUE(complete(held));
  EXPECT_EQ(numbers(exchange(request).tasks), numbers({ids[1]}));
  EXPECT_TRUE(complete(held, "", 1));
  EXPECT_TRUE(exchange(request).tasks.empty());
}

TEST_P(TaskRepeat, MovesTheEndOfTheClaim) {
  auto const id = add();
  auto request = asking(1, 5s);
  exchange(request);
  request.ttl = 60s;
  exchange(request);
  EXPECT_GT(info(id).expires_in, 30s);
}

TEST_P(TaskRepeat, GivesNothingOfAClaimThatHasEnded) {
  auto const id = add();
  auto request = asking(1, 1s);
  exchange(request);
  outlive(1s);
  request.ttl = 60s;
  auto const again = exchange(request);
  EXPECT_TRUE(again.tasks.empty());
  EXPECT_EQ(again.fence, Fence());
  EXPECT_EQ(state(id), TaskState::running);
  exchange(asking(0));
  EXPECT_EQ(state(id), TaskState::pending);
}

TEST_P(TaskRepeat, DoesNotBringBackAClaimThatWasTakenBack) {
  auto const id = add();
  auto const request = asking(1, 1s);
  exchange(request);
  lose();
  auto const again = exchange(request);
  EXPECT_TRUE(again.tasks.empty());
  EXPECT_EQ(again.fence, Fence());
  EXPECT_EQ(state(id), TaskState::pending);
}

TEST_P(TaskRepeat, OnceAnsweredIsForgottenAndItsClaimLivesOn) {
  add_many(2);
  auto const held = claim(1);
  auto request = asking(0);
  request.answered = held.owner;
  exchange(request);
  EXPECT_TRUE(renew(held.renewal()));
  EXPECT_TRUE(complete(held));
}

TEST_P(TaskRepeat, GivenUpItsTasksComeBack) {
  auto const ids = add_many(2);
  auto const request = asking(2);
  exchange(request);
  give_back(request.owner);
  EXPECT_EQ(count().pending, 2U);
  EXPECT_TRUE(exchange(request).tasks.empty());
  EXPECT_EQ(numbers(claim(2).claimed.tasks), numbers(ids));
}

}  // namespace
}  // namespace holt::test
