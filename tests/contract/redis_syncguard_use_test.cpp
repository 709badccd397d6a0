// SPDX-License-Identifier: Apache-2.0
// The layout syncguard in use: what is refused, what is listed, how one waits, and its variants.

#include "contract/redis_syncguard_fixture.hpp"

#include <holt/error.hpp>
#include <holt/holt.hpp>

#include <gmock/gmock.h>

#include <algorithm>
#include <optional>
#include <thread>

namespace holt::test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

TEST_F(Syncguard, NamesOfInternalKeysAreRefusedBeforeAnyIo) {
  client_.take("a", client_.owner());
  store_.server().kill();
  auto const owner = client_.owner();
  for (auto const* bad : {"id:AAECAwQFBgcICQoLDA0ODw", "fence:syncguard:a", "fence:a"}) {
    EXPECT_THROW(client_.acquire(bad, owner), InvalidArgument) << bad;
    EXPECT_THROW(client_.renew(bad, owner), InvalidArgument) << bad;
    EXPECT_THROW(client_.release(bad, owner), InvalidArgument) << bad;
    EXPECT_THROW(client_.find(bad), InvalidArgument) << bad;
    EXPECT_THROW(client_.break_lease(bad, "x", true), InvalidArgument) << bad;
  }
}

TEST_F(Syncguard, WhatTheWireHasNoPlaceForIsRefusedBeforeAnyIo) {
  store_.server().kill();
  auto const owner = client_.owner();
  EXPECT_THROW(client_.acquire_all({"a", "b"}, owner), InvalidArgument);
  EXPECT_THROW(client_.acquire("a", owner, {.delay = 1s}), InvalidArgument);
  EXPECT_THROW(client_.acquire("a", owner, {.priority = 1}), InvalidArgument);
  auto const error = thrown_by<InvalidArgument>([&] { client_.break_lease("a", "please"); });
  EXPECT_THAT(error.what(), HasSubstr("--now"));
  EXPECT_THROW(run(client_.engine().raise_fence(client_.deadline())), InvalidArgument);
  EXPECT_THROW(static_cast<void>(store_.open("other")), InvalidArgument);
}

TEST_F(Syncguard, ElectionsAreRefused) {
  auto holt = holt::open(store_.url());
  auto const error =
      thrown_by<InvalidArgument>([&] { static_cast<void>(holt.election("e", {.priority = 1})); });
  EXPECT_THAT(error.what(), HasSubstr("needs a store with a line"));
}

TEST_F(Syncguard, ReplicasAreNotWaitedFor) {
  auto const error = thrown_by<InvalidArgument>([&] {
    static_cast<void>(open_engine(store_.env(), {store_.url() + "&wait_replicas=1", "default"}));
  });
  EXPECT_THAT(error.what(), HasSubstr("wait_replicas is not possible with layout=syncguard"));
}

TEST_F(Syncguard, ALockOfTheFleetInPlaceOfACounterIsSaidAndNothingIsTaken) {
  foreign(30'000, 30'000, "fence:syncguard:" + std::string(name));
  auto const error = thrown_by<EngineError>([&] { client_.acquire(name, client_.owner()); });
  EXPECT_EQ(error.outcome(), Outcome::not_applied);
  EXPECT_THAT(error.what(), HasSubstr(std::string(counter_key)));
  EXPECT_FALSE(exists(lock_key));
}

TEST_F(Syncguard, WhatIsNoLockIsLeftAlone) {
  std::string const key(lock_key);
  for (RedisClient::Words const& words : {RedisClient::Words{"SET", key, "orchestrator"},
                                          {"SET", key, "{\"lockId\":7}"},
                                          {"LPUSH", key, "x"}}) {
    ask({"DEL", key});
    ask(words);
    auto const error = thrown_by<EngineError>([&] { client_.acquire(name, client_.owner()); });
    EXPECT_THAT(error.what(), HasSubstr(key));
    EXPECT_THROW(client_.find(name), EngineError);
    EXPECT_FALSE(client_.release(name, client_.owner()));
    EXPECT_FALSE(client_.renew(name, client_.owner()));
    EXPECT_TRUE(exists(lock_key));
    EXPECT_TRUE(client_.list().leases.empty());
  }
}

