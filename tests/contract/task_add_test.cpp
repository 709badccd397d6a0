// SPDX-License-Identifier: Apache-2.0
// TaskStore::add: what is answered is there, once, in the order asked.

#include "contract/task_fixture.hpp"

#include <mutex>
#include <set>
#include <thread>

namespace holt::test {
namespace {

/// A task store is there exactly where the suites think so.
class TaskStores : public EngineTest {};
HOLT_ON_EVERY_ENGINE(TaskStores);

TEST_P(TaskStores, AreWhereTheSuitesThink) {
  EXPECT_EQ(client_.engine().tasks() != nullptr, has_tasks(GetParam().name));
}

class TaskAdd : public TaskTest {};
HOLT_ON_EVERY_STORE(TaskAdd);

TEST_P(TaskAdd, WhatIsAddedIsFound) {
  NewTask task("send mail", "{\"to\":1}");
  task.metadata = "trace=7";
  task.priority = 3;
  task.max_attempts = 7;
  task.timeout = 1500ms;
  task.unique = "mail/1";
  auto const before = store_->env().wall();
  auto const added = add(task);
  EXPECT_FALSE(added.duplicate);
  EXPECT_EQ(added.id.queue(), queue);
  EXPECT_GT(added.id.number(), 0U);
  auto const found = info(added.id);
  EXPECT_EQ(found.id, added.id);
  EXPECT_EQ(found.state, TaskState::pending);
  EXPECT_EQ(found.kind, "send mail");
  EXPECT_EQ(found.payload, "{\"to\":1}");
  EXPECT_EQ(found.metadata, "trace=7");
  EXPECT_EQ(found.priority, 3);
  EXPECT_EQ(found.attempt, 0U);
  EXPECT_EQ(found.max_attempts, 7U);
  EXPECT_EQ(found.returns, 0U);
  EXPECT_EQ(found.timeout, 1500ms);
  EXPECT_EQ(found.unique, "mail/1");
  EXPECT_GE(found.added_at, before - 1s);
  EXPECT_LE(found.added_at, store_->env().wall() + 1s);
  EXPECT_EQ(found.fence, Fence());
  EXPECT_TRUE(found.errors.empty());
  EXPECT_FALSE(found.cancel_asked);
}

TEST_P(TaskAdd, WhatWasNotAddedIsNotFound) { EXPECT_FALSE(find(TaskId(queue, 12345))); }

TEST_P(TaskAdd, AnyBytesAreKept) {
  std::string bytes;
  for (int i = 0; i < 256; ++i) bytes += static_cast<char>(i);
  NewTask task("job", bytes);
  task.metadata = bytes;
  auto const id = add(task).id;
  EXPECT_EQ(info(id).payload, bytes);
  EXPECT_EQ(info(id).metadata, bytes);
  auto const held = claim_one();
  EXPECT_EQ(held.task().payload, bytes);
  EXPECT_EQ(held.task().metadata, bytes);
}

TEST_P(TaskAdd, APayloadHasUpTo1MiB) {
  std::string const large(task_limits::payload_bytes, 'p');
  auto const id = add("job", large);
  EXPECT_EQ(info(id).payload, large);
  EXPECT_EQ(claim_one().task().payload, large);
}

TEST_P(TaskAdd, AnswersInTheOrderAskedWithNumbersThatGrow) {
  std::vector<NewTask> all;
  for (int i = 0; i < 50; ++i) all.emplace_back("kind" + std::to_string(i % 7), std::to_string(i));
  auto const added = add_all(all);
  ASSERT_EQ(added.size(), 50U);
  std::uint64_t last = 0;
  for (std::size_t i = 0; i < added.size(); ++i) {
    EXPECT_GT(added[i].id.number(), last);
    last = added[i].id.number();
    EXPECT_EQ(info(added[i].id).payload, std::to_string(i));
  }
}

TEST_P(TaskAdd, ManyThousandsInOneCall) {
  auto const ids = add_many(5000);
  EXPECT_EQ(std::set(ids.begin(), ids.end()).size(), 5000U);
  EXPECT_EQ(count().pending, 5000U);
}

TEST_P(TaskAdd, NumbersAreNeverUsedTwice) {
  auto const first = add();
  EXPECT_TRUE(complete(claim_one()));
  EXPECT_GT(add().number(), first.number());
}

TEST_P(TaskAdd, TheSameRequestAddsOnceAndAnswersTheSame) {
  std::vector<NewTask> const two{NewTask("job", "1"), NewTask("job", "2")};
  auto const first = add_all(two, "request-1");
  auto const again = add_all(two, "request-1");
  ASSERT_EQ(again.size(), 2U);
  for (std::size_t i = 0; i < 2; ++i) {
    EXPECT_EQ(again[i].id, first[i].id);
    EXPECT_EQ(again[i].duplicate, first[i].duplicate);
  }
  EXPECT_EQ(count().pending, 2U);
}

TEST_P(TaskAdd, TheSameRequestAnswersTheSameWhenTheTaskIsDone) {
  std::vector<NewTask> const one{NewTask("job", "")};
  auto const first = add_all(one, "request-1");
  EXPECT_TRUE(complete(claim_one()));
  EXPECT_EQ(add_all(one, "request-1").at(0).id, first.at(0).id);
  EXPECT_EQ(count().pending, 0U);
}

TEST_P(TaskAdd, TheSameRequestTellsDuplicatesAgain) {
  NewTask task("job", "");
  task.unique = "key";
  auto const id = add(task).id;
  auto const first = add_all({task}, "request-1");
  EXPECT_TRUE(complete(claim_one()));
  auto const again = add_all({task}, "request-1");
  EXPECT_EQ(again.at(0).id, id);
  EXPECT_TRUE(again.at(0).duplicate);
  EXPECT_TRUE(first.at(0).duplicate);
}

TEST_P(TaskAdd, TheSameRequestTellsDuplicatesAmongOthersAgain) {
  NewTask held("job", "");
  held.unique = "key";
  add(held);
  NewTask const plain("job", "");
  NewTask twice("job", "");
  twice.unique = "other key";
  std::vector<NewTask> const tasks{plain, plain, held, held, twice, twice, plain};
  auto const first = add_all(tasks, "request-1");
  auto const again = add_all(tasks, "request-1");
  ASSERT_EQ(again.size(), tasks.size());
  std::vector<bool> duplicates;
  for (std::size_t i = 0; i < tasks.size(); ++i) {
    EXPECT_EQ(again[i].id, first[i].id);
    EXPECT_EQ(again[i].duplicate, first[i].duplicate);
    duplicates.push_back(again[i].duplicate);
  }
  EXPECT_EQ(duplicates, (std::vector{false, false, true, true, false, true, false}));
  EXPECT_EQ(first[5].id, first[4].id);
}

TEST_P(TaskAdd, AnotherRequestIsAnotherTask) {
  std::vector<NewTask> const one{NewTask("job", "")};
  auto const first = add_all(one, "request-1");
  EXPECT_NE(add_all(one, "request-2").at(0).id, first.at(0).id);
  AddRequest elsewhere("another", one);
  elsewhere.request = RequestId("request-1");
  auto const there = run(tasks().add(elsewhere, deadline()));
  EXPECT_EQ(there.at(0).id.queue(), "another");
  EXPECT_EQ(count().pending, 2U);
}

TEST_P(TaskAdd, CallsWithOneRequestThatOverlapAddOnce) {
  std::mutex mutex;
  std::set<TaskId> ids;
  {
    std::vector<std::jthread> threads;
    for (int i = 0; i < 8; ++i) {
      threads.emplace_back([&] {
        auto const added = add_all({NewTask("job", ""), NewTask("job", "")}, "request-1");
        std::scoped_lock const lock(mutex);
        for (auto const& one : added) ids.insert(one.id);
      });
    }
  }
  EXPECT_EQ(ids.size(), 2U);
  EXPECT_EQ(count().pending, 2U);
}

TEST_P(TaskAdd, ATaskForLaterIsScheduled) {
  NewTask task("job", "");
  task.delay = 1s;
  auto const id = add(task).id;
  EXPECT_EQ(state(id), TaskState::scheduled);
  EXPECT_GT(info(id).run_at, info(id).added_at + 900ms);
  EXPECT_EQ(claim(1).size(), 0U);
  advance(1100ms);
  EXPECT_EQ(state(id), TaskState::pending);
  EXPECT_EQ(claim_one().task().id, id);
}

TEST_P(TaskAdd, TheLaterOfDelayAndTimeCounts) {
  NewTask task("job", "");
  task.delay = 1s;
  task.not_before = store_->env().wall() + 1h;
  auto const later = info(add(task).id);
  EXPECT_GT(later.run_at, later.added_at + 50min);
  task.not_before = store_->env().wall() - 1h;
  auto const sooner = info(add(task).id);
  EXPECT_LT(sooner.run_at, sooner.added_at + 5s);
  task.delay = {};
  EXPECT_EQ(state(add(task).id), TaskState::pending);
}

TEST_P(TaskAdd, AnotherClientSeesIt) {
  auto const id = add();
  Client other(*store_);
  EXPECT_TRUE(run(tasks(other).find(id, deadline())));
}

TEST_P(TaskAdd, AQueueHasAtMost256KindsAndAddsAllOrNothing) {
  std::vector<NewTask> all;
  for (std::size_t i = 0; i < task_limits::kinds_per_queue; ++i) {
    all.emplace_back("kind" + std::to_string(i), "");
  }
  add_all(all);
  try {
    add_all({NewTask("kind0", ""), NewTask("one too many", "")});
    FAIL() << "it was added";
  } catch (EngineError const& error) {
    EXPECT_EQ(error.code(), ErrorCode::rate_limited);
    EXPECT_EQ(error.outcome(), Outcome::not_applied);
  }
  EXPECT_EQ(count().pending, task_limits::kinds_per_queue);
  add("kind0");
}

}  // namespace
}  // namespace holt::test
