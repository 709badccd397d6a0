// SPDX-License-Identifier: Apache-2.0
#include "base/metrics.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>
#include <thread>
#include <vector>

namespace holt {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;

TEST(MetricsTest, AHistogramCountsUpToAndWithItsBounds) {
  Histogram histogram;
  histogram.observe(100us);
  histogram.observe(101us);
  histogram.observe(2h);
  histogram.observe(-1s);
  std::string text;
  histogram.write(text, "x_seconds", "a=\"b\"");
  EXPECT_THAT(text, HasSubstr("x_seconds_bucket{a=\"b\",le=\"0.0001\"} 2\n"));
  EXPECT_THAT(text, HasSubstr("x_seconds_bucket{a=\"b\",le=\"0.0005\"} 3\n"));
  EXPECT_THAT(text, HasSubstr("x_seconds_bucket{a=\"b\",le=\"3600\"} 3\n"));
  EXPECT_THAT(text, HasSubstr("x_seconds_bucket{a=\"b\",le=\"+Inf\"} 4\n"));
  EXPECT_THAT(text, HasSubstr("x_seconds_count{a=\"b\"} 4\n"));
  EXPECT_THAT(text, HasSubstr("x_seconds_sum{a=\"b\"} 7200.000201000\n"));
}

TEST(MetricsTest, SeriesWithoutLabelsHaveNoBraces) {
  Counter counter;
  counter.add(3);
  counter.add(-1);
  std::string text;
  counter.write(text, "x", "");
  EXPECT_EQ(text, "x 2\n");
}

TEST(MetricsTest, LabelsAreEscaped) {
  Family<Counter> family("x_total", "counter", "What it is.");
  family.with({{"a", "1\"2\\3\n4"}}).add();
  std::string text;
  family.write(text);
  EXPECT_EQ(text,
            "# HELP x_total What it is.\n# TYPE x_total counter\n"
            "x_total{a=\"1\\\"2\\\\3\\n4\"} 1\n");
}

TEST(MetricsTest, EveryLineOfTheTextIsACommentOrASeries) {
  Metrics metrics;
  metrics.book().lost.with({{"instance", "default"}, {"reason", "expired"}}).add();
  metrics.book().wait.with({{"instance", "default"}, {"result", "ok"}}).observe(1ms);
  std::istringstream lines(metrics.text());
  std::string line;
  int count = 0;
  for (; std::getline(lines, line); ++count) {
    bool const comment = line.starts_with("# HELP holt_") || line.starts_with("# TYPE holt_");
    bool const series = line.starts_with("holt_") && line.find("} ") != std::string::npos;
    EXPECT_TRUE(comment || series) << line;
  }
  EXPECT_GT(count, 20);
}

TEST(MetricsTest, ThreadsCountTogether) {
  Metrics metrics;
  std::vector<std::jthread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      for (int k = 0; k < 1000; ++k) metrics.book().held.with({{"instance", "a"}}).add();
    });
  }
  threads.clear();
  EXPECT_THAT(metrics.text(), HasSubstr("holt_locks_held{instance=\"a\"} 4000\n"));
}

}  // namespace
}  // namespace holt
