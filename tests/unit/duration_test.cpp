// SPDX-License-Identifier: Apache-2.0
#include <holt/duration.hpp>

#include <gtest/gtest.h>

#include <string>
#include <utility>

namespace holt {
namespace {

using namespace std::chrono_literals;
using std::chrono::milliseconds;

TEST(Duration, IsReadAsItIsWritten) {
  for (auto const& [text, wanted] :
       {std::pair("500ms", 500ms), std::pair("0s", 0ms), std::pair("30s", 30'000ms),
        std::pair("1m30s", 90'000ms), std::pair("1h30m", 5'400'000ms),
        std::pair("1d", 86'400'000ms), std::pair("1d2h3m4s5ms", 93'784'005ms)}) {
    EXPECT_EQ(parse_duration(text), wanted) << text;
    EXPECT_EQ(format_duration(wanted), text);
  }
}

TEST(Duration, SaysWhatIsWrong) {
  for (auto const& [text, wrong] :
       {std::pair("", "is empty"), std::pair("-5s", "is negative"), std::pair("10", "has no unit"),
        std::pair("1.5s", "has a fraction"), std::pair("5s1m", "has its units out of order"),
        std::pair("5 s", "is not a duration"), std::pair("s", "is not a duration"),
        std::pair("99999999999d", "is too long")}) {
    auto const parsed = parse_duration(text);
    ASSERT_FALSE(parsed) << text;
    EXPECT_EQ(parsed.error(), std::string(wrong) + "; write it as 500ms, 30s, 5m or 1h30m");
  }
}

}  // namespace
}  // namespace holt
