// SPDX-License-Identifier: Apache-2.0
// Request ids of one client: no two are the same, and those of a moment follow each other.
#include "base/request_series.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <vector>

namespace holt {
namespace {

using std::chrono::milliseconds;

class RequestSeriesTest : public testing::Test {
 protected:
  RequestId next(std::string const& queue = "q") {
    return series_.next(queue, now_, wall_, [this] { return ++random_; });
  }

  RequestSeries series_;
  Instant now_{milliseconds(5000)};
  std::chrono::system_clock::time_point wall_{milliseconds(1'800'000'000'000)};
  std::uint64_t random_ = 0;
};

TEST_F(RequestSeriesTest, ThoseOfAMomentFollowEachOther) {
  auto const first = next();
  auto const second = next();
  EXPECT_FALSE(first.empty());
  EXPECT_TRUE(first.fresh);
  EXPECT_EQ(second.series, first.series);
  EXPECT_EQ(second.number, first.number + 1);
}

TEST_F(RequestSeriesTest, ANewSeriesBeginsWithTheNextMoment) {
  auto const before = next();
  now_ += milliseconds(127);
  wall_ += milliseconds(127);
  EXPECT_EQ(next().series, before.series);
  now_ += milliseconds(1);
  wall_ += milliseconds(1);
  auto const after = next();
  EXPECT_NE(after.series, before.series);
  EXPECT_LT(before.series, after.series);
}

TEST_F(RequestSeriesTest, AWallClockThatIsSetChangesNothing) {
  auto const before = next();
  auto const drawn = random_;
  wall_ += std::chrono::hours(1);
  EXPECT_EQ(next().series, before.series);
  wall_ -= std::chrono::hours(2);
  EXPECT_EQ(next().number, before.number + 2);
  EXPECT_EQ(random_, drawn);
}

TEST_F(RequestSeriesTest, QueuesDoNotInterrupt) {
  auto const first = next("a");
  auto const other = next("b");
  auto const second = next("a");
  EXPECT_NE(other.series, first.series);
  EXPECT_EQ(second.number, first.number + 1);
}

TEST_F(RequestSeriesTest, NoneIsGivenTwiceAlsoWhenTheClockIsSetBackOrQueuesAreForgotten) {
  std::set<RequestId> seen;
  for (int round = 0; round < 3; ++round) {
    for (int queue = 0; queue < 1500; ++queue) {
      EXPECT_TRUE(seen.insert(next("q" + std::to_string(queue))).second);
    }
    now_ += milliseconds(128);
    wall_ += milliseconds(round == 0 ? 128 : -128);
  }
}

TEST_F(RequestSeriesTest, AnyThread) {
  std::mutex mutex;
  std::set<RequestId> seen;
  {
    std::vector<std::jthread> threads;
    for (int i = 0; i < 4; ++i) {
      threads.emplace_back([&] {
        for (int n = 0; n < 500; ++n) {
          auto const id = series_.next("q", now_, wall_, [] { return std::uint64_t(7); });
          std::scoped_lock const lock(mutex);
          seen.insert(id);
        }
      });
    }
  }
  EXPECT_EQ(seen.size(), 2000U);
}

}  // namespace
}  // namespace holt
