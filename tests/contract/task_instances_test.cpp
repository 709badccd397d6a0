// SPDX-License-Identifier: Apache-2.0
// A store object belongs to one instance and sees nothing of another's tasks.

#include "contract/task_fixture.hpp"

namespace holt::test {
namespace {

class TaskInstances : public TaskTest {
 protected:
  Client other_{*store_, "other"};
  TaskStore& others() { return tasks(other_); }
};
HOLT_ON_EVERY_ENGINE(TaskInstances);

TEST_P(TaskInstances, NothingOfAnotherIsFoundOrListedOrCounted) {
  auto const id = add();
  EXPECT_FALSE(run(others().find(id, deadline())));
  EXPECT_TRUE(run(others().list(queue, TaskFilter(), "", 10, deadline())).tasks.empty());
  EXPECT_EQ(run(others().count(queue, deadline())).pending, 0U);
}

TEST_P(TaskInstances, NothingOfAnotherIsClaimedOrCancelled) {
  auto const id = add();
  EXPECT_TRUE(exchange(other_, ClaimRequest(queue, other_.owner(), 10, 60s)).tasks.empty());
  EXPECT_EQ(run(others().cancel(id, deadline())), Cancellation::not_found);
  EXPECT_EQ(state(id), TaskState::pending);
}

TEST_P(TaskInstances, NothingOfAnotherIsHandedInOrRenewed) {
  auto const id = add();
  auto const held = claim_one();
  ClaimRequest request(queue, other_.owner(), 0, 60s);
  request.finishes.push_back(held.finish(TaskOutcome::completed));
  request.give_back.push_back(held.owner);
  request.answered = held.owner;
  EXPECT_FALSE(exchange(other_, request).finishes.at(0));
  EXPECT_FALSE(run(others().renew({held.renewal()}, deadline())).at(0));
  EXPECT_EQ(state(id), TaskState::running);
  EXPECT_TRUE(complete(held));
}

TEST_P(TaskInstances, UniqueKeysAndRequestsAreApart) {
  NewTask task("job", "");
  task.unique = "key";
  add_all({task}, "request-1");
  AddRequest same(queue, {task});
  same.request = RequestId("request-1");
  EXPECT_FALSE(run(others().add(same, deadline())).at(0).duplicate);
  EXPECT_EQ(run(others().count(queue, deadline())).pending, 1U);
}

TEST_P(TaskInstances, WorkersOfAnotherAreNotWoken) {
  ClaimRequest request(queue, other_.owner(), 1, 60s);
  request.idle_for = 60s;
  exchange(other_, request);
  EXPECT_FALSE(exchange(asking(1)).others_idle);
  add();
  run(others().add(AddRequest(queue, {NewTask("job", "")}), deadline()));
  EXPECT_TRUE(other_.hears(topic::work, queue));
  EXPECT_EQ(other_.times_heard(topic::work, queue), 1U);
}

}  // namespace
}  // namespace holt::test
