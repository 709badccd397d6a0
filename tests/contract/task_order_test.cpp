// SPDX-License-Identifier: Apache-2.0
// Which tasks a claim takes, and in which order: by priority, then number.

#include "contract/task_fixture.hpp"

namespace holt::test {
namespace {

class TaskOrder : public TaskTest {
 protected:
  TaskId add_with(std::int32_t priority, std::string const& kind = "job", Nanos delay = {}) {
    NewTask task(kind, "");
    task.priority = priority;
    task.delay = delay;
    return add(std::move(task)).id;
  }
};
HOLT_ON_EVERY_ENGINE(TaskOrder);

TEST_P(TaskOrder, FirstInFirstOut) {
  auto const ids = add_many(20);
  EXPECT_EQ(numbers(claim(20).claimed.tasks), numbers(ids));
}

TEST_P(TaskOrder, TheMostUrgentFirst) {
  auto const last = add_with(10);
  auto const usual = add_with(5);
  auto const first = add_with(1);
  auto const usual_too = add_with(5);
  EXPECT_EQ(numbers(claim(10).claimed.tasks), numbers({first, usual, usual_too, last}));
}

TEST_P(TaskOrder, HoldsAcrossClaims) {
  auto const ids = add_many(9);
  std::vector<std::uint64_t> taken;
  for (int i = 0; i < 3; ++i) {
    for (auto const number : numbers(claim(3).claimed.tasks)) taken.push_back(number);
  }
  EXPECT_EQ(taken, numbers(ids));
}

TEST_P(TaskOrder, HoldsAcrossKinds) {
  std::vector<TaskId> ids;
  for (auto const* kind : {"b", "a", "c", "a", "b", "c"}) ids.push_back(add(kind));
  EXPECT_EQ(numbers(claim(3).claimed.tasks), numbers({ids[0], ids[1], ids[2]}));
  EXPECT_EQ(numbers(claim(10).claimed.tasks), numbers({ids[3], ids[4], ids[5]}));
}

TEST_P(TaskOrder, OnlyTheKindsAskedFor) {
  auto const a = add("a");
  auto const b = add("b");
  auto const c = add("c");
  auto const urgent = add_with(1, "b");
  EXPECT_EQ(claim(10, 60s, {"unknown"}).size(), 0U);
  auto const held = claim(10, 60s, {"a", "unknown", "b"});
  EXPECT_EQ(numbers(held.claimed.tasks), numbers({urgent, a, b}));
  EXPECT_EQ(claim_one().task().id, c);
}

TEST_P(TaskOrder, AKindAskedForTwiceComesOnce) {
  auto const id = add("a");
  EXPECT_EQ(numbers(claim(10, 60s, {"a", "a"}).claimed.tasks), numbers({id}));
}

TEST_P(TaskOrder, WhatIsDueComesInItsPlace) {
  auto const later = add_with(1, "job", 1s);
  auto const usual = add_with(5);
  advance(1100ms);
  EXPECT_EQ(numbers(claim(10).claimed.tasks), numbers({later, usual}));
}

TEST_P(TaskOrder, WhatIsNotDueIsPassedOver) {
  add_with(1, "job", 1h);
  auto const now = add_with(10);
  EXPECT_EQ(numbers(claim(10).claimed.tasks), numbers({now}));
}

TEST_P(TaskOrder, WhatComesBackUntouchedHasItsOldPlace) {
  auto const ids = add_many(3);
  auto const held = claim(2);
  EXPECT_EQ(return_as(TaskOutcome::untouched, held).value(), TaskState::pending);
  EXPECT_EQ(numbers(claim(10).claimed.tasks), numbers({ids[0], ids[2]}));
}

TEST_P(TaskOrder, AClaimEndsAtItsBytes) {
  std::vector<TaskId> ids;
  for (int i = 0; i < 5; ++i) ids.push_back(add("job", std::string(3000, 'p')));
  auto request = asking(10);
  request.max_bytes = 7000;
  auto const claimed = exchange(request);
  EXPECT_EQ(numbers(claimed.tasks), numbers({ids[0], ids[1]}));
  EXPECT_LE(claimed.ask_again, 100ms) << "there is more";
  EXPECT_EQ(claim(10).size(), 3U);
}

TEST_P(TaskOrder, TheFirstComesWhateverItsSize) {
  auto const large = add("job", std::string(100'000, 'p'));
  add("job", "small");
  auto request = asking(10);
  request.max_bytes = 10;
  EXPECT_EQ(numbers(exchange(request).tasks), numbers({large}));
}

}  // namespace
}  // namespace holt::test
