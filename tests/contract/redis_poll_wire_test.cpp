// SPDX-License-Identifier: Apache-2.0
// What is in the keys of a polling fleet after each step of ours, and what an original makes of it;
// both forms of its values.

#include "contract/redis_poll_fixture.hpp"

#include <gmock/gmock.h>

namespace holt::test {
namespace {

using testing::MatchesRegex;

constexpr char const* time_pattern =
    "20[0-9]{2}-[01][0-9]-[0-3][0-9]T[0-2][0-9]:[0-5][0-9]:"
    "[0-6][0-9](\\.[0-9]{0,8}[1-9])?Z";

std::string lease_pattern(std::string const& id) {
  return R"(\{"owner_id":")" + id + R"(","acquired_at":")" + time_pattern +
         R"(","last_renewed_at":")" + time_pattern + R"("\})";
}

/// The value of a field in JSON of this layout.
std::string field(std::string const& json, std::string const& name) {
  auto const start = json.find("\"" + name + "\":\"") + name.size() + 4;
  return json.substr(start, json.find('"', start) - start);
}

TEST_F(Poll, ALeaseOfOursIsJustWhatAnOriginalWrites) {
  take("e", owner(), "web-1");
  auto const value = get(lease_key("e"));
  EXPECT_THAT(value, MatchesRegex(lease_pattern("web-1")));
  EXPECT_EQ(field(value, "acquired_at"), field(value, "last_renewed_at"));
  EXPECT_GT(pttl(lease_key("e")), 20'000);
  EXPECT_LE(pttl(lease_key("e")), 30'000);
  EXPECT_EQ(redis_.text({"TYPE", lease_key("e")}), "string");
  auto go = original("go-1");
  EXPECT_FALSE(go.acquire("e"));
  EXPECT_FALSE(go.renew("e"));
  EXPECT_FALSE(go.release("e"));
  EXPECT_EQ(get(lease_key("e")), value);
}

TEST_F(Poll, TimesToLiveAreMilliseconds) {
  take("e", owner(), "web-1", 1500ms);
  EXPECT_LE(pttl(lease_key("e")), 1500);
  EXPECT_GT(pttl(lease_key("e")), 0);
  store_.advance(1501ms);
  EXPECT_FALSE(exists(lease_key("e")));
}

TEST_F(Poll, TheOriginalsScriptsWorkOnWhatWeWrote) {
  take("renewed", owner(), "web-1");
  take("released", owner(), "web-1");
  auto same = original("web-1", 90'000);
  EXPECT_TRUE(same.renew("renewed"));
  EXPECT_GT(pttl(lease_key("renewed")), 60'000);
  EXPECT_TRUE(same.release("released"));
  EXPECT_FALSE(exists(lease_key("released")));
}

TEST_F(Poll, AnIdIsWrittenAsGoDoesIt) {
  std::string const id = "web \"<1>\"\\ä";
  auto const us = owner();
  take("e", us, id);
  EXPECT_THAT(get(lease_key("e")),
              testing::StartsWith(R"({"owner_id":"web \"\u003c1\u003e\"\\ä","acquired_at":")"));
  EXPECT_EQ(client_.find("poll/g/e")->note, id);
  EXPECT_TRUE(client_.renew("poll/g/e", us, 60s));
}

TEST_F(Poll, ARenewalMovesTheEndAndSaysWhen) {
  auto const us = owner();
  take("e", us, "web-1");
  auto const before = get(lease_key("e"));
  store_.advance(25s);
  EXPECT_TRUE(client_.renew("poll/g/e", us, 30s));
  auto const after = get(lease_key("e"));
  EXPECT_THAT(after, MatchesRegex(lease_pattern("web-1")));
  EXPECT_EQ(field(after, "acquired_at"), field(before, "acquired_at"));
  EXPECT_NE(field(after, "last_renewed_at"), field(before, "last_renewed_at"));
  EXPECT_GT(pttl(lease_key("e")), 20'000);
  EXPECT_TRUE(client_.renew("poll/g/e", us, 1s));
  EXPECT_GT(pttl(lease_key("e")), 15'000) << "never back";
  store_.advance(31s);
  EXPECT_FALSE(exists(lease_key("e")));
}

TEST_F(Poll, AReleaseLeavesNothingButTheCounter) {
  auto const us = owner();
  take("e", us, "web-1");
  auto const node = owner();
  announce("web-1", node, "online 1");
  EXPECT_TRUE(client_.release("poll/g/e", us));
  EXPECT_TRUE(client_.release("node/g/web-1", node));
  auto const left = redis_.done({"KEYS", "poll:*"});
  ASSERT_EQ(left.items.size(), 1U);
  EXPECT_EQ(left.items[0].text, "poll:holt:fence");
  EXPECT_TRUE(original("go-1").acquire("e"));
}

TEST_F(Poll, WhatEndsByItselfLeavesNothingEither) {
  take("e", owner(), "web-1", 30s);
  store_.advance(36s);
  EXPECT_FALSE(exists(lease_key("e")));
  EXPECT_FALSE(exists("poll:holt:lease:e"));
}

TEST_F(Poll, OursAreNotAmongWhatAnOriginalLooksFor) {
  take("e", owner(), "web-1");
  announce("web-1", owner(), "online 1");
  for (auto const* const pattern : {"poll:lease:*", "poll:node:*"}) {
    EXPECT_EQ(redis_.done({"KEYS", pattern}).items.size(), 1U) << pattern;
  }
}

TEST_F(Poll, AnOriginalIsInTheWayUntilItsKeyEnds) {
  auto go = original("go-1", 60'000);
  ASSERT_TRUE(go.acquire("e"));
  auto const us = owner();
  auto const busy = client_.acquire("poll/g/e", us, {.line = true, .note = "web-1"});
  ASSERT_FALSE(busy);
  EXPECT_EQ(busy.error().note, "go-1");
  EXPECT_EQ(busy.error().fence, Fence());
  EXPECT_EQ(busy.error().place, 0U) << "there is no line";
  EXPECT_GT(busy.error().expires_in, 30s);
  EXPECT_LE(busy.error().expires_in, 60s);
  EXPECT_EQ(busy.error().holder, client_.find("poll/other/e")->owner) << "the same for everybody";
  EXPECT_EQ(get(lease_key("e")), go.value());
  store_.advance(61s);
  EXPECT_GT(take("e", us, "web-1"), Fence());
}

TEST_F(Poll, NothingOfAnotherIsRenewedOrDeleted) {
  auto const us = owner();
  take("e", us, "web-1", 30s);
  store_.advance(31s);
  auto go = original("go-1", 20'000);
  ASSERT_TRUE(go.acquire("e"));
  auto const renewed = client_.renew("poll/g/e", us, 60s);
  ASSERT_FALSE(renewed);
  EXPECT_EQ(renewed.error().reason, LossReason::taken);
  EXPECT_LE(pttl(lease_key("e")), 20'000);
  EXPECT_FALSE(client_.release("poll/g/e", us));
  EXPECT_EQ(get(lease_key("e")), go.value());
}

TEST_F(Poll, WhatAnOriginalTookWhileOursRanIsItsOwn) {
  auto const us = owner();
  take("e", us, "web-1", 30s);
  auto go = original("go-1", 20'000);
  set(lease_key("e"), go.value());
  EXPECT_EQ(client_.find("poll/g/e")->note, "go-1");
  EXPECT_FALSE(client_.renew("poll/g/e", us, 60s));
  EXPECT_FALSE(client_.acquire("poll/g/e", us, {.note = "web-1"}));
  EXPECT_FALSE(client_.release("poll/g/e", us));
  EXPECT_EQ(get(lease_key("e")), go.value());
  EXPECT_EQ(pttl(lease_key("e")), -1);
}

TEST_F(Poll, WhatEndedIsOverEvenIfAnOriginalHasTheSameId) {
  auto const us = owner();
  take("e", us, "web-1", 30s);
  store_.advance(31s);
  EXPECT_EQ(client_.renew("poll/g/e", us).error().reason, LossReason::expired);
  auto same = original("web-1", 20'000);
  ASSERT_TRUE(same.acquire("e"));
  EXPECT_FALSE(client_.renew("poll/g/e", us, 60s));
  EXPECT_FALSE(client_.acquire("poll/g/e", us, {.note = "web-1"}));
  EXPECT_EQ(client_.find("poll/g/e")->fence, Fence());
  EXPECT_FALSE(client_.release("poll/g/e", us));
  EXPECT_EQ(get(lease_key("e")), same.value());
}

TEST_F(Poll, BothFormsAreRead) {
  set(lease_key("json"), original("go-1").value());
  set(lease_key("plain"), "go-2");
  EXPECT_EQ(client_.find("poll/g/json")->note, "go-1");
  EXPECT_EQ(client_.find("poll/g/json")->acquired_at.time_since_epoch(), 1768731133123456789ns);
  EXPECT_EQ(client_.find("poll/g/plain")->note, "go-2");
  auto const busy = client_.acquire("poll/g/plain", owner(), {.note = "web-1"});
  ASSERT_FALSE(busy);
  EXPECT_EQ(busy.error().note, "go-2");
  set(node_key("go-1"), R"({"status":"init","startup_time":"2026-01-18T11:12:13Z"})");
  set(node_key("go-2"), "1");
  EXPECT_EQ(client_.find("node/g/go-1")->note, "init 1");
  EXPECT_EQ(client_.find("node/g/go-2")->note, "online 1");
}

TEST_F(Poll, AValueThatNobodyCanReadIsSomebodys) {
  std::vector<std::string> const values{"",          "{",           "{\"owner_id\":7}",
                                        "{\"x\":1}", "{\"owner_id", std::string(5000, 'x')};
  for (auto const& value : values) {
    SCOPED_TRACE(value.substr(0, 20));
    redis_.done({"SET", lease_key("e"), value, "PX", "60000"});
    auto const busy = client_.acquire("poll/g/e", owner(), {.note = "web-1"});
    ASSERT_FALSE(busy);
    EXPECT_EQ(busy.error().note, "");
    EXPECT_FALSE(busy.error().holder.empty());
    EXPECT_GT(busy.error().expires_in, 30s);
    EXPECT_EQ(client_.find("poll/g/e")->note, "");
    EXPECT_FALSE(client_.renew("poll/g/e", owner()));
    EXPECT_FALSE(client_.release("poll/g/e", owner()));
    EXPECT_EQ(get(lease_key("e")), value);
  }
  redis_.done({"DEL", lease_key("e")});
  redis_.done({"LPUSH", lease_key("e"), "x"});
  EXPECT_FALSE(client_.acquire("poll/g/e", owner(), {.note = "web-1"}));
  EXPECT_EQ(client_.list("poll/g/").leases.size(), 1U);
  EXPECT_TRUE(exists(lease_key("e")));
}

TEST_F(Poll, ANodeOfOursIsJustWhatAnOriginalWrites) {
  auto const us = owner();
  auto const fence = announce("web-1", us, "init 3");
  auto const value = get(node_key("web-1"));
  EXPECT_THAT(value, MatchesRegex(std::string(R"(\{"status":"init","startup_time":")") +
                                  time_pattern + R"("\})"));
  EXPECT_LE(pttl(node_key("web-1")), 30'000);
  EXPECT_EQ(announce("web-1", us, "online 3"), fence) << "the same grant says more";
  EXPECT_EQ(get(node_key("web-1")),
            R"({"status":"online","startup_time":")" + field(value, "startup_time") + "\"}");
  auto const found = client_.find("node/g/web-1");
  ASSERT_TRUE(found);
  EXPECT_EQ(found->note, "online 1") << "a fleet knows no weights";
  EXPECT_EQ(found->owner, us);
  store_.advance(20s);
  EXPECT_TRUE(client_.renew("node/g/web-1", us, 30s));
  EXPECT_GT(pttl(node_key("web-1")), 15'000);
  EXPECT_TRUE(client_.release("node/g/web-1", us));
  EXPECT_FALSE(exists(node_key("web-1")));
}

TEST_F(Poll, ANodeThatAnOriginalAnnouncedUnderOurIdIsNotOurs) {
  auto const us = owner();
  announce("same", us, "online 1");
  original("same").beat("online");
  auto const theirs = get(node_key("same"));
  EXPECT_FALSE(client_.renew("node/g/same", us, 90s));
  EXPECT_FALSE(client_.release("node/g/same", us));
  EXPECT_EQ(get(node_key("same")), theirs);
  EXPECT_LE(pttl(node_key("same")), 60'000);
}

TEST_F(Poll, FencesGrowAndSurviveALostCounter) {
  auto const first = take("a", owner(), "web-1");
  EXPECT_GT(take("b", owner(), "web-1"), first);
  set("poll:holt:fence", "3000000000000000");
  EXPECT_EQ(take("c", owner(), "web-1"), Fence(3'000'000'000'000'001)) << "ahead of the clock";
  redis_.done({"FLUSHALL"});
  EXPECT_GT(take("a", owner(), "web-1"), first);
  set("poll:holt:fence", "9007190664806400");
  EXPECT_THAT(what_is_thrown<EngineError>([&] { take("d", owner(), "web-1"); }),
              testing::HasSubstr("poll:holt:fence"));
  EXPECT_FALSE(exists(lease_key("d")));
}

TEST_F(Poll, WhereMemoryIsShortALeaseGoesOnAndNoneIsGranted) {
  auto const us = owner();
  take("e", us, "web-1");
  announce("web-1", us, "online 1");
  redis_.done({"CONFIG", "SET", "maxmemory", "1"});
  EXPECT_TRUE(client_.renew("poll/g/e", us, 90s));
  EXPECT_GT(pttl(lease_key("e")), 60'000);
  EXPECT_TRUE(client_.renew("node/g/web-1", us, 90s));
  EXPECT_GT(pttl(node_key("web-1")), 60'000);
  EXPECT_EQ(client_.find("poll/g/e")->owner, us);
  EXPECT_THAT(what_is_thrown<EngineError>([&] { take("f", owner(), "web-1"); }),
              testing::HasSubstr("OOM"));
  EXPECT_FALSE(exists(lease_key("f")));
  EXPECT_TRUE(client_.release("poll/g/e", us));
  EXPECT_FALSE(exists(lease_key("e")));
}

TEST_F(PollPlain, TheOlderFormIsWrittenWhereItIsAskedFor) {
  auto const us = owner();
  take("e", us, "web-1");
  EXPECT_EQ(get(lease_key("e")), "web-1");
  EXPECT_LE(pttl(lease_key("e")), 30'000);
  store_.advance(20s);
  EXPECT_TRUE(client_.renew("poll/g/e", us, 30s));
  EXPECT_EQ(get(lease_key("e")), "web-1");
  EXPECT_GT(pttl(lease_key("e")), 15'000);
  EXPECT_TRUE(client_.release("poll/g/e", us));
  EXPECT_FALSE(exists(lease_key("e")));
  announce("web-1", owner(), "init 1");
  EXPECT_EQ(get(node_key("web-1")), "1");
  EXPECT_EQ(client_.find("node/g/web-1")->note, "init 1") << "ours among ourselves";
}

TEST_F(PollPlain, TheOlderScriptsWorkOnWhatWeWrote) {
  take("renewed", owner(), "web-1");
  take("released", owner(), "web-1");
  auto const script = [&](std::string const& last, std::string const& endpoint) {
    return redis_.number(
        {"EVAL",
         "if redis.call('GET', KEYS[1]) == ARGV[1] then return " + last + " else return 0 end", "1",
         lease_key(endpoint), "web-1", "90000"});
  };
  EXPECT_EQ(script("redis.call('PEXPIRE', KEYS[1], ARGV[2])", "renewed"), 1);
  EXPECT_GT(pttl(lease_key("renewed")), 60'000);
  EXPECT_EQ(script("redis.call('DEL', KEYS[1])", "released"), 1);
}

TEST_F(PollPlain, BothFormsAreReadHereToo) {
  set(lease_key("json"), original("go-1").value());
  set(lease_key("plain"), "go-2");
  EXPECT_EQ(client_.find("poll/g/json")->note, "go-1");
  EXPECT_EQ(client_.find("poll/g/plain")->note, "go-2");
}

TEST_F(PollPlain, WhatEndedIsOverEvenIfAnOriginalHasTheSameId) {
  auto const us = owner();
  take("e", us, "web-1", 30s);
  store_.advance(31s);
  redis_.done({"SET", lease_key("e"), "web-1", "NX", "PX", "20000"});
  EXPECT_FALSE(client_.renew("poll/g/e", us, 60s));
  EXPECT_FALSE(client_.release("poll/g/e", us));
  EXPECT_EQ(get(lease_key("e")), "web-1");
  EXPECT_LE(pttl(lease_key("e")), 20'000);
}

}  // namespace
}  // namespace holt::test
