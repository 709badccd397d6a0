// SPDX-License-Identifier: Apache-2.0
#include "client/queue_settings.hpp"

#include <holt/error.hpp>

#include <gtest/gtest.h>

#include <cstdlib>
#include <utility>

namespace holt::client {
namespace {

using namespace std::chrono_literals;

class QueueSettingsTest : public testing::Test {
 protected:
  void TearDown() override {
    for (auto const* const name :
         {"HOLT_QUEUE_WORKERS", "HOLT_QUEUE_LOCK_DURATION", "HOLT_QUEUE_POLL_INTERVAL"}) {
      ::unsetenv(name);
    }
  }
};

TEST_F(QueueSettingsTest, WhatTheProgramSaysCountsThenTheEnvironmentThenTheUsual) {
  EXPECT_EQ(queue_workers(0), 5U);
  EXPECT_EQ(queue_lock_duration(0ms), 10s);
  EXPECT_EQ(queue_poll_interval(0ms), 1s);
  ::setenv("HOLT_QUEUE_WORKERS", "12", 1);
  ::setenv("HOLT_QUEUE_LOCK_DURATION", "5m", 1);
  ::setenv("HOLT_QUEUE_POLL_INTERVAL", "250ms", 1);
  EXPECT_EQ(queue_workers(0), 12U);
  EXPECT_EQ(queue_lock_duration(0ms), 5min);
  EXPECT_EQ(queue_poll_interval(0ms), 250ms);
  EXPECT_EQ(queue_workers(3), 3U);
  EXPECT_EQ(queue_lock_duration(2s), 2s);
  EXPECT_EQ(queue_poll_interval(1h), 1h);
}

TEST_F(QueueSettingsTest, DurationsAreWrittenAsEverywhere) {
  for (auto const& [text, wanted] : {std::pair("1d", 24h), std::pair("24h", 24h)}) {
    ::setenv("HOLT_QUEUE_LOCK_DURATION", text, 1);
    EXPECT_EQ(queue_lock_duration(0ms), wanted);
  }
  ::setenv("HOLT_QUEUE_LOCK_DURATION", "1m30s", 1);
  EXPECT_EQ(queue_lock_duration(0ms), 90s);
}

TEST_F(QueueSettingsTest, WhatCannotBeIsRefused) {
  EXPECT_THROW((void)queue_workers(1001), InvalidArgument);
  EXPECT_THROW((void)queue_lock_duration(999ms), InvalidArgument);
  EXPECT_THROW((void)queue_poll_interval(9ms), InvalidArgument);
  for (auto const* const wrong : {"0", "1001", "five", "5s", "-1"}) {
    ::setenv("HOLT_QUEUE_WORKERS", wrong, 1);
    EXPECT_THROW((void)queue_workers(0), InvalidArgument) << wrong;
  }
  for (auto const* const wrong : {"10", "0s", "25h", "s", "1 s", "99999999999s", "1.5s", "30s1m"}) {
    ::setenv("HOLT_QUEUE_LOCK_DURATION", wrong, 1);
    EXPECT_THROW((void)queue_lock_duration(0ms), InvalidArgument) << wrong;
  }
}

}  // namespace
}  // namespace holt::client
