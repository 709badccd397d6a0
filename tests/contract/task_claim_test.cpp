// SPDX-License-Identifier: Apache-2.0
// TaskStore::claim: who has claimed tasks has them alone, under one fence, for a time.

#include "contract/task_fixture.hpp"

namespace holt::test {
namespace {

class TaskClaim : public TaskTest {};
HOLT_ON_EVERY_STORE(TaskClaim);

TEST_P(TaskClaim, GivesTheTaskAsItWasAdded) {
  NewTask task("send mail", "{}");
  task.metadata = "trace=7";
  task.priority = 3;
  task.max_attempts = 7;
  task.timeout = 1500ms;
  auto const id = add(task).id;
  auto const held = claim_one();
  EXPECT_EQ(held.task().id, id);
  EXPECT_EQ(held.task().kind, "send mail");
  EXPECT_EQ(held.task().payload, "{}");
  EXPECT_EQ(held.task().metadata, "trace=7");
  EXPECT_EQ(held.task().priority, 3);
  EXPECT_EQ(held.task().attempt, 1U);
  EXPECT_EQ(held.task().max_attempts, 7U);
  EXPECT_EQ(held.task().timeout, 1500ms);
}

TEST_P(TaskClaim, OthersSeeWhoHasIt) {
  auto const id = add("job", "payload");
  auto request = asking(1, 30s);
  request.worker = "host/worker 1";
  auto const claimed = exchange(request);
  auto const found = info(id);
  EXPECT_EQ(found.state, TaskState::running);
  EXPECT_EQ(found.attempt, 1U);
  EXPECT_EQ(found.fence, claimed.fence);
  EXPECT_EQ(found.worker, "host/worker 1");
  EXPECT_EQ(found.payload, "payload");
  EXPECT_GT(found.expires_in, 20s);
  EXPECT_LE(found.expires_in, 30s);
}

TEST_P(TaskClaim, NobodyElseGetsIt) {
  add();
  auto const held = claim_one();
  Client other(*store_);
  EXPECT_TRUE(exchange(other, ClaimRequest(queue, other.owner(), 10, 60s)).tasks.empty());
  EXPECT_EQ(claim(10).size(), 0U);
}

TEST_P(TaskClaim, TakesAtMostWhatIsWanted) {
  add_many(5);
  EXPECT_EQ(claim(2).size(), 2U);
  EXPECT_EQ(claim(10).size(), 3U);
}

TEST_P(TaskClaim, ATaskOfManyIsAsGoodAsAlone) {
  add_many(1000);
  EXPECT_EQ(claim(1000).size(), 1000U);
  EXPECT_EQ(count().running, 1000U);
}

TEST_P(TaskClaim, OfNothingHasNoFence) {
  auto const held = claim(1);
  EXPECT_EQ(held.size(), 0U);
  EXPECT_EQ(held.claimed.fence, Fence());
}

TEST_P(TaskClaim, WantsNothing) {
  add();
  auto const claimed = exchange(asking(0));
  EXPECT_TRUE(claimed.tasks.empty());
  EXPECT_EQ(claimed.fence, Fence());
  EXPECT_EQ(count().pending, 1U);
}

TEST_P(TaskClaim, OfOneQueueLeavesOthersAlone) {
  run(tasks().add(AddRequest("another", {NewTask("job", "")}), deadline()));
  EXPECT_EQ(claim(1).size(), 0U);
}

TEST_P(TaskClaim, SaysWhenToAskAgainBecauseATaskIsDue) {
  NewTask task("job", "");
  task.delay = 10s;
  add(task);
  task.kind = "other kind";
  task.delay = 2s;
  add(task);
  auto request = asking(1);
  request.kinds = {"job"};
  request.idle_for = 60s;
  auto const again = exchange(request).ask_again;
  EXPECT_GT(again, Nanos(0));
  EXPECT_LE(again, 10s);
}

TEST_P(TaskClaim, SaysWhenToAskAgainBecauseAClaimEnds) {
  add();
  auto const held = claim_one(5s);
  auto request = asking(1);
  request.idle_for = 60s;
  auto const again = exchange(request).ask_again;
  EXPECT_GT(again, Nanos(0));
  EXPECT_LE(again, 5s);
}

TEST_P(TaskClaim, SaysToAskAgainWithinTheTimeToIdleOrAMinute) {
  auto request = asking(1);
  request.idle_for = 3s;
  auto const idle = exchange(request).ask_again;
  EXPECT_GT(idle, Nanos(0));
  EXPECT_LE(idle, 3s);
  request.owner = client_.owner();
  auto const marked = exchange(request).ask_again;
  EXPECT_GT(marked, 1s) << "it need not look more often than it wants to";
  EXPECT_LE(marked, 3s);
  auto const alone = exchange(asking(1)).ask_again;
  EXPECT_GT(alone, Nanos(0));
  EXPECT_LE(alone, 60s);
}

TEST_P(TaskClaim, HandsInAndTakesWhatIsNextInOneStep) {
  auto const ids = add_many(3);
  auto const first = claim(1);
  auto request = asking(1);
  request.finishes.push_back(first.finish(TaskOutcome::completed));
  request.answered = first.owner;
  auto const second = exchange(request);
  EXPECT_EQ(second.finishes.at(0).value(), TaskState::completed);
  EXPECT_EQ(numbers(second.tasks), numbers({ids[1]}));
  EXPECT_EQ(state(ids[0]), TaskState::completed);
}

TEST_P(TaskClaim, MayTakeWhatTheSameStepBroughtBack) {
  auto const id = add();
  auto const first = claim_one();
  auto request = asking(1);
  request.finishes.push_back(first.finish(TaskOutcome::untouched));
  EXPECT_EQ(numbers(exchange(request).tasks), numbers({id}));
}

/// As after a backup was put back: `holt doctor --raise-fence`.
TEST_P(TaskClaim, RaisingReachesTheFencesOfTasks) {
  constexpr std::uint64_t jump = std::uint64_t{1} << 32U;
  add();
  auto const before = claim_one();
  static_cast<void>(run(client_.engine().raise_fence(deadline())));
  EXPECT_EQ(complete(before), TaskState::completed) << "who holds one is left alone";
  add();
  EXPECT_GE(claim_one().claimed.fence.value(), before.claimed.fence.value() + jump);
}

}  // namespace
}  // namespace holt::test
