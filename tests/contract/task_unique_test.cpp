// SPDX-License-Identifier: Apache-2.0
// Unique keys: while one task has a key, no second one is added with it.

#include "contract/task_fixture.hpp"

#include <atomic>
#include <thread>

namespace holt::test {
namespace {

class TaskUnique : public TaskTest {
 protected:
  static NewTask keyed(Unique how, Nanos period = {}) {
    NewTask task("job", "");
    task.unique = "key";
    task.unique_while = how;
    task.unique_period = period;
    return task;
  }
  /// Whether a task with the key is refused in favour of `id`.
  testing::AssertionResult taken_by(TaskId const& id, NewTask const& task) {
    auto const added = add(task);
    if (added.duplicate && added.id == id) return testing::AssertionSuccess();
    return testing::AssertionFailure()
           << added.id.text() << (added.duplicate ? " has it" : " was added");
  }
  testing::AssertionResult free(NewTask const& task) {
    auto const added = add(task);
    if (!added.duplicate) return testing::AssertionSuccess();
    return testing::AssertionFailure() << added.id.text() << " has it";
  }
};
HOLT_ON_EVERY_ENGINE(TaskUnique);

TEST_P(TaskUnique, ASecondIsNotAddedAndTheAnswerNamesTheFirst) {
  auto const task = keyed(Unique::unfinished);
  auto const id = add(task).id;
  EXPECT_TRUE(taken_by(id, task));
  EXPECT_EQ(count().pending, 1U);
  auto other = task;
  other.unique = "other";
  EXPECT_TRUE(free(other));
}

TEST_P(TaskUnique, WithinOneCallTheFirstIsAdded) {
  auto const task = keyed(Unique::unfinished);
  auto const added = add_all({task, NewTask("job", ""), task});
  EXPECT_FALSE(added[0].duplicate);
  EXPECT_FALSE(added[1].duplicate);
  EXPECT_TRUE(added[2].duplicate);
  EXPECT_EQ(added[2].id, added[0].id);
  EXPECT_EQ(count().pending, 2U);
}

TEST_P(TaskUnique, OfManyAddersOneAdds) {
  auto const task = keyed(Unique::unfinished);
  std::atomic<int> added{0};
  {
    std::vector<std::jthread> threads;
    for (int i = 0; i < 8; ++i) {
      threads.emplace_back([&] {
        if (!add(task).duplicate) ++added;
      });
    }
  }
  EXPECT_EQ(added, 1);
  EXPECT_EQ(count().pending, 1U);
}

TEST_P(TaskUnique, AnotherQueueHasItsOwnKeys) {
  auto const task = keyed(Unique::unfinished);
  add(task);
  auto const there = run(tasks().add(AddRequest("another", {task}), deadline()));
  EXPECT_FALSE(there.at(0).duplicate);
}

TEST_P(TaskUnique, UnfinishedHoldsUntilItIsCompleted) {
  auto const task = keyed(Unique::unfinished);
  auto const id = add(task).id;
  auto const held = claim_one();
  EXPECT_TRUE(taken_by(id, task));
  EXPECT_TRUE(fail(held, "", 1h));
  EXPECT_TRUE(taken_by(id, task));
  EXPECT_EQ(cancel(id), Cancellation::cancelled);
  EXPECT_TRUE(free(task));
  EXPECT_TRUE(complete(claim_one()));
  EXPECT_TRUE(free(task));
}

TEST_P(TaskUnique, UnfinishedHoldsUntilItIsDead) {
  auto const task = keyed(Unique::unfinished);
  add(task);
  EXPECT_EQ(return_as(TaskOutcome::rejected, claim_one()).value(), TaskState::dead);
  EXPECT_TRUE(free(task));
}

TEST_P(TaskUnique, WaitingIsFreeWhileItRuns) {
  auto const task = keyed(Unique::waiting);
  auto const id = add(task).id;
  EXPECT_TRUE(taken_by(id, task));
  auto const held = claim_one();
  auto const second = add(task);
  EXPECT_FALSE(second.duplicate);
  EXPECT_TRUE(taken_by(second.id, task));
}

TEST_P(TaskUnique, WaitingIsTakenAgainByATaskThatComesBack) {
  auto const task = keyed(Unique::waiting);
  auto const id = add(task).id;
  EXPECT_TRUE(fail(claim_one(), "", 1h));
  EXPECT_TRUE(taken_by(id, task));
}

TEST_P(TaskUnique, WaitingIsTakenAgainByATaskThatIsTakenBack) {
  auto const task = keyed(Unique::waiting);
  auto const id = add(task).id;
  claim_one(1s);
  lose();
  EXPECT_TRUE(taken_by(id, task));
}

TEST_P(TaskUnique, WhoComesBackToATakenKeyGoesOnWithout) {
  auto const task = keyed(Unique::waiting);
  auto const first = add(task).id;
  auto const held = claim_one();
  auto const second = add(task).id;
  EXPECT_EQ(return_as(TaskOutcome::untouched, held).value(), TaskState::pending);
  EXPECT_TRUE(taken_by(second, task));
  EXPECT_EQ(claim_one().task().id, first);
  EXPECT_TRUE(taken_by(second, task)) << "the first took a key with it that it did not have";
}

TEST_P(TaskUnique, APeriodHoldsWhateverBecomesOfTheTask) {
  auto const task = keyed(Unique::period, 2s);
  auto const id = add(task).id;
  EXPECT_TRUE(complete(claim_one()));
  EXPECT_TRUE(taken_by(id, task));
  advance(2100ms);
  auto const second = add(task);
  EXPECT_FALSE(second.duplicate);
  EXPECT_EQ(cancel(second.id), Cancellation::cancelled);
  EXPECT_TRUE(taken_by(second.id, task));
}

TEST_P(TaskUnique, AScheduledTaskHasItsKeyToo) {
  auto task = keyed(Unique::waiting);
  task.delay = 1h;
  auto const id = add(task).id;
  EXPECT_TRUE(taken_by(id, task));
}

}  // namespace
}  // namespace holt::test
