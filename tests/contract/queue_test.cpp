// SPDX-License-Identifier: Apache-2.0
// Queues on every engine that has tasks, through the public API: what is added is done, and what
// becomes of a task is what its handler said.

#include "contract/queue_fixture.hpp"

#include <gmock/gmock.h>

namespace holt::test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

class TaskQueues : public QueueTest {};

TEST_P(TaskQueues, WhatIsAddedIsDoneAndItsResultCanBeWaitedFor) {
  auto doing = worker(holt_, [](Job& job) {
    EXPECT_EQ(job.task().payload, "ada");
    EXPECT_EQ(job.task().metadata, "meta");
    EXPECT_TRUE(job.held());
    EXPECT_GT(job.fence().value(), 0U);
    job.result("hello " + job.task().payload);
  });
  doing.start();
  auto const added = queue_.add("job", "ada", {.metadata = "meta"});
  EXPECT_FALSE(added.duplicate);
  auto const ended = end_of(added.id);
  EXPECT_EQ(ended.state, TaskState::completed);
  EXPECT_EQ(ended.result, "hello ada");
  EXPECT_EQ(ended.attempt, 1U);
  EXPECT_EQ(queue_.count().completed, 1U);
  EXPECT_TRUE(doing.stop());
}

TEST_P(TaskQueues, AFailedTaskIsTriedAgainAndThenDeadWithItsHistory) {
  auto doing = worker(holt_,
                      [this](Job& job) {
                        notes_.write(std::to_string(job.fence().value()));
                        throw std::runtime_error("no " + std::to_string(job.task().attempt));
                      },
                      {.name = "ada"});
  doing.start();
  auto const id = queue_.add("job", "", {.max_attempts = 2}).id;
  auto const ended = end_of(id);
  EXPECT_EQ(ended.state, TaskState::dead);
  ASSERT_EQ(ended.errors.size(), 2U);
  EXPECT_EQ(ended.errors[0].error, "no 1");
  EXPECT_EQ(ended.errors[1].error, "no 2");
  EXPECT_EQ(ended.errors[1].worker, "ada");
  EXPECT_LT(ended.errors[0].fence, ended.errors[1].fence);
  EXPECT_EQ(notes_.all().size(), 2U);
}

TEST_P(TaskQueues, ARejectedTaskIsDeadAtOnce) {
  auto doing = worker(holt_, [](Job&) { throw RejectTask("never"); });
  doing.start();
  auto const ended = end_of(queue_.add("job", "").id);
  EXPECT_EQ(ended.state, TaskState::dead);
  EXPECT_EQ(ended.attempt, 1U);
  ASSERT_EQ(ended.errors.size(), 1U);
  EXPECT_EQ(ended.errors[0].error, "never");
}

TEST_P(TaskQueues, WhatIsTriedAgainAsItAskedCostsNoAttempt) {
  auto doing = worker(holt_, [this](Job&) {
    notes_.write("try");
    if (notes_.all().size() < 3) throw TryAgain("not yet", 10ms);
  });
  doing.start();
  auto const ended = end_of(queue_.add("job", "", {.max_attempts = 1}).id);
  EXPECT_EQ(ended.state, TaskState::completed);
  EXPECT_EQ(ended.attempt, 1U);
  EXPECT_EQ(ended.returns, 2U);
}

TEST_P(TaskQueues, WhatIsThrownCanBeAnything) {
  auto doing =
      worker(holt_, [](Job&) { throw 42; });  // NOLINT(hicpp-exception-baseclass): as users do
  doing.start();
  auto const ended = end_of(queue_.add("job", "", {.max_attempts = 1}).id);
  EXPECT_EQ(ended.state, TaskState::dead);
  ASSERT_EQ(ended.errors.size(), 1U);
  EXPECT_THAT(ended.errors[0].error, HasSubstr("not an exception"));
}

