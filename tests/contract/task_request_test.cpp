// SPDX-License-Identifier: Apache-2.0
// TaskStore::add: the same request again, also where several callers came together with fresh ones
// and a store remembers them as one.

#include "contract/task_fixture.hpp"

#include <atomic>
#include <map>
#include <mutex>
#include <thread>

namespace holt::test {
namespace {

class TaskRequests : public TaskTest {
 protected:
  static constexpr int callers = 16;
  /// What was answered to each number of a series.
  using Answers = std::map<std::uint64_t, TaskId>;

  TaskId add_as(Client& client, RequestId id, bool fresh) {
    AddRequest adding(queue, {NewTask("job", "{}")});
    adding.request = std::move(id);
    adding.request.fresh = fresh;
    return run(tasks(client).add(std::move(adding), deadline())).at(0).id;
  }

  /// Each number up to `last` is asked once, by whoever of the callers is next.
  Answers ask_together(Client& client, std::string const& series, std::uint64_t last, bool fresh) {
    Answers answers;
    std::mutex mutex;
    std::atomic<std::uint64_t> next = 1;
    {
      std::vector<std::jthread> threads;
      for (int i = 0; i < callers; ++i) {
        threads.emplace_back([&] {
          for (auto number = next++; number <= last; number = next++) {
            auto const id = add_as(client, RequestId(series, number), fresh);
            std::scoped_lock const lock(mutex);
            answers.emplace(number, id);
          }
        });
      }
    }
    return answers;
  }

  static std::size_t different(Answers const& answers) {
    std::set<TaskId> ids;
    for (auto const& [number, id] : answers) ids.insert(id);
    return ids.size();
  }

  Client other_{*store_};
};
HOLT_ON_EVERY_STORE(TaskRequests);

TEST_P(TaskRequests, OfThoseWhoCameTogetherEachIsAnsweredAgain) {
  auto const asked = ask_together(client_, "a.series", 200, true);
  EXPECT_EQ(different(asked), 200U);
  for (auto const& [number, id] : asked) {
    EXPECT_EQ(add_as(number % 2 == 0 ? client_ : other_, RequestId("a.series", number), false), id)
        << number;
  }
  EXPECT_EQ(ask_together(client_, "a.series", 200, false), asked) << "together again";
  EXPECT_EQ(count().pending, 200U);
}

TEST_P(TaskRequests, WhatWasAskedBeforeIsPassedOver) {
  auto const third = add_as(other_, RequestId("a.series", 3), false);
  auto const ninth = add_as(client_, RequestId("a.series", 9), false);
  auto const asked = ask_together(client_, "a.series", 32, true);
  EXPECT_EQ(asked.at(3), third);
  EXPECT_EQ(asked.at(9), ninth);
  EXPECT_EQ(different(asked), 32U);
  EXPECT_EQ(count().pending, 32U);
}

TEST_P(TaskRequests, WhoeverComesFirst) {
  for (int round = 0; round < 8; ++round) {
    auto const series = "a.series" + std::to_string(round);
    Answers again;
    Answers fresh;
    {
      std::jthread const late([&] { again = ask_together(other_, series, 24, false); });
      fresh = ask_together(client_, series, 24, true);
    }
    EXPECT_EQ(fresh, again);
    EXPECT_EQ(different(fresh), 24U);
  }
  EXPECT_EQ(count().pending, 8U * 24U);
}

TEST_P(TaskRequests, NumbersAndSeriesAreApart) {
  std::set<TaskId> ids;
  for (auto const* const series : {"a", "a.1", "a.1.2", "1", "-", "a.-1"}) {
    for (std::uint64_t const number : {0ULL, 1ULL, 2ULL, 12ULL, ~0ULL >> 1U}) {
      ids.insert(add_as(client_, RequestId(series, number), number % 2 == 0));
    }
  }
  EXPECT_EQ(ids.size(), 30U);
  EXPECT_EQ(count().pending, 30U);
}

TEST_P(TaskRequests, MixedWithAddsOfSeveralTasksAndOfOtherKinds) {
  std::mutex mutex;
  std::map<std::uint64_t, std::vector<Added>> asked;
  auto const adding_of = [](std::uint64_t number, bool fresh) {
    std::vector<NewTask> tasks(number % 3 + 1, NewTask(number % 5 == 0 ? "other" : "job", "{}"));
    if (number % 7 == 0) tasks.front().unique = "key" + std::to_string(number % 2);
    AddRequest adding(queue, std::move(tasks));
    adding.request = RequestId("a.series", number);
    adding.request.fresh = fresh;
    return adding;
  };
  {
    std::vector<std::jthread> threads;
    for (std::uint64_t i = 0; i < callers; ++i) {
      threads.emplace_back([&, i] {
        for (auto number = i + 1; number <= 64; number += callers) {
          auto const added = run(tasks().add(adding_of(number, true), deadline()));
          std::scoped_lock const lock(mutex);
          asked.emplace(number, added);
        }
      });
    }
  }
  auto const there = count().pending;
  for (auto const& [number, added] : asked) {
    auto const again = run(tasks().add(adding_of(number, false), deadline()));
    ASSERT_EQ(again.size(), added.size());
    for (std::size_t i = 0; i < added.size(); ++i) {
      EXPECT_EQ(again[i].id, added[i].id) << number;
      EXPECT_EQ(again[i].duplicate, added[i].duplicate) << number;
    }
  }
  EXPECT_EQ(count().pending, there);
}

}  // namespace
}  // namespace holt::test
