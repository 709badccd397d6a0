// SPDX-License-Identifier: Apache-2.0
// Adds of several callers in one call: their requests are one field, and each is found in it again.

#include "redis/batches.hpp"

#include <gtest/gtest.h>

#include <set>

namespace holt::test {
namespace {

class TasksTogether : public testing::Test {
 protected:
  AddedTasks& ask(std::uint64_t number, bool fresh, std::string kind = "job") {
    AddRequest request("q", {NewTask(std::move(kind), "body" + std::to_string(number))});
    request.request = RequestId("time.me", number);
    request.request.fresh = fresh;
    return callers_.add(std::move(request));
  }
  /// The numbers of their tasks.
  std::vector<std::uint64_t> ask_together(std::vector<std::uint64_t> const& numbers, bool fresh) {
    std::vector<AddedTasks*> ends;
    for (auto const number : numbers) ends.push_back(&ask(number, fresh));
    callers_.run_turn();
    std::vector<std::uint64_t> told;
    for (auto const* const end : ends) {
      EXPECT_TRUE(end->answer) << (end->error ? end->error->what() : "");
      told.push_back(end->answer ? end->answer->at(0).id.number() : 0);
    }
    return told;
  }
  std::int64_t fields() { return server_.command({"HLEN", "holt:default:{q:q}:a:time"}).integer; }
  std::uint64_t pending() {
    return run(callers_.tasks().count("q", Instant::clock::now() + 5s)).pending;
  }

  RedisServer server_;
  Callers callers_{server_.url()};
};

std::vector<std::uint64_t> row(std::uint64_t first, std::uint64_t count) {
  std::vector<std::uint64_t> numbers;
  for (std::uint64_t i = 0; i < count; ++i) numbers.push_back(first + i);
  return numbers;
}

TEST_F(TasksTogether, FreshOnesAreOneFieldAndEachIsFoundAgain) {
  auto const numbers = row(7, 20);
  auto const told = ask_together(numbers, true);
  EXPECT_EQ(told, row(told.front(), 20));
  EXPECT_EQ(fields(), 1);
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    EXPECT_EQ(ask_together({numbers[i]}, false).front(), told[i]);
  }
  EXPECT_EQ(ask_together(numbers, false), told) << "together again";
  EXPECT_EQ(fields(), 1);
  EXPECT_NE(ask_together({6}, false).front(), told.front()) << "before them";
  EXPECT_NE(ask_together({27}, false).front(), told.back()) << "behind them";
  EXPECT_EQ(pending(), 22U);
}

/// The first call of a request may arrive behind its repetition.
TEST_F(TasksTogether, WhatWasRepeatedBeforeIsFoundAmongFreshOnes) {
  auto const third = ask_together({3}, false).front();
  auto const told = ask_together(row(1, 6), true);
  EXPECT_EQ(told[2], third);
  EXPECT_EQ(std::set<std::uint64_t>(told.begin(), told.end()).size(), 6U);
  EXPECT_EQ(ask_together(row(1, 6), false), told);
  EXPECT_EQ(pending(), 6U);
}

TEST_F(TasksTogether, ARequestAndItsRepetitionInOneCall) {
  auto& again = ask(2, false);
  auto& first = ask(1, true);
  auto& second = ask(2, true);
  auto& third = ask(3, true);
  auto& once_more = ask(3, false);
  callers_.run_turn();
  ASSERT_TRUE(again.answer && first.answer && second.answer && third.answer && once_more.answer);
  EXPECT_EQ(again.answer->at(0).id, second.answer->at(0).id);
  EXPECT_EQ(third.answer->at(0).id, once_more.answer->at(0).id);
  EXPECT_EQ(pending(), 3U);
}

TEST_F(TasksTogether, AKindTooManyIsRefusedToEachOfAGroup) {
  for (std::uint64_t i = 0; i < task_limits::kinds_per_queue; ++i) {
    ask(i, true, "kind" + std::to_string(i));
  }
  callers_.run_turn();
  auto& refused = ask(1000, true, "another");
  auto& too = ask(1001, true, "another");
  auto& taken = ask(1002, true, "kind0");
  auto& again = ask(1003, false, "another");
  callers_.run_turn();
  for (auto const* const end : {&refused, &too, &again}) {
    ASSERT_TRUE(end->error);
    EXPECT_EQ(end->error->code(), ErrorCode::rate_limited);
    EXPECT_EQ(end->error->outcome(), Outcome::not_applied);
  }
  EXPECT_TRUE(taken.answer);
  EXPECT_EQ(pending(), task_limits::kinds_per_queue + 1);
}

}  // namespace
}  // namespace holt::test
