// SPDX-License-Identifier: Apache-2.0
// The layout poll: its keys, how an address asks for it, what its values say, what its leases and
// records are called.

#include "engines/redis/key_scan.hpp"
#include "engines/redis/poll_options.hpp"
#include "engines/redis/poll_values.hpp"

#include <holt/error.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <string>
#include <vector>

namespace holt::redis {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;
using Time = std::chrono::system_clock::time_point;

template <class Call>
std::string refusal_of(Call const& call) {
  try {
    call();
  } catch (InvalidArgument const& error) {
    return error.what();
  }
  return "accepted";
}

TEST(PollOptionsTest, AreTakenOutOfTheAddress) {
  std::string url =
      "redis://h:1/2?timeout=5&layout=poll&prefix=app%3Apoll&sessions=app:s&value=plain"
      "&eviction=allow";
  auto const options = take_poll_options(url);
  ASSERT_TRUE(options);
  EXPECT_EQ(url, "redis://h:1/2?timeout=5&eviction=allow");
  EXPECT_EQ(options->form, PollForm::plain);
  EXPECT_EQ(options->start(PollKind::endpoint), "app:poll:lease:");
  EXPECT_EQ(options->start(PollKind::node), "app:poll:node:");
  EXPECT_EQ(options->side_start(PollKind::endpoint), "app:poll:holt:lease:");
  EXPECT_EQ(options->side_start(PollKind::node), "app:poll:holt:node:");
  EXPECT_EQ(options->counter, "app:poll:holt:fence");
  EXPECT_EQ(options->session_start, "app:s:");
  EXPECT_EQ(options->tombstone_start, "deleted-app:s:");
  EXPECT_EQ(with_layout("redis://h:1/2", *options),
            "redis://h:1/2?layout=poll&prefix=app%3Apoll&sessions=app%3As&value=plain");
}

TEST(PollOptionsTest, HaveTheOriginalsDefaults) {
  std::string url = "redis://h?layout=poll";
  auto const options = take_poll_options(url);
  ASSERT_TRUE(options);
  EXPECT_EQ(url, "redis://h");
  EXPECT_EQ(options->form, PollForm::json);
  EXPECT_EQ(options->lease_start, "poll:lease:");
  EXPECT_EQ(options->node_start, "poll:node:");
  EXPECT_EQ(options->session_start, "session:");
  EXPECT_EQ(options->tombstone_start, "deleted-session:");
}

TEST(PollOptionsTest, WithoutThemTheAddressStays) {
  for (std::string const text :
       {"redis://h", "redis://h?timeout=5", "redis://h?layout=syncguard&prefix=a",
        "redis://h?layout=sovereign", "redis://u:a?layout=poll@h"}) {
    auto url = text;
    EXPECT_FALSE(take_poll_options(url));
    EXPECT_EQ(url, text);
  }
}

TEST(PollOptionsTest, RefuseWhatCannotBe) {
  auto const refusal = [](std::string url) {
    return refusal_of([&] { static_cast<void>(take_poll_options(url)); });
  };
  EXPECT_THAT(refusal("redis://h?value=json"), HasSubstr("value needs layout=poll"));
  EXPECT_THAT(refusal("redis://h?layout=syncguard&sessions=x"), HasSubstr("needs layout=poll"));
  EXPECT_THAT(refusal("redis://h?layout=poll&value="), HasSubstr("only json and plain"));
  EXPECT_THAT(refusal("redis://h?layout=poll&value=JSON"), HasSubstr("only json and plain"));
  EXPECT_THAT(refusal("redis://h?layout=poll&prefix="), HasSubstr("prefix is empty"));
  EXPECT_THAT(refusal("redis://h?layout=poll&sessions="), HasSubstr("sessions is empty"));
  EXPECT_THAT(refusal("redis://h?layout=poll&prefix=a&prefix=b"), HasSubstr("twice"));
  EXPECT_THAT(refusal("redis://h?layout=poll&prefix=holt"), HasSubstr("Holt's own"));
  EXPECT_THAT(refusal("redis://h?layout=poll&prefix=holt:default"), HasSubstr("Holt's own"));
  EXPECT_EQ(refusal("redis://h?layout=poll&prefix=holtel"), "accepted");
  for (std::string const sessions : {"poll", "poll:lease", "poll:node:x", "poll:holt"}) {
    EXPECT_THAT(refusal("redis://h?layout=poll&sessions=" + sessions),
                HasSubstr("taken for endpoints"));
  }
  EXPECT_EQ(refusal("redis://h?layout=poll&sessions=poll:session"), "accepted");
}

TEST(PollValuesTest, TimesAreAsGoWritesThem) {
  Time const whole(1768731133s);
  EXPECT_EQ(go_time(whole), "2026-01-18T10:12:13Z");
  EXPECT_EQ(go_time(whole + 123456789ns), "2026-01-18T10:12:13.123456789Z");
  EXPECT_EQ(go_time(whole + 120ms), "2026-01-18T10:12:13.12Z");
  EXPECT_EQ(go_time(whole + 1ns), "2026-01-18T10:12:13.000000001Z");
  EXPECT_EQ(go_time(Time()), "1970-01-01T00:00:00Z");
}

TEST(PollValuesTest, TimesAreReadInEveryZone) {
  Time const whole(1768731133s);
  EXPECT_EQ(parse_go_time("2026-01-18T10:12:13Z"), whole);
  EXPECT_EQ(parse_go_time("2026-01-18T11:12:13+01:00"), whole);
  EXPECT_EQ(parse_go_time("2026-01-18T04:42:13.5-05:30"), whole + 500ms);
  EXPECT_EQ(parse_go_time("2026-01-18T10:12:13.123456789Z"), whole + 123456789ns);
  for (auto const when : {whole, whole + 1ns, whole + 999999999ns}) {
    EXPECT_EQ(parse_go_time(go_time(when)), when);
  }
}

TEST(PollValuesTest, WhatIsNoTimeIsNothing) {
  for (auto const* const text :
       {"", "2026", "2026-01-18", "2026-01-18T10:12:13", "2026-01-18 10:12:13Z",
        "2026-13-18T10:12:13Z", "2026-02-30T10:12:13Z", "2026-01-18T24:12:13Z",
        "2026-01-18T10:12:13.Z", "2026-01-18T10:12:13.1234567890Z", "2026-01-18T10:12:13ZZ",
        "2026-01-18T10:12:13+1:00", "-026-01-18T10:12:13Z", "0001-01-01T00:00:00Z",
        "9999-01-01T00:00:00Z", "2026-01-18T10:12:13+01:00Z"}) {
    EXPECT_FALSE(parse_go_time(text)) << text;
  }
}

TEST(PollValuesTest, TextsAreAsGoWritesThem) {
  EXPECT_EQ(go_json("web-1"), R"("web-1")");
  EXPECT_EQ(go_json("a/b 'ä' 名"), "\"a/b 'ä' 名\"");
  EXPECT_EQ(go_json("\"\\\n\r\t\x01"), R"("\"\\\n\r\t\)"
                                       "u0001\"");
  EXPECT_EQ(go_json("<&>"), "\"\\u003c\\u0026\\u003e\"");
  EXPECT_EQ(go_json("\xE2\x80\xA8\xE2\x80\xA9\xE2\x80"), "\"\\u2028\\u2029\xE2\x80\"");
}

TEST(PollValuesTest, ANodesNoteBeginsWithItsStatus) {
  EXPECT_EQ(status_in("online 1"), "online");
  EXPECT_EQ(status_in("init 2.5"), "init");
  EXPECT_EQ(status_in("draining"), "draining");
  for (auto const* const note : {"", " 1", "on\"line 1", "{} 1"}) {
    EXPECT_THAT(refusal_of([&] { static_cast<void>(status_in(note)); }), HasSubstr("online 1"));
  }
  EXPECT_EQ(node_note("online"), "online 1");
  EXPECT_EQ(node_note("on fire"), "init 1") << "the rest would be taken for a weight";
  EXPECT_EQ(node_note(""), "init 1");
}

TEST(PollValuesTest, NamesAreTakenApart) {
  auto const name = poll_name("poll/g/a/b", "poll/");
  ASSERT_TRUE(name);
  EXPECT_EQ(name->group, "g");
  EXPECT_EQ(name->id, "a/b");
  EXPECT_FALSE(poll_name("polling/g/a", "poll/"));
  EXPECT_FALSE(poll_name("poll", "poll/"));
  for (auto const* const half : {"poll/", "poll/g", "poll/g/", "poll//a"}) {
    EXPECT_THAT(refusal_of([&] { static_cast<void>(poll_name(half, "poll/")); }),
                HasSubstr("poll/GROUP/ID"));
  }
}

TEST(PollValuesTest, AListingKnowsWhichOfTheFleetsNamesItWants) {
  auto const range = [](std::string_view prefix) -> std::string {
    auto const found = poll_range(prefix, "poll/");
    return found ? found->head + "|" + found->ids : "none";
  };
  EXPECT_EQ(range("poll/g/"), "poll/g/|");
  EXPECT_EQ(range("poll/g/a/b"), "poll/g/|a/b");
  for (auto const* const wide : {"", "p", "poll", "poll/", "poll/fl", "poll/fleet/"}) {
    EXPECT_EQ(range(wide), "poll/fleet/|") << wide;
  }
  EXPECT_EQ(range("poll/fleet/x"), "poll/fleet/|x");
  for (auto const* const other : {"a", "poll/g", "poll//x", "pollx"}) {
    EXPECT_EQ(range(other), "none") << other;
  }
}

TEST(KeyScanTest, APatternIsForOneTextOnly) {
  EXPECT_EQ(pattern_of("poll:lease:"), "poll:lease:");
  EXPECT_EQ(pattern_of("a*[b]?\\"), "a\\*\\[b\\]\\?\\\\");
}

TEST(KeyScanTest, PagesOfBothKindsBecomeOne) {
  using Texts = std::vector<std::string>;
  auto const merged = [](Texts own, std::string next, Texts fleets, std::uint32_t limit) {
    next = merge_pages(own, std::move(next), std::move(fleets), limit,
                       [](std::string const& text) { return text; });
    std::string all;
    for (auto const& text : own) all += text;
    return all + ">" + next;
  };
  EXPECT_EQ(merged({"a", "d"}, "", {"b", "c"}, 9), "abcd>");
  EXPECT_EQ(merged({"a", "d"}, "", {"b", "c"}, 4), "abcd>");
  EXPECT_EQ(merged({"a", "d"}, "", {"b", "c"}, 3), "abc>c");
  EXPECT_EQ(merged({"a", "d"}, "d", {"b", "e"}, 2), "ab>b");
  EXPECT_EQ(merged({"a", "d"}, "d", {"e", "f"}, 2), "ad>d") << "those come with the next page";
  EXPECT_EQ(merged({}, "d", {"c", "e"}, 2), "c>d");
  EXPECT_EQ(merged({}, "", {}, 2), ">");
}

}  // namespace
}  // namespace holt::redis
