// SPDX-License-Identifier: Apache-2.0
// The layout sovereign: its keys, and how an address asks for it.

#include "engines/redis/sovereign_options.hpp"

#include <holt/error.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace holt::redis {
namespace {

using testing::HasSubstr;

TEST(SovereignOptionsTest, AreTakenOutOfTheAddress) {
  std::string url =
      "redis://h:1/2?timeout=5&layout=sovereign&leader_key=app%3Aleader&heartbeat_prefix=app:beat:"
      "&eviction=allow";
  auto const options = take_sovereign_options(url);
  ASSERT_TRUE(options);
  EXPECT_EQ(url, "redis://h:1/2?timeout=5&eviction=allow");
  EXPECT_EQ(options->leader_key, "app:leader");
  EXPECT_EQ(options->heartbeat_prefix, "app:beat:");
  EXPECT_EQ(options->lease.text(), "election/app:leader");
  EXPECT_EQ(options->side_key, "app:leader:holt");
  EXPECT_EQ(options->line_key, "app:leader:holt:line");
  EXPECT_EQ(
      with_layout("redis://h:1/2", *options),
      "redis://h:1/2?layout=sovereign&leader_key=app%3Aleader&heartbeat_prefix=app%3Abeat%3A");
}

TEST(SovereignOptionsTest, HaveTheOriginalsDefaults) {
  std::string url = "redis://h?layout=sovereign";
  auto const options = take_sovereign_options(url);
  ASSERT_TRUE(options);
  EXPECT_EQ(url, "redis://h");
  EXPECT_EQ(options->leader_key, "sovereign:leader");
  EXPECT_EQ(options->heartbeat_prefix, "sovereign:heartbeat:");
}

TEST(SovereignOptionsTest, WithoutThemTheAddressStays) {
  for (std::string const text :
       {"redis://h", "redis://h?timeout=5", "redis://h?layout=syncguard&prefix=a",
        "redis://u:a?layout=sovereign@h"}) {
    auto url = text;
    EXPECT_FALSE(take_sovereign_options(url));
    EXPECT_EQ(url, text);
  }
}

TEST(SovereignOptionsTest, RefuseWhatCannotBe) {
  auto const refusal = [](std::string url) -> std::string {
    try {
      static_cast<void>(take_sovereign_options(url));
    } catch (InvalidArgument const& error) {
      return error.what();
    }
    return "accepted";
  };
  EXPECT_THAT(refusal("redis://h?leader_key=x"), HasSubstr("leader_key needs layout=sovereign"));
  EXPECT_THAT(refusal("redis://h?layout=syncguard&heartbeat_prefix=x"), HasSubstr("needs layout"));
  EXPECT_THAT(refusal("redis://h?layout=sovereign&leader_key="), HasSubstr("leader_key"));
  EXPECT_THAT(refusal("redis://h?layout=sovereign&heartbeat_prefix="), HasSubstr("is empty"));
  EXPECT_THAT(refusal("redis://h?layout=sovereign&leader_key=a&leader_key=b"), HasSubstr("twice"));
  EXPECT_THAT(refusal("redis://h?layout=sovereign&leader_key=cafe%CC%81"), HasSubstr("NFC"));
  EXPECT_THAT(refusal("redis://h?layout=sovereign&leader_key=" + std::string(504, 'k')),
              HasSubstr("use at most 503"));
  EXPECT_EQ(refusal("redis://h?layout=sovereign&leader_key=" + std::string(503, 'k')), "accepted");
  for (std::string const prefix : {"app", "app:", "app:leader", "app:leader:holt"}) {
    EXPECT_THAT(
        refusal("redis://h?layout=sovereign&leader_key=app:leader&heartbeat_prefix=" + prefix),
        HasSubstr("take its key for an old heartbeat"));
  }
}

}  // namespace
}  // namespace holt::redis
