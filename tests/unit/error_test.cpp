// SPDX-License-Identifier: Apache-2.0
// The two exception types: what they say and what a caller may decide by.
#include <holt/error.hpp>

#include "base/check.hpp"

#include <gtest/gtest.h>

#include <set>
#include <stdexcept>
#include <string>
#include <string_view>

namespace holt {
namespace {

constexpr ErrorCode every_code[] = {ErrorCode::service_unavailable,
                                    ErrorCode::auth_failed,
                                    ErrorCode::invalid_argument,
                                    ErrorCode::rate_limited,
                                    ErrorCode::network_timeout,
                                    ErrorCode::acquisition_timeout,
                                    ErrorCode::aborted,
                                    ErrorCode::not_durable,
                                    ErrorCode::fence_regression,
                                    ErrorCode::internal};

TEST(EngineErrorTest, SaysWhatFailedOnWhatAndWhy) {
  EngineError const error(ErrorCode::service_unavailable, Outcome::not_applied, "sqlite", "acquire",
                          "the disk is full", "free some space");
  EXPECT_STREQ(error.what(), "sqlite: acquire: the disk is full");
  EXPECT_EQ(error.code(), ErrorCode::service_unavailable);
  EXPECT_EQ(error.outcome(), Outcome::not_applied);
  EXPECT_EQ(error.engine(), "sqlite");
  EXPECT_EQ(error.operation(), "acquire");
  EXPECT_EQ(error.reason(), "the disk is full");
  EXPECT_EQ(error.hint(), "free some space");
}

TEST(EngineErrorTest, LeavesOutWhatIsEmpty) {
  EngineError const error(ErrorCode::aborted, Outcome::unknown, "", "acquire", "closed");
  EXPECT_STREQ(error.what(), "acquire: closed");
  EXPECT_EQ(error.hint(), "");
}

TEST(EngineErrorTest, KeepsItsTextWhenTheSourceIsGone) {
  auto const make = [] {
    std::string const reason(200, 'x');
    return EngineError(ErrorCode::internal, Outcome::unknown, "sqlite", "open", reason);
  };
  EngineError const error = make();
  EXPECT_EQ(error.reason(), std::string(200, 'x'));
}

TEST(EngineErrorTest, RetryableAreThoseThatPassByThemselves) {
  std::set<ErrorCode> const retryable = {ErrorCode::service_unavailable, ErrorCode::rate_limited,
                                         ErrorCode::network_timeout,
                                         ErrorCode::acquisition_timeout};
  for (auto const code : every_code) {
    EngineError const error(code, Outcome::unknown, "e", "o", "r");
    EXPECT_EQ(error.retryable(), retryable.contains(code)) << to_string(code);
  }
}

TEST(ErrorWordsTest, EveryCodeHasItsOwnWord) {
  std::set<std::string_view> words;
  for (auto const code : every_code) words.insert(to_string(code));
  EXPECT_EQ(words.size(), std::size(every_code));
  EXPECT_FALSE(words.contains("unknown"));
  EXPECT_EQ(to_string(ErrorCode::service_unavailable), "service_unavailable");
  EXPECT_EQ(to_string(ErrorCode::fence_regression), "fence_regression");
  EXPECT_EQ(to_string(Outcome::not_applied), "not_applied");
  EXPECT_EQ(to_string(Outcome::unknown), "unknown");
}

TEST(ErrorTypesTest, AreStandardExceptions) {
  EXPECT_THROW(throw InvalidArgument("x"), std::invalid_argument);
  EXPECT_THROW(throw EngineError(ErrorCode::internal, Outcome::unknown, "e", "o", "r"),
               std::runtime_error);
}

TEST(CheckDeathTest, ABrokenInvariantAbortsAndSaysWhichOne) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  HOLT_CHECK(1 + 1 == 2);
  EXPECT_DEATH(HOLT_CHECK(1 + 1 == 3), "holt: broken invariant: 1 \\+ 1 == 3 \\(.*error_test.cpp:");
}

}  // namespace
}  // namespace holt
