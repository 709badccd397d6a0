// SPDX-License-Identifier: Apache-2.0
// The rule of trust: margins at the published points, and that trust always ends before the lease.
#include "primitives/trust.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <cmath>
#include <random>

namespace holt {
namespace {

using namespace std::chrono_literals;
using trust::Nanos;

constexpr Instant start{std::chrono::hours(100)};

struct Vector {
  Nanos ttl;
  Nanos margin;
  Nanos renew;  ///< after the start, as the next
  Nanos at_risk;
  Nanos deadline;
  Nanos retry;
};

TEST(TrustTest, Vectors) {
  for (auto const& v : {
           Vector{100ms, 25ms, 33ms, 54ms, 75ms, 5ms},
           Vector{199ms, 49'750us, 65'670us, 107'460us, 149'250us, 6'633'333ns},
           Vector{200ms, 50ms, 66ms, 108ms, 150ms, 6'666'666ns},
           Vector{1s, 50ms, 330ms, 640ms, 950ms, 33'333'333ns},
           Vector{5s, 50ms, 1'650ms, 3'300ms, 4950ms, 166'666'666ns},
           Vector{30s, 300ms, 9'900ms, 19'800ms, 29'700ms, 1s},
           Vector{24h, 864s, 28'512s, 57'024s, 24h - 864s, 1s},
       }) {
    SCOPED_TRACE(v.ttl.count());
    EXPECT_EQ(trust::margin(v.ttl), v.margin);
    EXPECT_EQ(trust::renew_every(v.ttl), v.renew);
    EXPECT_EQ(trust::at_risk_at(start, v.ttl, v.renew), start + v.at_risk);
    EXPECT_EQ(trust::deadline(start, v.ttl), start + v.deadline);
    EXPECT_EQ(trust::retry_after(v.ttl), v.retry);
  }
}

TEST(TrustTest, MarginHasItsThreeParts) {
  EXPECT_EQ(trust::margin(100ms), 100ms / 4);  // a quarter of a short one
  EXPECT_EQ(trust::margin(2s), 50ms);          // 50 ms in between
  EXPECT_EQ(trust::margin(1h), 36s);           // a hundredth of a long one
}

TEST(TrustTest, OrderOfMomentsHoldsForEveryTtl) {
  std::mt19937_64 random(20240229);
  std::uniform_real_distribution<double> exponent(0, 1);
  auto const low = static_cast<double>(trust::min_ttl.count());
  auto const high = static_cast<double>(trust::max_ttl.count());
  for (int i = 0; i < 20'000; ++i) {
    auto const ttl = Nanos(static_cast<Nanos::rep>(low * std::pow(high / low, exponent(random))));
    auto const margin = trust::margin(ttl);
    ASSERT_GT(margin, 0ns);
    ASSERT_LE(margin, ttl / 4);
    ASSERT_GE(margin, 25ms);
    auto const deadline = trust::deadline(start, ttl);
    ASSERT_LT(deadline, start + ttl);
    for (auto const every : {trust::renew_every(ttl), trust::rarest_renewal(ttl)}) {
      ASSERT_GT(every, 0ns);
      ASSERT_LE(start + 2 * every, deadline);
      ASSERT_LT(start + every, trust::at_risk_at(start, ttl, every));
      ASSERT_LT(trust::at_risk_at(start, ttl, every), deadline);
    }
    ASSERT_LT(3 * trust::renew_every(ttl), ttl);
    // There is time for at least a few tries between the first renewal and the end of trust.
    ASSERT_GE((deadline - start - trust::renew_every(ttl)) / trust::retry_after(ttl), 8);
  }
}

// A slow reply shortens trust: the deadline depends on when the request left, and on nothing else.
TEST(TrustTest, DeadlineMovesWithTheStartOnly) {
  EXPECT_EQ(trust::deadline(start + 7ms, 30s) - trust::deadline(start, 30s), 7ms);
}

TEST(TrustTest, IsUsableAtCompileTime) {
  static_assert(trust::deadline(Instant{}, 30s) == Instant(29'700ms));
  static_assert(trust::min_ttl == 100ms && trust::max_ttl == 24h);
}

}  // namespace
}  // namespace holt
