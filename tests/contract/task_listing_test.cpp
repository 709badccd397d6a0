// SPDX-License-Identifier: Apache-2.0
// TaskStore::list and count: what a queue holds, by number, each task in one state.

#include "contract/task_fixture.hpp"

#include <algorithm>

namespace holt::test {
namespace {

class TaskListing : public TaskTest {
 protected:
  /// One task in each state, by number: dead, completed, running, cancelled, retrying, scheduled,
  /// pending.
  std::vector<TaskId> one_in_each_state() {
    std::vector<TaskId> ids{add("a", "payload")};
    EXPECT_TRUE(return_as(TaskOutcome::rejected, claim_one()));
    ids.push_back(add("b", "payload"));
    EXPECT_TRUE(complete(claim_one(), "result"));
    ids.push_back(add("a", "payload"));
    claim_one();
    ids.push_back(add("b", "payload"));
    EXPECT_EQ(cancel(ids.back()), Cancellation::cancelled);
    ids.push_back(add("a", "payload"));
    EXPECT_TRUE(fail(claim_one(), "error", 1h));
    NewTask later("b", "payload");
    later.delay = 1h;
    ids.push_back(add(later).id);
    ids.push_back(add("a", "payload"));
    return ids;
  }
  static std::vector<std::uint64_t> listed(TaskPage const& page) {
    std::vector<std::uint64_t> all;
    for (auto const& task : page.tasks) all.push_back(task.id.number());
    return all;
  }
};
HOLT_ON_EVERY_STORE(TaskListing);

constexpr auto states = std::to_array<TaskState>(
    {TaskState::dead, TaskState::completed, TaskState::running, TaskState::cancelled,
     TaskState::retrying, TaskState::scheduled, TaskState::pending});

TEST_P(TaskListing, OfAnUnknownQueueIsEmpty) {
  EXPECT_TRUE(list().tasks.empty());
  EXPECT_TRUE(list().next.empty());
  EXPECT_EQ(count().pending, 0U);
}

TEST_P(TaskListing, ShowsEveryTaskByNumberInItsState) {
  auto const ids = one_in_each_state();
  auto const page = list();
  EXPECT_EQ(listed(page), numbers(ids));
  EXPECT_TRUE(page.next.empty());
  ASSERT_EQ(page.tasks.size(), states.size());
  for (std::size_t i = 0; i < states.size(); ++i) {
    EXPECT_EQ(page.tasks[i].state, states[i]) << i;
    EXPECT_EQ(page.tasks[i].state, state(ids[i])) << i;
  }
}

TEST_P(TaskListing, HasNoPayloadsResultsAndErrors) {
  one_in_each_state();
  for (auto const& task : list().tasks) {
    EXPECT_TRUE(task.payload.empty());
    EXPECT_TRUE(task.result.empty());
    EXPECT_TRUE(task.errors.empty());
  }
}

TEST_P(TaskListing, OfOneStateShowsOnlyThat) {
  auto const ids = one_in_each_state();
  for (std::size_t i = 0; i < states.size(); ++i) {
    EXPECT_EQ(listed(list(TaskFilter(states[i]))), numbers({ids[i]})) << to_string(states[i]);
  }
}

TEST_P(TaskListing, OfOneKindShowsOnlyThat) {
  auto const ids = one_in_each_state();
  EXPECT_EQ(listed(list(TaskFilter({}, "b"))), numbers({ids[1], ids[3], ids[5]}));
  EXPECT_EQ(listed(list(TaskFilter(TaskState::dead, "b"))), std::vector<std::uint64_t>());
  EXPECT_EQ(listed(list(TaskFilter({}, "unknown"))), std::vector<std::uint64_t>());
}

TEST_P(TaskListing, PagesJoinWithoutGapOrDouble) {
  one_in_each_state();
  add_many(20, "c");
  claim(5);
  auto const all = listed(list());
  std::vector<std::uint64_t> joined;
  std::string cursor;
  for (int pages = 0; pages < 20; ++pages) {
    auto const page = list(TaskFilter(), cursor, 4);
    EXPECT_LE(page.tasks.size(), 4U);
    for (auto const number : listed(page)) joined.push_back(number);
    cursor = page.next;
    if (cursor.empty()) break;
  }
  EXPECT_EQ(joined, all);
  EXPECT_EQ(joined.size(), 27U);
  EXPECT_TRUE(std::ranges::is_sorted(joined));
}

TEST_P(TaskListing, PagesOfAFilterJoinToo) {
  add_many(10, "a");
  add_many(10, "b");
  std::size_t seen = 0;
  std::string cursor;
  for (int pages = 0; pages < 20; ++pages) {
    auto const page = list(TaskFilter(TaskState::pending, "b"), cursor, 3);
    seen += page.tasks.size();
    cursor = page.next;
    if (cursor.empty()) break;
  }
  EXPECT_EQ(seen, 10U);
}

TEST_P(TaskListing, WhatIsDueIsPending) {
  NewTask later("job", "");
  later.delay = 1s;
  auto const id = add(later).id;
  EXPECT_EQ(count().scheduled, 1U);
  advance(1100ms);
  EXPECT_EQ(listed(list(TaskFilter(TaskState::pending))), numbers({id}));
  EXPECT_TRUE(list(TaskFilter(TaskState::scheduled)).tasks.empty());
  EXPECT_EQ(count().scheduled, 0U);
  EXPECT_EQ(count().pending, 1U);
}

TEST_P(TaskListing, CountsEachTaskOnce) {
  one_in_each_state();
  auto const counts = count();
  EXPECT_EQ(counts.scheduled, 1U);
  EXPECT_EQ(counts.pending, 1U);
  EXPECT_EQ(counts.running, 1U);
  EXPECT_EQ(counts.completed, 1U);
  EXPECT_EQ(counts.retrying, 1U);
  EXPECT_EQ(counts.dead, 1U);
  EXPECT_EQ(counts.cancelled, 1U);
}

}  // namespace
}  // namespace holt::test
