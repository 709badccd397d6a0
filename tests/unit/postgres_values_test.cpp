// SPDX-License-Identifier: Apache-2.0
// Values on their way to the server: parameters in the protocol's binary format, signals as text.

#include "engines/postgres/parameters.hpp"
#include "engines/postgres/signal_text.hpp"
#include "engines/postgres/span.hpp"

#include <gtest/gtest.h>

#include <string>

namespace holt::postgres {
namespace {

using namespace std::chrono_literals;
using namespace std::string_literals;

std::string only(Parameters const& parameters) {
  return {parameters.pointers().at(0), static_cast<std::size_t>(parameters.lengths().at(0))};
}

TEST(PostgresParametersTest, NumbersAreBigEndian) {
  EXPECT_EQ(only(Parameters().add(std::int32_t{258})), "\0\0\1\2"s);
  EXPECT_EQ(only(Parameters().add(std::int64_t{-2})), "\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFE"s);
  EXPECT_EQ(only(Parameters().add(true)), "\1"s);
}

TEST(PostgresParametersTest, TextAndBytesGoAsTheyAre) {
  EXPECT_EQ(only(Parameters().add(std::string_view("it's"))), "it's");
  EXPECT_EQ(only(Parameters().add_bytes("a\0b"s)), "a\0b"s);
  Parameters none;
  none.add_null();
  EXPECT_EQ(none.pointers().at(0), nullptr);
  EXPECT_EQ(none.count(), 1);
}

TEST(PostgresParametersTest, AnArraySaysItsTypeAndLength) {
  EXPECT_EQ(only(Parameters().add(std::vector<std::string>{"a", ""})),
            "\0\0\0\1\0\0\0\0\0\0\0\x19\0\0\0\2\0\0\0\1\0\0\0\1a\0\0\0\0"s);
  EXPECT_EQ(only(Parameters().add(std::vector<bool>{true, false})),
            "\0\0\0\1\0\0\0\0\0\0\0\x10\0\0\0\2\0\0\0\1\0\0\0\1\1\0\0\0\1\0"s);
}

TEST(PostgresParametersTest, TextIsUtf8WithoutZeroBytes) {
  for (auto const& text : {""s, "plain"s, "ümlaut"s, "名前"s, "\xF0\x9F\x98\x80"s}) {
    EXPECT_TRUE(is_text(text)) << text;
  }
  for (auto const& bytes : {"\0"s, "\xFF"s, "\xC3"s, "\xC0\x80"s, "\xE0\x80\x80"s, "\xED\xA0\x80"s,
                            "\xF4\x90\x80\x80"s, "a\x80"s}) {
    EXPECT_FALSE(is_text(bytes)) << testing::PrintToString(bytes);
  }
}

TEST(PostgresSignalTextTest, AnySignalComesBackAsItWas) {
  std::string every;
  for (int i = 0; i < 256; ++i) every += static_cast<char>(i);
  for (auto const& text : {""s, "x.1"s, "line 1\nline 2"s, "100 %"s, every}) {
    auto const said = to_notification({"offer", text});
    EXPECT_LT(said.size(), 8000U);
    auto const back = from_notification(said);
    ASSERT_TRUE(back);
    EXPECT_EQ(back->topic, "offer");
    EXPECT_EQ(back->text, text);
  }
}

TEST(PostgresSignalTextTest, WhatOthersSayIsNone) {
  EXPECT_FALSE(from_notification("no line"));
  EXPECT_FALSE(from_notification("a\n%4"));
  EXPECT_FALSE(from_notification("a\n%zz"));
}

TEST(PostgresSpanTest, IsNeverShorterThanAskedAndHasAnEnd) {
  EXPECT_EQ(to_us(1ns), 1);
  EXPECT_EQ(to_us(1s), 1'000'000);
  EXPECT_EQ(to_us(-1s), 0);
  EXPECT_EQ(to_us(std::chrono::nanoseconds::max()), 3'153'600'000'000'000);
  EXPECT_EQ(lock_patience(Instant(), Instant() + 1500us), 2);
  EXPECT_EQ(lock_patience(Instant() + 5s, Instant()), 1);
}

}  // namespace
}  // namespace holt::postgres
