// SPDX-License-Identifier: Apache-2.0
// Polling beside a fleet that has its own: what is listed, renewed together, refused, and that
// everything else of the store is Holt's own.

#include "contract/redis_poll_fixture.hpp"

#include <holt/holt.hpp>

#include <gmock/gmock.h>

#include <algorithm>

namespace holt::test {
namespace {

using testing::HasSubstr;

using Lines = std::vector<std::string>;

/// "name note" of each.
Lines lines(LeasePage const& page) {
  Lines found;
  for (auto const& lease : page.leases) found.push_back(lease.name.text() + " " + lease.note);
  return found;
}

Lines lines(RecordPage const& page) {
  Lines found;
  for (auto const& record : page.records) found.push_back(record.key + " " + record.value);
  return found;
}

class PollRecords : public Poll {
 protected:
  RecordStore& records() { return client_.engine().records(); }
  RecordPage list(std::string const& prefix, std::string const& cursor = {},
                  std::uint32_t limit = 100) {
    return run(records().list(prefix, cursor, limit, client_.deadline()));
  }
  std::optional<Record> get_record(std::string const& key) {
    return run(records().get(key, client_.deadline()));
  }
  void put(std::string const& key) {
    EXPECT_TRUE(run(records().put(RecordWrite(key, "own"), client_.deadline())));
  }
};

TEST_F(Poll, OursAndOriginalsAreListedTogether) {
  take("b", owner(), "web-1");
  original("go-1").acquire("a/1");
  set(lease_key("c"), "go-2");
  announce("web-1", owner(), "online 1");
  original("go-1").beat("init");
  set(node_key("go-2"), "1");
  set(node_key("strange"), R"({"status":"on fire"})");
  EXPECT_EQ(lines(client_.list("poll/g/")),
            (Lines{"poll/g/a/1 go-1", "poll/g/b web-1", "poll/g/c go-2"}));
  EXPECT_EQ(lines(client_.list("node/g/")),
            (Lines{"node/g/go-1 init 1", "node/g/go-2 online 1", "node/g/strange init 1",
                   "node/g/web-1 online 1"}));
  EXPECT_EQ(lines(client_.list("poll/any group/b")), (Lines{"poll/any group/b web-1"}));
  EXPECT_TRUE(client_.list("poll/g").leases.empty()) << "no group is known that begins so";
}

TEST_F(Poll, ThousandsAreListedInPages) {
  constexpr int count = 2500;
  Lines expected;
  for (int i = 0; i < count; ++i) {
    auto const endpoint = "e" + std::to_string(i);
    redis_.done({"SET", lease_key(endpoint), "go-1", "PX", "600000"});
    expected.push_back("poll/g/" + endpoint + " go-1");
  }
  std::ranges::sort(expected);
  redis_.done({"CONFIG", "RESETSTAT"});
  Lines found;
  std::string cursor;
  do {
    auto const page = client_.list("poll/g/", cursor, 1000);
    for (auto const& line : lines(page)) found.push_back(line);
    cursor = page.next;
  } while (!cursor.empty());
  EXPECT_EQ(found, expected);
  EXPECT_EQ(calls_of("keys"), 0);
}

TEST_F(Poll, AListingOfAllHasThemAmongHoltsOwn) {
  client_.take("a", owner());
  client_.take("o", owner());
  client_.take("z", owner());
  take("e", owner(), "web-1");
  announce("web-1", owner(), "online 1");
  Lines found;
  std::string cursor;
  do {
    auto const page = client_.list("", cursor, 1);
    for (auto const& line : lines(page)) found.push_back(line);
    cursor = page.next;
  } while (!cursor.empty() && found.size() < 10);
  Lines const all{"a ", "node/fleet/web-1 online 1", "o ", "poll/fleet/e web-1", "z "};
  EXPECT_EQ(found, all);
  EXPECT_EQ(lines(client_.list("", "", 5)), all);
  EXPECT_EQ(client_.list("", "", 5).next, "");
  EXPECT_EQ(lines(client_.list("", "node/fleet/web-1", 2)), (Lines{"o ", "poll/fleet/e web-1"}));
  EXPECT_EQ(lines(client_.list("poll/")), (Lines{"poll/fleet/e web-1"}));
}

TEST_F(Poll, KeysThatCanBeNoNameAreLeftOut) {
  set("poll:lease:", "go-1");
  set("poll:lease:\xff\xfe", "go-1");
  set("poll:lease:cafe\xcc\x81", "go-1");
  set("poll:lease:" + std::string(600, 'x'), "go-1");
  set(lease_key("fine"), "go-1");
  EXPECT_EQ(lines(client_.list("poll/g/")), (Lines{"poll/g/fine go-1"}));
}

TEST_F(Poll, ManyAreRenewedInFewCalls) {
  constexpr int count = 1000;
  auto const us = owner();
  std::vector<LeaseRenewal> renewals;
  for (int i = 0; i < count; ++i) {
    auto const endpoint = "e" + std::to_string(i);
    take(endpoint, us, "web-1", 300s);
    renewals.emplace_back("poll/g/" + endpoint, us, 600s);
  }
  announce("web-1", us, "online 1");
  renewals.emplace_back("node/g/web-1", us, 600s);
  client_.take("a lock", us);
  renewals.emplace_back("a lock", us, 600s);
  redis_.done({"SET", lease_key("e7"), original("go-1").value(), "PX", "5000"});
  // So that the server knows the scripts.
  EXPECT_TRUE(client_.renew("poll/g/e0", us));
  EXPECT_TRUE(client_.renew("a lock", us));
  redis_.done({"CONFIG", "RESETSTAT"});
  auto const answers =
      run(client_.engine().leases().renew(std::move(renewals), client_.deadline()));
  EXPECT_LE(calls_of("evalsha") + calls_of("eval"), (count + 2) / 100);
  ASSERT_EQ(answers.size(), count + 2U);
  EXPECT_EQ(std::ranges::count_if(answers, [](auto const& each) { return each.has_value(); }),
            count + 1);
  ASSERT_FALSE(answers[7]);
  EXPECT_EQ(answers[7].error().reason, LossReason::taken);
  EXPECT_GT(pttl(lease_key("e999")), 300'000);
  EXPECT_LE(pttl(lease_key("e7")), 5000);
  EXPECT_GT(client_.find("a lock")->expires_in, 300s);
}

TEST_F(PollRecords, SessionsAreTheEndpoints) {
  set("session:b", R"({"id":"b","name":"B","isPaused":false})");
  set("session:a", R"({"id":"a","isPaused":true})");
  set("session:c", R"({"id":"c","is_paused":true})");
  set("session:d", R"({"id":"d","IsPaused":true})");
  set("session:gone", R"({"id":"gone"})");
  redis_.done({"SET", "deleted-session:gone", "1", "EX", "86400"});
  set("session:broken", "{");
  redis_.done({"LPUSH", "session:list", "x"});
  set("sessions:other", "{}");
  Lines const expected{"endpoint/g/a paused", "endpoint/g/b ", "endpoint/g/c paused",
                       "endpoint/g/d paused"};
  redis_.done({"CONFIG", "RESETSTAT"});
  EXPECT_EQ(lines(list("endpoint/g/")), expected);
  EXPECT_EQ(calls_of("keys"), 0);
  auto const first = list("endpoint/g/", "", 3);
  EXPECT_EQ(first.next, "endpoint/g/c");
  EXPECT_EQ(lines(list("endpoint/g/", first.next, 3)), (Lines{"endpoint/g/d paused"}));
  EXPECT_EQ(lines(list("endpoint/g/b")), (Lines{"endpoint/g/b "}));

  auto const record = get_record("endpoint/g/a");
  ASSERT_TRUE(record);
  EXPECT_EQ(record->value, "paused");
  EXPECT_GT(record->version, 0U);
  EXPECT_FALSE(get_record("endpoint/g/gone"));
  EXPECT_FALSE(get_record("endpoint/g/none"));
}

TEST_F(PollRecords, SessionsBelongToTheFleet) {
  set("session:a", "{}");
  EXPECT_THAT(what_is_thrown<InvalidArgument>([&] {
                static_cast<void>(
                    run(records().put(RecordWrite("endpoint/g/a", "paused"), client_.deadline())));
              }),
              HasSubstr("session of the fleet"));
  EXPECT_THROW(static_cast<void>(run(records().erase("endpoint/g/a", {}, client_.deadline()))),
               InvalidArgument);
  EXPECT_EQ(get("session:a"), "{}");
}

TEST_F(PollRecords, OtherRecordsAreHoltsOwn) {
  set("session:a", "{}");
  put("b");
  put("x");
  EXPECT_EQ(get_record("b")->value, "own");
  EXPECT_EQ(lines(list("")), (Lines{"b own", "endpoint/fleet/a ", "x own"}));
  EXPECT_EQ(lines(list("", "", 2)), (Lines{"b own", "endpoint/fleet/a "}));
  EXPECT_EQ(lines(list("", "endpoint/fleet/a")), (Lines{"x own"}));
  EXPECT_TRUE(*run(records().erase("b", {}, client_.deadline())));
  EXPECT_EQ(run(records().add("n", 2, client_.deadline())), 2);
}

TEST_F(Poll, WhatTheFleetDoesNotKnowIsRefused) {
  auto const refusal = [&](char const* name, Wish const& wish) {
    return what_is_thrown<InvalidArgument>([&] { client_.acquire(name, owner(), wish); });
  };
  EXPECT_THAT(refusal("poll/g/e", {.delay = 1s, .note = "web-1"}), HasSubstr("lock delay"));
  EXPECT_THAT(refusal("poll/g/e", {}), HasSubstr("node's id"));
  EXPECT_THAT(refusal("poll/g/e", {.note = "{web"}), HasSubstr("brace"));
  EXPECT_THAT(refusal("node/g/web-1", {}), HasSubstr("online 1"));
  EXPECT_THAT(refusal("node/g/web-1", {.note = "\"x\" 1"}), HasSubstr("online 1"));
  for (auto const* const half : {"poll/", "poll/e", "poll//e", "poll/g/", "node/web-1"}) {
    EXPECT_THAT(refusal(half, {.note = "web-1"}), HasSubstr("GROUP/ID")) << half;
  }
  Wish const wish{.note = "web-1"};
  EXPECT_THROW(client_.acquire_all({"a", "poll/g/e"}, owner(), wish), InvalidArgument);
  EXPECT_THROW(client_.acquire_all({"poll/g/d", "poll/g/e"}, owner(), wish), InvalidArgument);
  EXPECT_EQ(redis_.number({"DBSIZE"}), 0);
  EXPECT_THAT(what_is_thrown<InvalidArgument>([&] { static_cast<void>(store_.open("other")); }),
              HasSubstr("prefix="));
  auto const opened = [&](std::string const& url) {
    return what_is_thrown<InvalidArgument>(
        [&] { static_cast<void>(open_engine(store_.env(), {url, "default"})); });
  };
  EXPECT_THAT(opened(store_.url() + "&wait_replicas=1"), HasSubstr("wait_replicas"));
  EXPECT_THAT(opened("redis+cluster://127.0.0.1:1?layout=poll"), HasSubstr("Cluster"));
  EXPECT_THAT(opened(store_.url() + "&leader_key=x"), HasSubstr("layout=sovereign"));
  EXPECT_THAT(opened(store_.url() + "&cleanup_in_is_locked=true"), HasSubstr("no option"));
  EXPECT_THAT(opened(store_.url() + "&value=xml"), HasSubstr("only json and plain"));
  EXPECT_THAT(opened(store_.server().url() + "?value=json"), HasSubstr("needs layout=poll"));
}

TEST_F(Poll, OnlyALeaseOfHoltsCanBeBroken) {
  auto const us = owner();
  auto const fence = take("e", us, "web-1");
  EXPECT_THAT(what_is_thrown<InvalidArgument>([&] { client_.break_lease("poll/g/e", "please"); }),
              HasSubstr("--now"));
  EXPECT_EQ(client_.break_lease("poll/g/e", "old", true, Fence(fence.value() - 1)),
            BreakResult::other_fence);
  EXPECT_EQ(client_.break_lease("poll/g/e", "stuck", true, fence), BreakResult::freed);
  EXPECT_TRUE(client_.hears(topic::check, us.text()));
  EXPECT_FALSE(exists(lease_key("e")));
  EXPECT_EQ(client_.break_lease("poll/g/e", "stuck", true), BreakResult::not_held);
  original("go-1").acquire("e");
  EXPECT_THAT(
      what_is_thrown<InvalidArgument>([&] { client_.break_lease("poll/g/e", "stuck", true); }),
      HasSubstr("\"go-1\", who is not Holt's"));
  EXPECT_TRUE(exists(lease_key("e")));
}

TEST_F(Poll, OtherLeasesAreHoltsOwn) {
  auto const us = owner();
  client_.take("a", us, {.note = "mine"});
  EXPECT_EQ(redis_.done({"KEYS", "holt:default:*l:a"}).items.size(), 1U);
  EXPECT_EQ(client_.wait_for("a", owner()), 1U) << "with its line";
  EXPECT_TRUE(client_.renew("a", us));
  EXPECT_TRUE(client_.release("a", us));
  EXPECT_EQ(client_.engine().capabilities().waiting, Waiting::polling);
  EXPECT_FALSE(client_.engine().watch([] {}));
}

TEST_F(Poll, TheDoctorNamesTheLayout) {
  auto const findings = run(client_.engine().diagnose(5s));
  auto const layout = std::ranges::find(findings, "layout", &Finding::id);
  ASSERT_NE(layout, findings.end());
  EXPECT_THAT(layout->detail, HasSubstr("poll:lease:*"));
  EXPECT_THAT(client_.engine().url(),
              HasSubstr("?layout=poll&prefix=poll&sessions=session&value=json"));
}

/// As docs/engines.md has it: beside those of Holt's own layout.
constexpr char const* more_rights = " ~poll:* ~session:* ~deleted-session:* +scan";

TEST(PollRights, ThoseThatThePageNamesAreEnough) {
  RedisServer const server({.acl = {"user default on nopass ~* &* +@all",
                                    RedisAclTestStore::example_line() + more_rights}});
  auto redis = server.connect();
  redis.done({"SET", "session:e", "{}"});
  TestEnv env;
  auto const url = "redis://holt:change-me@" + server.address() + "?layout=poll";
  auto const engine = open_engine(env, {url, "default"});
  auto& leases = engine->leases();
  auto const soon = env.now() + 20s;
  Owner const us(engine->signals().inbox(), "AAECAwQFBgcICQoLDA0ODw");
  LeaseRequest request({Name("poll/g/e")}, us, 30s);
  request.note = "web-1";
  EXPECT_TRUE(run(leases.acquire(request, soon)));
  request.owner = Owner(engine->signals().inbox(), "BAECAwQFBgcICQoLDA0ODw");
  EXPECT_FALSE(run(leases.acquire(request, soon)));
  std::vector<LeaseRenewal> renewals;
  renewals.emplace_back("poll/g/e", us, 60s);
  EXPECT_TRUE(run(leases.renew(std::move(renewals), soon)).at(0));
  EXPECT_EQ(run(leases.list("poll/g/", "", 10, soon)).leases.size(), 1U);
  EXPECT_EQ(run(engine->records().list("endpoint/g/", "", 10, soon)).records.size(), 1U);
  BreakRequest stuck("poll/g/e", "stuck");
  stuck.now = true;
  EXPECT_EQ(run(leases.break_lease(stuck, soon)), BreakResult::freed);
  EXPECT_FALSE(run(leases.release("poll/g/e", us, soon)));
}

}  // namespace
}  // namespace holt::test