TEST_F(Syncguard, BreakFreesAForeignLockAtOnce) {
  auto const id = foreign();
  EXPECT_EQ(client_.break_lease(name, "stuck", true, Fence(7)), BreakResult::other_fence);
  EXPECT_TRUE(exists(lock_key));
  EXPECT_EQ(client_.break_lease(name, "stuck", true, Fence(1)), BreakResult::freed);
  EXPECT_FALSE(exists(lock_key));
  EXPECT_FALSE(exists(index_of(id)));
  EXPECT_EQ(client_.break_lease(name, "stuck", true), BreakResult::not_held);
}

TEST_F(Syncguard, AListHasTheLocksOfThisFleetOnly) {
  foreign(30'000, 30'000, "b");
  foreign(30'000, 30'000, "a");
  client_.take("c", client_.owner());
  foreign(30'000, 30'000, "with\nnewline");          // no name of ours
  put("syncguard:x:a", get("syncguard:a"), 30'000);  // of the fleet "syncguard:x"
  put("other:a", get("syncguard:a"), 30'000);
  ask({"SADD", "syncguard:set", "1"});
  std::vector<std::string> names;
  for (auto const& lease : client_.list().leases) names.push_back(lease.name.text());
  EXPECT_THAT(names, ElementsAre("a", "b", "c"));
  EXPECT_THAT(client_.list("b").leases, testing::SizeIs(1));
}

TEST_F(Syncguard, AListOfManyGoesThroughAllPages) {
  constexpr int many = 1500;
  std::vector<std::string> expected;
  for (int i = 0; i < many; ++i) {
    expected.push_back("n" + std::to_string(1'000'000 + i * 7919 % many));
    foreign(60'000, 60'000, expected.back());
  }
  std::ranges::sort(expected);
  std::vector<std::string> names;
  std::string cursor;
  do {
    auto const page = client_.list("n", cursor, 400);
    for (auto const& lease : page.leases) names.push_back(lease.name.text());
    cursor = page.next;
  } while (!cursor.empty());
  EXPECT_EQ(names, expected);
}

TEST_F(Syncguard, TellsHowOneWaits) {
  auto const can = client_.engine().capabilities();
  EXPECT_EQ(can.waiting, Waiting::polling);
  EXPECT_TRUE(can.fencing);
  EXPECT_EQ(can.time, TimeAuthority::server);
  EXPECT_EQ(client_.engine().url(), store_.server().url() + "?layout=syncguard&prefix=syncguard");
}

TEST_F(Syncguard, AWaiterAsksAgainAndGetsItSoon) {
  auto const id = foreign(60'000, 60'000);
  auto holt = holt::open(store_.url());
  std::optional<Fence> got;
  std::jthread waiter([&] {
    auto lock = holt.lock(name, {.wait = 20s});
    if (lock) got = lock->fence();
  });
  auto const asked = [&] {
    auto const text = redis_.text({"INFO", "commandstats"});
    return text.find("cmdstat_evalsha") != std::string::npos;
  };
  for (int i = 0; i < 1000 && !asked(); ++i) std::this_thread::sleep_for(5ms);
  EXPECT_TRUE(foreign_release(id));
  waiter.join();
  EXPECT_EQ(got, Fence(2));
}

TEST_F(Syncguard, AWaiterDoesNotAskMoreOftenThanThePausesSay) {
  foreign(60'000, 60'000);
  auto holt = holt::open(store_.url());
  ask({"CONFIG", "RESETSTAT"});
  auto const busy = holt.lock(name, {.wait = 1s});
  ASSERT_FALSE(busy);
  EXPECT_EQ(busy.error().why, Busy::Why::timed_out);
  EXPECT_EQ(busy.error().place, 0U);
  auto const stats = redis_.text({"INFO", "commandstats"});
  auto const calls = std::stoi(info_field(stats, "cmdstat_evalsha").substr(6));  // calls=N,...
  EXPECT_GE(calls, 4);
  EXPECT_LE(calls, 12);
}

TEST_F(Syncguard, AWaiterComesWhenTheHoldersTimeEnds) {
  foreign(300, 300);
  auto holt = holt::open(store_.url());
  auto const lock = holt.lock(name, {.wait = 10s});
  ASSERT_TRUE(lock);
  EXPECT_EQ(lock->fence(), Fence(2));
}

class SyncguardLongPrefix : public Syncguard {
 protected:
  SyncguardLongPrefix() : Syncguard("layout=syncguard&prefix=" + std::string(500, 'p')) {}
};

TEST_F(SyncguardLongPrefix, KeysThatAreTooLongAreHashesAndStillFound) {
  std::string const prefix(500, 'p');
  Name const longest(std::string(512, 'k'));
  auto const owner = client_.owner();
  client_.take(longest, owner, {.ttl = 60s});
  auto const key = prefix + ":4IHsXAHxkLfKOJql6ueqVQ";
  EXPECT_EQ(lock_in(key).at("key").as_string(), longest.text());
  EXPECT_EQ(get(prefix + ":r7uSk1CCDeZHcsBGXY_FSw"), "1");
  EXPECT_EQ(get(prefix + ":id:" + id_of(owner)), key);
  ASSERT_EQ(client_.list("kkk").leases.size(), 1U);
  EXPECT_EQ(client_.list("kkk").leases[0].name, longest);
  EXPECT_TRUE(client_.renew(longest, owner));
  EXPECT_TRUE(client_.release(longest, owner));
  EXPECT_EQ(redis_.number({"DBSIZE"}), 1);
}

class SyncguardFirstRevision : public Syncguard {
 protected:
  SyncguardFirstRevision() : Syncguard("layout=syncguard-19") {}
};

TEST_F(SyncguardFirstRevision, HasItsOwnKeysAndWidth) {
  auto const owner = client_.owner();
  EXPECT_EQ(client_.take(name, owner, {.ttl = 60s}), Fence(1));
  EXPECT_EQ(lock_in(lock_key).at("fence").as_string(), "0000000000000000001");
  EXPECT_EQ(get(index_of(id_of(owner))), name);
  EXPECT_EQ(get("syncguard:fence:resource:123"), "1");
  EXPECT_TRUE(client_.renew(name, owner));
  EXPECT_EQ(get(index_of(id_of(owner))), name);
  EXPECT_TRUE(client_.release(name, owner));
  EXPECT_EQ(redis_.number({"DBSIZE"}), 1);
}

TEST_F(SyncguardFirstRevision, FencesEndWhereLuaCountsExactly) {
  ask({"SET", "syncguard:fence:resource:123", "8999999999999999"});
  auto const owner = client_.owner();
  EXPECT_EQ(client_.take(name, owner), Fence(9'000'000'000'000'000));
  EXPECT_TRUE(client_.release(name, owner));
  EXPECT_THROW(client_.acquire(name, owner), EngineError);
}

/// As docs/engines.md has it.
constexpr char const* rights =
    "user holt on >secret ~syncguard:* +info +select +evalsha +eval +time +get +set +del +incr "
    "+pttl "
    "+scan";

TEST(SyncguardRights, ThoseThatThePageNamesAreEnough) {
  RedisServer const server({.acl = {"user default on nopass ~* &* +@all", rights}});
  TestEnv env;
  auto const url = "redis://holt:secret@" + server.address() + "?layout=syncguard";
  auto const engine = open_engine(env, {url, "default"});
  auto& leases = engine->leases();
  Owner const owner("syncguard", "AAECAwQFBgcICQoLDA0ODw");
  auto const soon = env.now() + 5s;
  EXPECT_TRUE(run(leases.acquire(LeaseRequest({"a"}, owner, 30s), soon)));
  std::vector<LeaseRenewal> renewals;
  renewals.emplace_back("a", owner, 30s);
  EXPECT_TRUE(run(leases.renew(std::move(renewals), soon)).at(0));
  EXPECT_TRUE(run(leases.find("a", soon)));
  EXPECT_EQ(run(leases.list("", "", 10, soon)).leases.size(), 1U);
  BreakRequest request("a", "stuck");
  request.now = true;
  EXPECT_EQ(run(leases.break_lease(request, soon)), BreakResult::freed);
  EXPECT_FALSE(run(leases.release("a", owner, soon)));
}

TEST_F(Syncguard, TheDoctorNamesTheLayout) {
  auto const findings = run(client_.engine().diagnose(5s));
  auto const layout = std::ranges::find(findings, "layout", &Finding::id);
  ASSERT_NE(layout, findings.end());
  EXPECT_THAT(layout->detail, HasSubstr("syncguard:*"));
}

}  // namespace
}  // namespace holt::test
