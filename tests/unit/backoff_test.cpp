// SPDX-License-Identifier: Apache-2.0
#include "primitives/backoff.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <limits>

namespace holt {
namespace {

using namespace std::chrono_literals;
constexpr auto least = std::uint64_t{0};

TEST(BackoffTest, FixedStaysAndExponentialDoublesUpToItsLimit) {
  RetryOptions fixed{.delay = 100ms, .backoff = Backoff::fixed, .jitter = Jitter::none};
  EXPECT_EQ(backoff::pause(fixed, 1, least), 100ms);
  EXPECT_EQ(backoff::pause(fixed, 9, least), 100ms);
  RetryOptions doubling{.delay = 100ms, .max_delay = 1s, .jitter = Jitter::none};
  EXPECT_EQ(backoff::pause(doubling, 1, least), 100ms);
  EXPECT_EQ(backoff::pause(doubling, 2, least), 200ms);
  EXPECT_EQ(backoff::pause(doubling, 4, least), 800ms);
  EXPECT_EQ(backoff::pause(doubling, 5, least), 1s);
  EXPECT_EQ(backoff::pause(doubling, std::numeric_limits<std::uint32_t>::max(), least), 1s);
}

TEST(BackoffTest, EqualJitterKeepsHalfAndFullNothing) {
  RetryOptions equal{.delay = 100ms, .jitter = Jitter::equal};
  RetryOptions full{.delay = 100ms, .jitter = Jitter::full};
  EXPECT_EQ(backoff::pause(equal, 1, least), 50ms);
  EXPECT_EQ(backoff::pause(full, 1, least), 0ms);
  // The largest remainder of the span gives the whole pause.
  EXPECT_EQ(backoff::pause(equal, 1, 50'000'000), 100ms);
  EXPECT_EQ(backoff::pause(full, 1, 100'000'000), 100ms);
  for (std::uint64_t random = 1; random < 1'000'000'007; random += 1'234'567) {
    EXPECT_GE(backoff::pause(equal, 1, random), 50ms);
    EXPECT_LE(backoff::pause(equal, 1, random), 100ms);
    EXPECT_LE(backoff::pause(full, 1, random), 100ms);
  }
}

TEST(BackoffTest, AZeroDelayAndADelayAboveTheLimitAreFine) {
  EXPECT_EQ(backoff::pause({.delay = 0ms}, 7, 3), 0ms);
  RetryOptions const above{.delay = 1h, .max_delay = 1s, .jitter = Jitter::none};
  EXPECT_EQ(backoff::pause(above, 1, least), 1s);
}

}  // namespace
}  // namespace holt
