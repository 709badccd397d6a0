// SPDX-License-Identifier: Apache-2.0
// Workers on every engine that has tasks, when something is odd: two of them in one process, a
// handler that forks, one that does not return.

#include "contract/queue_fixture.hpp"

#include <sys/wait.h>
#include <unistd.h>

namespace holt::test {
namespace {

class TaskWorkersInTrouble : public QueueTest {};

TEST_P(TaskWorkersInTrouble, TwoOfOneProcessForDifferentKindsAreBothWoken) {
  auto one = worker(holt_, [](Job&) {}, {.poll = 1h});
  auto two = holt_.worker({.queue = mail, .poll = 1h});
  two.handle("other", [](Job&) {});
  one.start();
  two.start();
  for (int round = 0; round < 3; ++round) {
    for (auto const* const kind : {"job", "other", "other", "job"}) {
      auto const id = queue_.add(kind, "").id;
      ASSERT_EQ(end_of(id).state, TaskState::completed) << kind << " in round " << round;
    }
  }
}

TEST_P(TaskWorkersInTrouble, AForkedChildHoldsNothing) {
  auto doing = worker(holt_, [this](Job& job) {
    auto const child = ::fork();
    if (child == 0) ::_exit(job.held() || job.progress("child") ? 1 : 0);
    int status = -1;
    EXPECT_EQ(::waitpid(child, &status, 0), child);
    EXPECT_TRUE(WIFEXITED(status));
    EXPECT_EQ(WEXITSTATUS(status), 0) << "the child believes that the task is its own";
    EXPECT_TRUE(job.held());
    notes_.write("forked");
    job.result("parent");
  });
  doing.start();
  auto const ended = end_of(queue_.add("job", "").id);
  EXPECT_EQ(ended.state, TaskState::completed);
  EXPECT_EQ(ended.result, "parent");
  EXPECT_EQ(notes_.all().size(), 1U);
}

TEST_P(TaskWorkersInTrouble, AHandlerThatDoesNotReturnIsLeftBehindAndItsTaskGoesOn) {
  Door door;
  auto stuck = worker(holt_,
                      [&](Job& job) {
                        notes_.write("started");
                        EXPECT_TRUE(door.pass());
                        job.result("late");
                        notes_.write("returned");
                      },
                      {.concurrency = 1, .ttl = 1s});
  stuck.start();
  auto const id = queue_.add("job", "").id;
  ASSERT_TRUE(notes_.has("started"));
  auto const began = BootClock::now();
  EXPECT_FALSE(stuck.stop(50ms));
  EXPECT_LT(BootClock::now() - began, 10s) << "its patience and a second";
  auto another = open_client();
  auto next = worker(another, [](Job& job) { job.result("in time"); }, {.poll = 50ms});
  next.start();
  auto const ended = end_of(id);
  EXPECT_EQ(ended.state, TaskState::completed);
  EXPECT_EQ(ended.attempt, 2U);
  door.open();
  EXPECT_TRUE(notes_.has("returned"));
  EXPECT_EQ(queue_.find(id)->result, "in time");
}

HOLT_ON_EVERY_ENGINE(TaskWorkersInTrouble);

}  // namespace
}  // namespace holt::test
