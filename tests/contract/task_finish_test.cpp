// SPDX-License-Identifier: Apache-2.0
// Handing in: accepted from who has the claim, under its fence, and from nobody else.

#include "contract/task_fixture.hpp"

namespace holt::test {
namespace {

class TaskHandIn : public TaskTest {
 protected:
  static void expect_taken(Finished const& answer) {
    ASSERT_FALSE(answer) << to_string(answer.value());
    EXPECT_EQ(answer.error().reason, LossReason::taken);
  }
};
HOLT_ON_EVERY_ENGINE(TaskHandIn);

TEST_P(TaskHandIn, ACompletedTaskKeepsItsResult) {
  NewTask task("job", "payload");
  task.metadata = "trace=7";
  auto const id = add(task).id;
  auto const held = claim_one();
  EXPECT_EQ(complete(held, "the result").value(), TaskState::completed);
  auto const found = info(id);
  EXPECT_EQ(found.state, TaskState::completed);
  EXPECT_EQ(found.result, "the result");
  EXPECT_EQ(found.payload, "");
  EXPECT_EQ(found.metadata, "trace=7");
  EXPECT_EQ(found.kind, "job");
  EXPECT_EQ(found.attempt, 1U);
  EXPECT_EQ(found.fence, held.claimed.fence);
  EXPECT_GE(found.ended_at, found.added_at);
  EXPECT_EQ(claim(1).size(), 0U);
}

TEST_P(TaskHandIn, AResultHasUpTo1MiBOfAnyBytes) {
  std::string result(task_limits::result_bytes, '\0');
  for (std::size_t i = 0; i < result.size(); ++i) result[i] = static_cast<char>(i);
  auto const id = add();
  EXPECT_TRUE(complete(claim_one(), result));
  EXPECT_EQ(info(id).result, result);
}

TEST_P(TaskHandIn, WithoutAResultItIsFoundToo) {
  auto const id = add();
  EXPECT_TRUE(complete(claim_one()));
  EXPECT_EQ(state(id), TaskState::completed);
  EXPECT_EQ(info(id).result, "");
}

TEST_P(TaskHandIn, ASecondTimeIsRefused) {
  auto const id = add();
  auto const held = claim_one();
  EXPECT_TRUE(complete(held, "first"));
  expect_taken(complete(held, "second"));
  expect_taken(fail(held));
  EXPECT_EQ(info(id).result, "first");
}

TEST_P(TaskHandIn, AnotherFenceIsRefused) {
  auto const id = add();
  auto const held = claim_one();
  expect_taken(
      hand_in({id, held.owner, Fence(held.claimed.fence.value() + 1), TaskOutcome::completed}));
  expect_taken(hand_in({id, held.owner, Fence(), TaskOutcome::completed}));
  EXPECT_EQ(state(id), TaskState::running);
  EXPECT_TRUE(complete(held));
}

TEST_P(TaskHandIn, AnotherOwnerIsRefused) {
  auto const id = add();
  auto const held = claim_one();
  expect_taken(hand_in({id, client_.owner(), held.claimed.fence, TaskOutcome::completed}));
  EXPECT_EQ(state(id), TaskState::running);
}

TEST_P(TaskHandIn, ATaskOfAnotherClaimIsRefused) {
  auto const ids = add_many(2);
  auto const one = claim_one();
  auto const two = claim_one();
  expect_taken(hand_in({ids[1], one.owner, one.claimed.fence, TaskOutcome::completed}));
  EXPECT_EQ(state(ids[1]), TaskState::running);
  EXPECT_TRUE(complete(two));
}

TEST_P(TaskHandIn, WhatIsNotThereIsRefused) {
  add();
  auto const held = claim_one();
  expect_taken(hand_in({TaskId(queue, 1), held.owner, held.claimed.fence, TaskOutcome::completed}));
  EXPECT_TRUE(complete(held));
}

TEST_P(TaskHandIn, LateButNotTakenBackIsAccepted) {
  auto const id = add();
  auto const held = claim_one(1s);
  outlive(1s);
  EXPECT_EQ(complete(held).value(), TaskState::completed);
  EXPECT_EQ(state(id), TaskState::completed);
}

TEST_P(TaskHandIn, AfterItWasTakenBackItIsRefused) {
  auto const id = add();
  auto const held = claim_one(1s);
  lose();
  expect_taken(complete(held, "late"));
  EXPECT_EQ(state(id), TaskState::pending);
  auto const next = claim_one();
  EXPECT_GT(next.claimed.fence, held.claimed.fence);
  expect_taken(complete(held, "late"));
  EXPECT_EQ(complete(next, "in time").value(), TaskState::completed);
  EXPECT_EQ(info(id).result, "in time");
}

TEST_P(TaskHandIn, EachIsDecidedForItself) {
  auto const ids = add_many(3);
  auto const held = claim(3);
  EXPECT_TRUE(complete(held, "", 1));
  auto request = asking(0);
  for (std::size_t i = 0; i < 3; ++i) {
    request.finishes.push_back(held.finish(TaskOutcome::completed, i));
  }
  auto const answers = exchange(request).finishes;
  ASSERT_EQ(answers.size(), 3U);
  EXPECT_EQ(answers[0].value(), TaskState::completed);
  expect_taken(answers[1]);
  EXPECT_EQ(answers[2].value(), TaskState::completed);
  EXPECT_EQ(count().completed, 3U);
}

TEST_P(TaskHandIn, TasksOfSeveralClaimsInOneStep) {
  add_many(4);
  auto const one = claim(2);
  auto const two = claim(2);
  auto request = asking(0);
  request.finishes.push_back(one.finish(TaskOutcome::completed, 0));
  request.finishes.push_back(two.finish(TaskOutcome::failed, 0));
  request.finishes.back().delay = 1h;
  request.finishes.push_back(one.finish(TaskOutcome::rejected, 1));
  auto const answers = exchange(request).finishes;
  EXPECT_EQ(answers.at(0).value(), TaskState::completed);
  EXPECT_EQ(answers.at(1).value(), TaskState::retrying);
  EXPECT_EQ(answers.at(2).value(), TaskState::dead);
  auto const counts = count();
  EXPECT_EQ(counts.completed, 1U);
  EXPECT_EQ(counts.retrying, 1U);
  EXPECT_EQ(counts.dead, 1U);
  EXPECT_EQ(counts.running, 1U);
}

TEST_P(TaskHandIn, AWholeBatchCompletes) {
  add_many(200);
  auto const held = claim(200);
  auto request = asking(0);
  for (std::size_t i = 0; i < 200; ++i) {
    request.finishes.push_back(held.finish(TaskOutcome::completed, i));
  }
  for (auto const& answer : exchange(request).finishes) {
    EXPECT_EQ(answer.value(), TaskState::completed);
  }
  EXPECT_EQ(count().completed, 200U);
  EXPECT_EQ(count().running, 0U);
}

TEST_P(TaskHandIn, ItIsKeptForItsTime) {
  NewTask task("job", "");
  task.keep = 1s;
  auto const id = add(task).id;
  auto const forgotten = add(task).id;
  auto const held = claim(2);
  EXPECT_TRUE(complete(held, "result", 0));
  EXPECT_TRUE(complete(held, "", 1));
  EXPECT_TRUE(find(id));
  advance(1100ms);
  EXPECT_FALSE(find(id));
  EXPECT_FALSE(find(forgotten));
  EXPECT_EQ(count().completed, 0U);
  EXPECT_TRUE(list().tasks.empty());
}

TEST_P(TaskHandIn, WithoutResultsTheLastThousandAreKept) {
  auto const ids = add_many(1200);
  for (int round = 0; round < 3; ++round) {
    auto const held = claim(400);
    ASSERT_EQ(held.size(), 400U);
    auto request = asking(0);
    for (std::size_t i = 0; i < 400; ++i) {
      request.finishes.push_back(held.finish(TaskOutcome::completed, i));
    }
    exchange(request);
  }
  for (std::size_t i = 200; i < 1200; ++i) ASSERT_TRUE(find(ids[i])) << i;
  EXPECT_GE(count().completed, TaskStore::kept_without_result);
}

TEST_P(TaskHandIn, WithAResultAllAreKept) {
  auto const id = add();
  EXPECT_TRUE(complete(claim_one(), "result"));
  add_many(1500);
  for (int round = 0; round < 3; ++round) {
    auto const held = claim(500);
    auto request = asking(0);
    for (std::size_t i = 0; i < held.size(); ++i) {
      request.finishes.push_back(held.finish(TaskOutcome::completed, i));
    }
    exchange(request);
  }
  EXPECT_EQ(info(id).result, "result");
}

TEST_P(TaskHandIn, WhoAddedItHearsOfItsEnd) {
  std::vector<NewTask> all(4, NewTask("job", ""));
  for (auto& task : all) task.tell = client_.engine().signals().inbox();
  all[1].max_attempts = 1;
  auto const added = add_all(all);
  auto const held = claim(3);
  EXPECT_TRUE(complete(held, "", 0));
  EXPECT_EQ(fail(held, "no", {}, 1).value(), TaskState::dead);
  EXPECT_EQ(fail(held, "not yet", 1h, 2).value(), TaskState::retrying);
  EXPECT_EQ(cancel(added[3].id), Cancellation::cancelled);
  EXPECT_TRUE(client_.hears(topic::task_ended, added[0].id.text()));
  EXPECT_TRUE(client_.hears(topic::task_ended, added[1].id.text()));
  EXPECT_TRUE(client_.hears(topic::task_ended, added[3].id.text()));
  EXPECT_FALSE(client_.heard(topic::task_ended, added[2].id.text()));
}

}  // namespace
}  // namespace holt::test
