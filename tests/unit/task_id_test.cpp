// SPDX-License-Identifier: Apache-2.0
// A task's id as text.
#include <holt/task.hpp>

#include <gtest/gtest.h>

#include <string>

namespace holt {
namespace {

TEST(TaskIdTest, TextGoesThereAndBack) {
  TaskId const id("mail.out_1-a", 1'800'000'000'000'001);
  EXPECT_EQ(id.text(), "mail.out_1-a/1800000000000001");
  auto const parsed = TaskId::parse(id.text());
  ASSERT_TRUE(parsed) << parsed.error();
  EXPECT_EQ(*parsed, id);
}

TEST(TaskIdTest, OneSpellingOnly) {
  for (auto const* text : {"", "q", "/1", "q/", "q/0", "q/01", "q/+1", "q/-1", "q/1 ", "q/1x",
                           "q/18446744073709551616", "a b/1", "a/b/1", "-q/1"}) {
    auto const parsed = TaskId::parse(text);
    ASSERT_FALSE(parsed) << text;
    EXPECT_FALSE(parsed.error().empty());
  }
  EXPECT_TRUE(TaskId::parse("q/18446744073709551615"));
}

TEST(TaskIdTest, EveryStateHasItsWord) {
  EXPECT_EQ(to_string(TaskState::scheduled), "scheduled");
  EXPECT_EQ(to_string(TaskState::dead), "dead");
  EXPECT_EQ(to_string(Unique::unfinished), "unfinished");
  EXPECT_EQ(to_string(Cancellation::not_found), "not_found");
}

}  // namespace
}  // namespace holt