TEST_P(TaskQueues, OfALongErrorTheEndIsKept) {
  auto doing = worker(holt_, [](Job&) { throw RejectTask(std::string(10'000, 'x') + "the end"); });
  doing.start();
  auto const ended = end_of(queue_.add("job", "").id);
  ASSERT_EQ(ended.errors.size(), 1U);
  EXPECT_EQ(ended.errors[0].error.size(), task_limits::error_bytes);
  EXPECT_THAT(ended.errors[0].error, testing::EndsWith("the end"));
}

TEST_P(TaskQueues, AResultThatIsTooLargeFailsTheAttempt) {
  auto doing = worker(holt_, [](Job& job) { job.result(std::string(2 << 20, 'x')); });
  doing.start();
  auto const ended = end_of(queue_.add("job", "", {.max_attempts = 1}).id);
  EXPECT_EQ(ended.state, TaskState::dead);
}

TEST_P(TaskQueues, CancellingReachesTheHandler) {
  auto doing = worker(holt_, [this](Job& job) {
    notes_.write("started");
    if (asked_to_stop(job)) throw std::runtime_error("stopped");
  });
  doing.start();
  auto const id = queue_.add("job", "").id;
  ASSERT_TRUE(notes_.has("started"));
  EXPECT_EQ(queue_.cancel(id), Cancellation::asked);
  EXPECT_EQ(end_of(id).state, TaskState::cancelled);
  EXPECT_EQ(queue_.cancel(id), Cancellation::finished);
}

TEST_P(TaskQueues, AWaitingTaskThatIsCancelledDoesNotRun) {
  auto const id = queue_.add("job", "").id;
  EXPECT_EQ(queue_.cancel(id), Cancellation::cancelled);
  EXPECT_EQ(end_of(id).state, TaskState::cancelled);
  EXPECT_EQ(queue_.cancel(TaskId(std::string(mail), id.number() + 100)), Cancellation::not_found);
}

TEST_P(TaskQueues, AHandlerIsToldWhenItsTimeIsOver) {
  auto doing = worker(holt_, [](Job& job) {
    if (asked_to_stop(job)) throw std::runtime_error("too slow");
  });
  doing.start();
  auto const ended = end_of(queue_.add("job", "", {.max_attempts = 1, .timeout = 50ms}).id);
  EXPECT_EQ(ended.state, TaskState::dead);
  EXPECT_EQ(ended.errors.at(0).error, "too slow");
}

TEST_P(TaskQueues, ProgressIsSeenWhileItRuns) {
  Door door;
  auto doing = worker(holt_, [&](Job& job) {
    EXPECT_TRUE(job.progress("half"));
    door.pass();
  });
  doing.start();
  auto const id = queue_.add("job", "").id;
  EXPECT_TRUE(comes_true([&] { return queue_.find(id)->progress == "half"; }));
  door.open();
  EXPECT_EQ(end_of(id).state, TaskState::completed);
}

TEST_P(TaskQueues, AUniqueKeyKeepsASecondOneOut) {
  auto const first = queue_.add("job", "1", {.unique = "ada"});
  auto const second = queue_.add("job", "2", {.unique = "ada"});
  EXPECT_TRUE(second.duplicate);
  EXPECT_EQ(second.id, first.id);
  auto doing = worker(holt_, [](Job&) {});
  doing.start();
  end_of(first.id);
  EXPECT_FALSE(queue_.add("job", "3", {.unique = "ada"}).duplicate);
}

TEST_P(TaskQueues, OneWorkerTakesTheMostUrgentFirst) {
  std::vector<TaskDraft> drafts;
  for (std::int32_t const priority : {9, 5, 1, 5}) {
    drafts.push_back({"job", std::to_string(priority), {.priority = priority}});
  }
  auto const added = queue_.add_many(drafts);
  EXPECT_EQ(added.size(), 4U);
  auto doing = worker(holt_, [this](Job& job) { notes_.write(job.task().payload); },
                      {.concurrency = 1, .prefetch = 0});
  doing.start();
  ASSERT_TRUE(notes_.reaches(4));
  EXPECT_THAT(notes_.all(), ElementsAre("1", "5", "5", "9"));
}

TEST_P(TaskQueues, ADelayedTaskRunsWhenItsTimeHasCome) {
  auto doing = worker(holt_, [](Job&) {});
  doing.start();
  auto const before = std::chrono::steady_clock::now();
  auto const id = queue_.add("job", "", {.delay = 300ms}).id;
  EXPECT_EQ(end_of(id).state, TaskState::completed);
  EXPECT_GE(std::chrono::steady_clock::now() - before, 290ms);
}

TEST_P(TaskQueues, ListingsAndCountsTellWhatThereIs) {
  auto const one = queue_.add("job", "1").id;
  auto const two = queue_.add("other", "2", {.delay = 1h}).id;
  EXPECT_EQ(queue_.list().tasks.size(), 2U);
  auto const scheduled = queue_.list(TaskState::scheduled);
  ASSERT_EQ(scheduled.tasks.size(), 1U);
  EXPECT_EQ(scheduled.tasks[0].id, two);
  EXPECT_EQ(queue_.count().pending, 1U);
  EXPECT_EQ(queue_.find(one)->payload, "1");
  EXPECT_FALSE(queue_.find(TaskId(std::string(mail), two.number() + 100)));
}

TEST_P(TaskQueues, AWaitEndsWhenItsTimeIsOverOrItsCallerStopsIt) {
  auto const id = queue_.add("job", "").id;
  EXPECT_FALSE(queue_.wait(id, 30ms));
  std::stop_source stop;
  stop.request_stop();
  EXPECT_FALSE(queue_.wait(id, 30s, stop.get_token()));
  EXPECT_FALSE(queue_.wait(TaskId(std::string(mail), id.number() + 100)));
}

TEST_P(TaskQueues, WhatCannotBeIsRefused) {
  EXPECT_THROW(holt_.queue("no/slash"), InvalidArgument);
  EXPECT_THROW(queue_.add("", "x"), InvalidArgument);
  EXPECT_THROW(queue_.add(std::string_view("a\0b", 3), "x"), InvalidArgument);
  EXPECT_THROW(queue_.add("job", "x", {.priority = 0}), InvalidArgument);
  EXPECT_THROW(queue_.add("job", "x", {.priority = 11}), InvalidArgument);
  EXPECT_THROW(queue_.add("job", "x", {.delay = -1ms}), InvalidArgument);
  EXPECT_THROW(queue_.add("job", std::string((1 << 20) + 1, 'x')), InvalidArgument);
  EXPECT_THROW(queue_.find(TaskId("another", 1)), InvalidArgument);
  EXPECT_THROW(queue_.list({}, {}, 1001), InvalidArgument);
  EXPECT_TRUE(queue_.add_many({}).empty());
  EXPECT_EQ(queue_.count().pending, 0U);
}

HOLT_ON_EVERY_ENGINE(TaskQueues);

/// On those without tasks as well.
class QueuePlaces : public EngineTest {};

TEST_P(QueuePlaces, AreRefusedWhereThereIsNoPlaceForTasks) {
  OpenOptions options;
  options.instance = "default";
  auto holt = open(store_->url(), std::move(options));
  if (has_tasks(GetParam().name)) {
    EXPECT_EQ(holt.queue("mail").name(), "mail");
  } else {
    EXPECT_THAT(what_is_thrown<InvalidArgument>([&] { holt.queue("mail"); }),
                HasSubstr("no place for tasks"));
    EXPECT_THROW(holt.worker({.queue = "mail"}), InvalidArgument);
  }
}

HOLT_ON_EVERY_ENGINE(QueuePlaces);

}  // namespace
}  // namespace holt::test
