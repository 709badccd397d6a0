// SPDX-License-Identifier: Apache-2.0
#include "cli/start_pause.hpp"

#include <gtest/gtest.h>

namespace holt::cli {
namespace {

using namespace std::chrono_literals;

TEST(StartPause, GrowsFromFailureToFailure) {
  StartPause pause;
  Instant now(1h);
  for (auto const wanted : {100ms, 200ms, 400ms, 800ms, 1'600ms, 3'200ms, 6'400ms, 12'800ms,
                            25'600ms, 30'000ms, 30'000ms}) {
    auto const failure = pause.failed(now);
    EXPECT_EQ(failure.pause, wanted);
    now += failure.pause;
  }
}

TEST(StartPause, ManyAtATimeAreOne) {
  StartPause pause;
  Instant const now(1h);
  for (int i = 0; i < 1000; ++i) EXPECT_EQ(pause.failed(now + 99ms * (i % 2)).pause, 100ms);
}

TEST(StartPause, ASuccessEndsIt) {
  StartPause pause;
  Instant const now(1h);
  EXPECT_EQ(pause.failed(now).pause, 100ms);
  EXPECT_EQ(pause.failed(now + 1s).pause, 200ms);
  pause.succeeded();
  EXPECT_EQ(pause.failed(now + 1s).pause, 100ms);
}

TEST(StartPause, IsToldOfNowAndThen) {
  StartPause pause;
  Instant const now(1h);
  EXPECT_TRUE(pause.failed(now).is_news);
  pause.succeeded();
  EXPECT_FALSE(pause.failed(now + 29s).is_news);
  EXPECT_TRUE(pause.failed(now + 30s).is_news);
}

}  // namespace
}  // namespace holt::cli
