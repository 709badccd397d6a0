// SPDX-License-Identifier: Apache-2.0
// The event log: what reaches the sink, and that nothing is made when nobody listens.
#include "base/log.hpp"

#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

namespace holt {
namespace {

class EventLogTest : public testing::Test {
 protected:
  EventLog log(LogLevel level, bool hash_names = false) {
    return {[this](LogEvent const& event) { events.push_back(event); }, level, "team", hash_names};
  }

  Name const name{"deploy"};
  Owner const owner{"inbox", "AAECAwQFBgcICQoLDA0ODw"};
  std::vector<LogEvent> events;
};

TEST_F(EventLogTest, PassesEverythingOn) {
  log(LogLevel::info).report(LogLevel::warn, "lost", name, owner, Fence(7), "expired");
  ASSERT_EQ(events.size(), 1U);
  EXPECT_EQ(events[0].level, LogLevel::warn);
  EXPECT_EQ(events[0].event, "lost");
  EXPECT_EQ(events[0].instance, "team");
  EXPECT_EQ(events[0].name, "deploy");
  EXPECT_EQ(events[0].owner, owner.text());
  EXPECT_EQ(events[0].fence, 7U);
  EXPECT_EQ(events[0].reason, "expired");
}

TEST_F(EventLogTest, DropsWhatIsBelowTheLevel) {
  auto const at_warn = log(LogLevel::warn);
  for (auto const level : {LogLevel::debug, LogLevel::info, LogLevel::warn, LogLevel::error}) {
    at_warn.report(level, "renewed", name, owner, Fence(1));
  }
  ASSERT_EQ(events.size(), 2U);
  EXPECT_EQ(events[0].level, LogLevel::warn);
  EXPECT_EQ(events[1].level, LogLevel::error);
}

TEST_F(EventLogTest, TellsTheHashInsteadOfTheNameWhereAsked) {
  log(LogLevel::info, true).report(LogLevel::info, "acquired", name, owner, Fence(1));
  ASSERT_EQ(events.size(), 1U);
  EXPECT_EQ(events[0].name, name.hash());
}

TEST_F(EventLogTest, NobodyListensByDefault) {
  EventLog().report(LogLevel::error, "lost", name, owner, Fence(1));
  EXPECT_TRUE(events.empty());
}

TEST(LogLevelTest, EveryLevelHasItsWord) {
  EXPECT_EQ(to_string(LogLevel::debug), "debug");
  EXPECT_EQ(to_string(LogLevel::info), "info");
  EXPECT_EQ(to_string(LogLevel::warn), "warn");
  EXPECT_EQ(to_string(LogLevel::error), "error");
}

}  // namespace
}  // namespace holt
