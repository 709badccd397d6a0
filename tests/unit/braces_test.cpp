// SPDX-License-Identifier: Apache-2.0
#include "cli/braces.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace holt::cli {
namespace {

using Words = std::vector<std::string>;

TEST(BracesTest, EveryPairIsReplacedInEveryWord) {
  EXPECT_EQ(filled_in(Words{"{}", "x{}y{}", "z"}, "a b"), (Words{"a b", "xa bya b", "z"}));
}

TEST(BracesTest, WithoutOneTheEndpointIsTheLastWord) {
  EXPECT_EQ(filled_in(Words{"curl", "-s"}, "a"), (Words{"curl", "-s", "a"}));
}

TEST(BracesTest, BracesOfTheEndpointStay) {
  EXPECT_EQ(filled_in(Words{"{}{}"}, "{}"), (Words{"{}{}"}));
}

TEST(BracesTest, HalvesAreNone) {
  EXPECT_EQ(filled_in(Words{"{", "}", "{x}", ""}, "a"), (Words{"{", "}", "{x}", "", "a"}));
  EXPECT_EQ(filled_in(Words{"{{}}"}, "a"), (Words{"{a}"}));
}

}  // namespace
}  // namespace holt::cli
