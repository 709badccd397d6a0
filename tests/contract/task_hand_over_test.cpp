// SPDX-License-Identifier: Apache-2.0
// TaskStore::claim: `next`. A store may hand over a task in the step that adds it, or not; whoever
// asks gets it once, either way.

#include "contract/task_fixture.hpp"

namespace holt::test {
namespace {

class TaskHandOver : public TaskTest {
 protected:
  ClaimRequest idling(Owner const& next, std::uint32_t want = 2) {
    auto request = asking(want);
    request.idle_for = 60s;
    request.next = next;
    return request;
  }
  /// Who asks, wants tasks, and idles if there are none.
  Held ask(Owner const& next, std::uint32_t want = 2) {
    auto request = idling(next, want);
    auto claimed = exchange(request);
    auto const owner = claimed.owner.empty() ? request.owner : claimed.owner;
    return {owner, std::move(claimed)};
  }
};
HOLT_ON_EVERY_STORE(TaskHandOver);

TEST_P(TaskHandOver, WhoIdlesGetsWhatIsAddedOnce) {
  auto const next = client_.owner();
  EXPECT_EQ(ask(next).size(), 0U);
  auto const id = add();
  EXPECT_TRUE(client_.hears(topic::work, queue));
  auto const held = ask(next);
  ASSERT_EQ(held.size(), 1U);
  EXPECT_EQ(held.task().id, id);
  EXPECT_EQ(held.task().kind, "job");
  EXPECT_EQ(held.task().attempt, 1U);
  EXPECT_TRUE(held.claimed.owner.empty() || held.claimed.owner == next);
  EXPECT_EQ(state(id), TaskState::running);
  EXPECT_EQ(info(id).fence, held.claimed.fence);
  EXPECT_TRUE(renew(held.renewal()));
  EXPECT_EQ(ask(client_.owner()).size(), 0U);
  EXPECT_EQ(complete(held), TaskState::completed);
}

TEST_P(TaskHandOver, AskedForAgainItIsTheSameAndOthersDoNotGetIt) {
  auto const next = client_.owner();
  ask(next);
  auto const id = add();
  auto const held = ask(next);
  ASSERT_EQ(held.size(), 1U);
  auto const again = ask(next);
  if (again.size() > 0) {
    EXPECT_EQ(again.owner, held.owner);
    EXPECT_EQ(again.task().id, id);
    EXPECT_EQ(again.claimed.fence, held.claimed.fence);
  }
  Client other(*store_);
  EXPECT_EQ(exchange(other, ClaimRequest(queue, other.owner(), 5, 60s)).tasks.size(), 0U);
  EXPECT_EQ(complete(held), TaskState::completed);
  EXPECT_EQ(ask(next).size(), 0U);
}

TEST_P(TaskHandOver, WhatWasHandedOverIsPartOfAnExchangeThatHandsIn) {
  add_many(1);
  auto const first = claim_one();
  auto const next = client_.owner();
  EXPECT_EQ(ask(next).size(), 0U);
  auto const id = add();
  auto request = idling(next);
  request.finishes.push_back(first.finish(TaskOutcome::completed));
  auto const claimed = exchange(request);
  EXPECT_EQ(claimed.finishes.at(0), TaskState::completed);
  ASSERT_EQ(claimed.tasks.size(), 1U);
  EXPECT_EQ(claimed.tasks[0].id, id);
}

TEST_P(TaskHandOver, WhoGivesBackItsNextGetsNothingMore) {
  auto const next = client_.owner();
  ask(next);
  auto const id = add();
  give_back(next);
  EXPECT_EQ(state(id), TaskState::pending);
  EXPECT_EQ(claim_one().task().attempt, 1U) << "it cost no attempt";
  auto const another = client_.owner();
  ask(another);
  give_back(another);
  auto const later = add();
  EXPECT_EQ(state(later), TaskState::pending);
}

TEST_P(TaskHandOver, OnlyOfTheKindsThatWereAskedFor) {
  auto const next = client_.owner();
  auto request = idling(next);
  request.kinds = {"job"};
  exchange(request);
  auto const other = add("other");
  EXPECT_EQ(state(other), TaskState::pending);
  auto const id = add();
  auto again = idling(next);
  again.kinds = {"job"};
  auto const claimed = exchange(again);
  ASSERT_EQ(claimed.tasks.size(), 1U);
  EXPECT_EQ(claimed.tasks[0].id, id);
}

TEST_P(TaskHandOver, TasksOfOneAdderComeInTheirOrder) {
  auto const next = client_.owner();
  ask(next, 5);
  auto const ids = std::vector{add(), add(), add()};
  std::vector<TaskId> got;
  for (int i = 0; i < 3 && got.size() < ids.size(); ++i) {
    auto const held = ask(i == 0 ? next : client_.owner(), 5);
    for (std::size_t n = 0; n < held.size(); ++n) got.push_back(held.task(n).id);
  }
  EXPECT_EQ(got, ids);
}

}  // namespace
}  // namespace holt::test
