// SPDX-License-Identifier: Apache-2.0
// An add that finds a worker of its own client idle makes the claim in the same step.

#include "postgres/task_caller.hpp"
#include "support/servers/open_transaction.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>

namespace holt::test {
namespace {

class PostgresHandOver : public OnOneServer {
 protected:
  void SetUp() override {
    caller_.add_tasks(1);
    drain(caller_, 1);
  }
  ClaimRequest idling(Owner const& next, Nanos ttl = 60s) {
    auto request = caller_.asking(1, ttl);
    request.idle_for = 60s;
    request.next = next;
    return request;
  }
  /// Asks until the mark is surely seen by an add.
  void idle(Owner const& next, Nanos ttl = 60s) {
    ASSERT_TRUE(wait_until([&] {
      EXPECT_TRUE(caller_.exchange(idling(next, ttl)).tasks.empty());
      return marks() == "1";
    }));
  }
  std::string marks() {
    return server().query("SELECT count(*) FROM " + schema_ + ".task_idle WHERE next <> ''");
  }

  TaskCaller caller_{url_};
};

TEST_F(PostgresHandOver, ItIsRunningWhenItIsAdded) {
  auto const next = caller_.owner();
  idle(next);
  WorkListener const listener(caller_);
  auto const added = caller_.add_tasks(1).at(0);
  EXPECT_EQ(marks(), "0");
  EXPECT_TRUE(wait_until([&] { return listener.heard() == 1; }));
  auto const found = caller_.find_task(added.id);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->state, TaskState::running);
  auto const before = caller_.now();
  auto const held = caller_.exchange(idling(next));
  ASSERT_EQ(held.tasks.size(), 1U);
  EXPECT_EQ(held.owner, next);
  EXPECT_EQ(held.fence, found->fence);
  EXPECT_EQ(held.tasks[0].payload, "payload");
  EXPECT_LT(held.since, before) << "its time counts from before it was added";
  EXPECT_TRUE(caller_.exchange(completing(caller_, next, held, 0)).finishes.at(0));
}

/// As if the answer to the add had got lost: the client does not know of it.
TEST_F(PostgresHandOver, TheServerAnswersItToo) {
  auto const next = caller_.owner();
  idle(next);
  auto const added = caller_.add_tasks(1).at(0);
  for (int i = 0; i < 2; ++i) {
    auto asking = idling(next);
    asking.give_back.push_back(caller_.owner());
    auto const held = caller_.exchange(asking);
    ASSERT_EQ(held.tasks.size(), 1U) << "as often as it is asked for";
    EXPECT_EQ(held.tasks[0].id, added.id);
    EXPECT_EQ(held.tasks[0].payload, "payload");
    EXPECT_EQ(held.owner, next);
    EXPECT_EQ(held.since, Instant::max());
  }
}

TEST_F(PostgresHandOver, WhoDiesWithItHasTriedItOnce) {
  auto const next = caller_.owner();
  idle(next, 1s);
  auto const added = caller_.add_tasks(1).at(0);
  TaskCaller other(url_);
  Claimed held;
  ASSERT_TRUE(wait_until([&] {
    held = other.exchange(other.asking(1));
    return !held.tasks.empty();
  }));
  EXPECT_EQ(held.tasks[0].id, added.id);
  EXPECT_EQ(held.tasks[0].attempt, 2U);
  auto late = idling(next);
  late.give_back.push_back(caller_.owner());
  EXPECT_TRUE(caller_.exchange(late).tasks.empty()) << "it is another's now";
}

TEST_F(PostgresHandOver, NotPastATaskThatWaits) {
  // Two workers, for different kinds: the first hears of the first task and has not asked yet.
  idle(caller_.owner());
  auto const next = caller_.owner();
  auto second = idling(next);
  second.kinds = {"job", "other"};
  EXPECT_TRUE(caller_.exchange(second).tasks.empty());
  TaskCaller adder(url_);
  auto const first = adder.add_tasks(1).at(0);
  auto const last = caller_.add_tasks(1).at(0);
  EXPECT_EQ(caller_.find_task(first.id)->state, TaskState::pending);
  EXPECT_EQ(caller_.find_task(last.id)->state, TaskState::pending);
}

/// Also where its mark cannot be taken away, as a user's transaction has it.
TEST_F(PostgresHandOver, NotUnderAnOwnerThatWasGivenBack) {
  auto const next = caller_.owner();
  idle(next);
  {
    OpenTransaction const open(
        server(), fmt::format("SELECT FROM {}.task_idle WHERE next <> '' FOR UPDATE", schema_));
    ClaimRequest stopping(TaskCaller::queue, caller_.owner(), 0, 60s);
    stopping.give_back.push_back(next);
    EXPECT_TRUE(caller_.exchange(stopping).tasks.empty());
    EXPECT_EQ(marks(), "1");
  }
  auto const added = caller_.add_tasks(1).at(0);
  EXPECT_EQ(caller_.find_task(added.id)->state, TaskState::pending);
}

TEST_F(PostgresHandOver, NotToAnotherClient) {
  idle(caller_.owner());
  TaskCaller adder(url_);
  auto const added = adder.add_tasks(1).at(0);
  EXPECT_EQ(caller_.find_task(added.id)->state, TaskState::pending);
  EXPECT_EQ(marks(), "0") << "it was woken";
}

TEST_F(PostgresHandOver, SeveralAtOnceAreClaimedAsUsual) {
  auto const next = caller_.owner();
  idle(next);
  caller_.add_tasks(3);
  EXPECT_EQ(caller_.count().pending, 3U);
  EXPECT_EQ(caller_.exchange(idling(next)).tasks.size(), 1U);
}

}  // namespace
}  // namespace holt::test
