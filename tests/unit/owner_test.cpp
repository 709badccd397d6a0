// SPDX-License-Identifier: Apache-2.0
// Owners: the text form that other processes print and that rows carry.
#include <holt/error.hpp>
#include <holt/lease.hpp>

#include <gtest/gtest.h>

#include <string>
#include <string_view>

namespace holt {
namespace {

using namespace std::string_literals;

constexpr std::string_view random_part = "AAECAwQFBgcICQoLDA0ODw";

TEST(OwnerTest, TextGoesThereAndBack) {
  Owner const owner("p1234-AbC_9", random_part);
  EXPECT_EQ(owner.text(), "p1234-AbC_9.AAECAwQFBgcICQoLDA0ODw");
  EXPECT_EQ(owner.inbox(), "p1234-AbC_9");
  EXPECT_FALSE(owner.empty());
  auto const parsed = Owner::parse(owner.text());
  ASSERT_TRUE(parsed) << parsed.error();
  EXPECT_EQ(*parsed, owner);
}

TEST(OwnerTest, InboxHasOneTo64Characters) {
  EXPECT_TRUE(Owner::parse("a." + std::string(random_part)));
  EXPECT_TRUE(Owner::parse(std::string(64, 'a') + "." + std::string(random_part)));
  EXPECT_FALSE(Owner::parse(std::string(65, 'a') + "." + std::string(random_part)));
  EXPECT_FALSE(Owner::parse("." + std::string(random_part)));
}

TEST(OwnerTest, OtherTextIsRefusedWithWhatIsWrong) {
  std::string const random(random_part);
  for (auto const& text : {""s, "a"s, random}) {
    EXPECT_EQ(Owner::parse(text).error(), "the owner has no '.'; it is written <inbox>.<random>");
  }
  for (auto const& text : {"a b." + random, "../x." + random, "a\0b."s + random, "a/b." + random,
                           "é." + random, "a\n." + random}) {
    EXPECT_EQ(Owner::parse(text).error(),
              "the owner's part before '.' must be 1 to 64 letters, digits, '_' or '-'");
  }
  for (auto const& text :
       {"a."s, "a.x"s, "a." + random + "x", "a." + random.substr(1), "a." + random.substr(1) + ".",
        "a." + random.substr(1) + "=", "a." + random.substr(1) + "\n"}) {
    EXPECT_EQ(Owner::parse(text).error(),
              "the owner's part after '.' must be 22 letters, digits, '_' or '-'");
  }
}

TEST(OwnerTest, ConstructorThrowsTheSameSentence) {
  EXPECT_THROW(Owner("", random_part), InvalidArgument);
  EXPECT_THROW(Owner("a.b", random_part), InvalidArgument);
  EXPECT_THROW(Owner("a", "short"), InvalidArgument);
}

TEST(OwnerTest, DefaultIsNobody) {
  EXPECT_TRUE(Owner().empty());
  EXPECT_EQ(Owner().inbox(), "");
  EXPECT_NE(Owner(), Owner("a", random_part));
}

TEST(LeaseWordsTest, EveryValueHasItsWord) {
  EXPECT_EQ(to_string(LossReason::none), "none");
  EXPECT_EQ(to_string(LossReason::expired), "expired");
  EXPECT_EQ(to_string(LossReason::taken), "taken");
  EXPECT_EQ(to_string(LossReason::broken), "broken");
  EXPECT_EQ(to_string(LossReason::released), "released");
  EXPECT_EQ(to_string(LossReason::closed), "closed");
  EXPECT_EQ(to_string(LossReason::store_gone), "store_gone");
  EXPECT_EQ(to_string(Busy::Why::held), "held");
  EXPECT_EQ(to_string(Busy::Why::timed_out), "timed_out");
  EXPECT_EQ(to_string(Busy::Why::cancelled), "cancelled");
  EXPECT_EQ(to_string(BreakResult::asked), "asked");
  EXPECT_EQ(to_string(BreakResult::freed), "freed");
  EXPECT_EQ(to_string(BreakResult::not_held), "not_held");
  EXPECT_EQ(to_string(BreakResult::other_fence), "other_fence");
}

}  // namespace
}  // namespace holt
