// SPDX-License-Identifier: Apache-2.0
// Workers on every engine that has tasks, through the public API: who gets which task, how they are
// woken, what they give back, and what they hear when they come too late.

#include "contract/queue_fixture.hpp"

#include <gmock/gmock.h>

#include <atomic>
#include <map>
#include <thread>

namespace holt::test {
namespace {

using testing::UnorderedElementsAreArray;

class TaskWorkers : public QueueTest {
 protected:
  std::vector<TaskId> add_many(std::size_t count, TaskOptions options = {}) {
    std::vector<TaskDraft> const drafts(count, TaskDraft{"job", "", options});
    std::vector<TaskId> ids;
    for (auto const& added : queue_.add_many(drafts)) ids.push_back(added.id);
    return ids;
  }
};

TEST_P(TaskWorkers, NeverShareATask) {
  constexpr std::size_t tasks = 300;
  auto another = open_client();
  auto const note = [this](Job& job) { notes_.write(job.task().id.text()); };
  auto one = worker(holt_, note, {.concurrency = 4});
  auto two = worker(another, note, {.concurrency = 4});
  one.start();
  two.start();
  std::vector<std::string> ids;
  for (auto const& id : add_many(tasks)) ids.push_back(id.text());
  ASSERT_TRUE(notes_.reaches(tasks));
  EXPECT_TRUE(comes_true([&] { return queue_.count().completed == tasks; }));
  EXPECT_THAT(notes_.all(), UnorderedElementsAreArray(ids));
  EXPECT_TRUE(one.stop());
  EXPECT_TRUE(two.stop());
}

TEST_P(TaskWorkers, AnIdleOneIsWokenByAnAdd) {
  auto another = open_client();
  auto doing = worker(another, [this](Job&) { notes_.write("done"); }, {.poll = 1h});
  doing.start();
  for (std::size_t i = 1; i <= 5; ++i) {
    auto const id = queue_.add("job", "").id;
    ASSERT_EQ(end_of(id).state, TaskState::completed) << i;
  }
}

TEST_P(TaskWorkers, HandlersRunBesideEachOther) {
  std::atomic<int> inside = 0;
  Door door;
  auto doing = worker(holt_,
                      [&](Job&) {
                        if (++inside == 3) door.open();
                        EXPECT_TRUE(door.pass());
                      },
                      {.concurrency = 3});
  doing.start();
  for (auto const& id : add_many(3)) EXPECT_EQ(end_of(id).state, TaskState::completed);
}

TEST_P(TaskWorkers, GiveBackWhatTheyDidNotStartWhenTheyStop) {
  Door door;
  std::atomic<bool> block = false;
  auto doing = worker(holt_,
                      [&](Job&) {
                        if (!block) return;
                        notes_.write("blocked");
                        EXPECT_TRUE(door.pass());
                      },
                      {.concurrency = 1});
  doing.start();
  // It learns that tasks are short, and takes many ahead.
  for (auto const& id : add_many(50)) end_of(id);
  block = true;
  add_many(100);
  ASSERT_TRUE(notes_.has("blocked"));
  std::thread opener([&] {
    EXPECT_TRUE(comes_true([&] { return queue_.count().pending == 99; }));
    door.open();
  });
  EXPECT_TRUE(doing.stop(30s));
  opener.join();
  auto const counts = queue_.count();
  EXPECT_EQ(counts.pending, 99U);
  EXPECT_EQ(counts.running, 0U);
  EXPECT_EQ(counts.completed, 51U);
  for (auto const& task : queue_.list(TaskState::pending).tasks) EXPECT_EQ(task.attempt, 0U);
}

TEST_P(TaskWorkers, DoNotKeepFromOthersWhatTheyCannotStartSoon) {
  Door door;
  std::atomic<bool> block = false;
  auto slow = worker(holt_,
                     [&](Job&) {
                       if (!block) return;
                       notes_.write("blocked");
                       EXPECT_TRUE(door.pass());
                     },
                     {.concurrency = 1, .ttl = 2s});
  slow.start();
  for (auto const& id : add_many(50)) end_of(id);
  block = true;
  auto const ids = add_many(20);
  ASSERT_TRUE(notes_.has("blocked"));
  auto another = open_client();
  auto quick = worker(another, [](Job&) {});
  quick.start();
  EXPECT_TRUE(comes_true([&] { return queue_.count().completed == 69; }));
  door.open();
  for (auto const& id : ids) EXPECT_EQ(end_of(id).attempt, 1U);
}

TEST_P(TaskWorkers, AskTheirHandlersToStopWhenTheirPatienceIsOver) {
  auto doing = worker(holt_, [this](Job& job) {
    notes_.write("started");
    if (asked_to_stop(job)) throw TryAgain("stopped", 0ms);
  });
  doing.start();
  auto const id = queue_.add("job", "").id;
  ASSERT_TRUE(notes_.has("started"));
  EXPECT_TRUE(doing.stop(10ms));
  EXPECT_EQ(state(id), TaskState::pending);
}

TEST_P(TaskWorkers, WorkAgainAfterAStop) {
  auto doing = worker(holt_, [](Job&) {});
  EXPECT_TRUE(doing.stop()) << "one that was not started";
  doing.start();
  end_of(queue_.add("job", "").id);
  EXPECT_TRUE(doing.stop());
  auto const id = queue_.add("job", "").id;
  doing.start();
  EXPECT_EQ(end_of(id).state, TaskState::completed);
}

TEST_P(TaskWorkers, ThatLoseAClaimAreToldAndWhatTheyReportCountsForNothing) {
  Door door;
  auto late = worker(holt_,
                     [&](Job& job) {
                       if (job.task().attempt > 1) return;
                       // It does not return in time, so its claim is not renewed.
                       EXPECT_TRUE(asked_to_stop(job));
                       EXPECT_TRUE(comes_true([&] { return !job.held(); }));
                       EXPECT_FALSE(job.progress("late"));
                       notes_.write("lost");
                       EXPECT_TRUE(door.pass());
                       job.result("late");
                     },
                     {.concurrency = 1, .ttl = 1s});
  late.on_late([&](LateFinish const& end) { notes_.write("late " + end.id.text()); });
  late.start();
  auto const id = queue_.add("job", "", {.timeout = 50ms}).id;
  ASSERT_TRUE(notes_.has("lost"));
  auto another = open_client();
  auto next = worker(another, [](Job& job) { job.result("in time"); }, {.poll = 50ms});
  next.start();
  auto const ended = end_of(id);
  EXPECT_EQ(ended.state, TaskState::completed);
  EXPECT_EQ(ended.attempt, 2U);
  door.open();
  EXPECT_TRUE(notes_.has("late " + id.text()));
  EXPECT_EQ(queue_.find(id)->result, "in time");
}

TEST_P(TaskWorkers, KeepTheirClaimsForAsLongAsTheyWork) {
  auto doing = worker(holt_,
                      [](Job& job) {
                        auto const first = job.deadline();
                        EXPECT_TRUE(comes_true([&] { return job.deadline() > first + 1s; }));
                        EXPECT_TRUE(job.held());
                        EXPECT_FALSE(job.stop().stop_requested());
                      },
                      {.ttl = 1s});
  doing.start();
  auto const ended = end_of(queue_.add("job", "").id);
  EXPECT_EQ(ended.state, TaskState::completed);
  EXPECT_EQ(ended.attempt, 1U);
}

TEST_P(TaskWorkers, ClaimOnlyWhatTheyHandle) {
  auto const other = queue_.add("other", "").id;
  auto doing = worker(holt_, [](Job&) {});
  doing.start();
  end_of(queue_.add("job", "").id);
  EXPECT_EQ(state(other), TaskState::pending);
  EXPECT_THROW(doing.handle("other", [](Job&) {}), InvalidArgument);
  EXPECT_TRUE(doing.stop());
  doing.handle("other", [](Job&) {});
  doing.start();
  EXPECT_EQ(end_of(other).state, TaskState::completed);
}

TEST_P(TaskWorkers, EndWithTheirClient) {
  auto const id = queue_.add("job", "").id;
  {
    auto another = open_client();
    auto doing = worker(another, [this](Job& job) {
      notes_.write("started");
      if (asked_to_stop(job)) throw TryAgain("closed", 0ms);
    });
    doing.start();
    ASSERT_TRUE(notes_.has("started"));
    another.close();
    EXPECT_TRUE(becomes(id, TaskState::pending));
    EXPECT_THROW(doing.start(), EngineError);
  }
  EXPECT_EQ(state(id), TaskState::pending);
}

TEST_P(TaskWorkers, ThatCannotBeAreRefused) {
  EXPECT_THROW(holt_.worker({}), InvalidArgument);
  EXPECT_THROW(holt_.worker({.queue = mail, .concurrency = 1001}), InvalidArgument);
  EXPECT_THROW(holt_.worker({.queue = mail, .ttl = 999ms}), InvalidArgument);
  EXPECT_THROW(holt_.worker({.queue = mail, .poll = 5ms}), InvalidArgument);
  EXPECT_THROW(holt_.worker({.queue = mail, .prefetch = 1001}), InvalidArgument);
  EXPECT_THROW(holt_.worker({.queue = mail, .retry = {.first = -1ms}}), InvalidArgument);
  auto idle = holt_.worker({.queue = mail});
  EXPECT_THROW(idle.start(), InvalidArgument);
  EXPECT_THROW(idle.handle("", [](Job&) {}), InvalidArgument);
  EXPECT_THROW(idle.handle("job", nullptr), InvalidArgument);
  EXPECT_THROW(idle.stop(-1ms), InvalidArgument);
  for (int i = 0; i < 32; ++i) idle.handle("kind-" + std::to_string(i), [](Job&) {});
  EXPECT_THROW(idle.handle("one-more", [](Job&) {}), InvalidArgument);
  EXPECT_FALSE(idle.name().empty());
}

HOLT_ON_EVERY_ENGINE(TaskWorkers);

}  // namespace
}  // namespace holt::test
