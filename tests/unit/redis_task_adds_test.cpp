// SPDX-License-Identifier: Apache-2.0
// AddWords: who goes to the server as one group.

#include "engines/redis/task_adds.hpp"

#include <gmock/gmock.h>

#include <deque>

namespace holt::redis {
namespace {

using testing::ElementsAre;
using testing::SizeIs;

class AddWordsTest : public testing::Test {
 protected:
  AddRequest& ask(std::string series, std::uint64_t number, bool fresh = true) {
    auto& request = requests_.emplace_back("q", std::vector<NewTask>{NewTask("job", "body")});
    request.request = RequestId(std::move(series), number);
    request.request.fresh = fresh;
    return request;
  }
  AddWords all() {
    AddWords words(1'700'000'000'000);
    for (auto const& request : requests_) words.add(request);
    static_cast<void>(words.words());
    return words;
  }

  std::deque<AddRequest> requests_;
};

TEST_F(AddWordsTest, NumbersInARowAreOneGroup) {
  for (std::uint64_t number = 5; number < 8; ++number) ask("time.me", number);
  requests_[1].tasks.front().payload = "second";
  auto words = all();
  EXPECT_THAT(words.groups(), ElementsAre(3U));
  EXPECT_THAT(words.request_starts(), ElementsAre("time"));
  EXPECT_THAT(words.words(),
              ElementsAre("=3", "job", testing::_, "me.", "5", "\x04\x06\x04", "bodysecondbody"));
}

TEST_F(AddWordsTest, AGapAnotherSeriesOrAnotherKindBeginsANewGroup) {
  ask("time.me", 1);
  ask("time.me", 3);
  ask("time.other", 4);
  ask("time.other", 5).tasks.front().kind = "another";
  ask("later.other", 6);
  auto words = all();
  EXPECT_THAT(words.groups(), ElementsAre(1U, 1U, 1U, 1U, 1U));
  EXPECT_THAT(words.request_starts(), ElementsAre("time", "time", "time", "time", "later"));
}

TEST_F(AddWordsTest, WhoHasSeveralTasksOrNoRequestStandsBetweenGroups) {
  ask("time.me", 1);
  ask("time.me", 2);
  ask("time.me", 3).tasks.emplace_back("job", "two");
  ask("", 0);
  ask("time.me", 4);
  ask("time.me", 5);
  auto words = all();
  EXPECT_THAT(words.groups(), ElementsAre(2U, 1U, 1U, 2U));
  EXPECT_THAT(words.request_starts(), SizeIs(3)) << "one of them has no request";
  EXPECT_EQ(words.tasks(), 7U);
}

/// Whoever was answered with others was no further behind the first than a group is long.
TEST_F(AddWordsTest, ARepeatedOneNamesAllThatItMayHaveBeenAskedWith) {
  ask("time.me", 200, false);
  ask("time.me", 3, false);
  auto words = all();
  EXPECT_THAT(words.groups(), ElementsAre(1U, 1U));
  auto const& said = words.words();
  ASSERT_THAT(said, SizeIs(2 * 5 + callers_per_call + 4));
  EXPECT_EQ(said[0], "?64");
  EXPECT_EQ(said[5], "200");
  EXPECT_EQ(said[5 + callers_per_call - 1], "137");
  EXPECT_EQ(said[5 + callers_per_call], "?4");
  EXPECT_EQ(said.back(), "0");
}

TEST_F(AddWordsTest, AGroupIsNoLongerThanARepeatedOneLooksBack) {
  for (std::uint64_t number = 0; number < 100; ++number) ask("time.me", number);
  EXPECT_THAT(all().groups(), ElementsAre(callers_per_call, 100 - callers_per_call));
}

/// Numbers in Lua are exact up to 2^53.
TEST_F(AddWordsTest, LargeNumbersStayAlone) {
  ask("time.me", 1ULL << 60U);
  ask("time.me", (1ULL << 60U) + 1);
  ask("time.me", 1ULL << 61U, false);
  auto words = all();
  EXPECT_THAT(words.groups(), ElementsAre(1U, 1U, 1U));
  EXPECT_EQ(words.words().at(14), "?1");
}

}  // namespace
}  // namespace holt::redis
