// SPDX-License-Identifier: Apache-2.0
// Elections beside a Sovereign fleet: who leads when, what onlookers see, what is refused, and that
// everything else of the store is Holt's own.

#include "contract/redis_sovereign_fixture.hpp"

#include <gmock/gmock.h>

#include <atomic>
#include <thread>

namespace holt::test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

TEST_F(Sovereign, WeLeadWhenAnOriginalIsGone) {
  auto java = original("java-1", 2);
  java.cycle();
  auto holt = open_client();
  auto candidate = holt.election(election, {.id = "web-1", .ttl = 60s});
  candidate.start();
  ASSERT_TRUE(comes_true([&] { return candidate.state() == ElectionState::follower; }));
  EXPECT_FALSE(candidate.is_leader());
  EXPECT_TRUE(comes_to_lead(candidate)) << "its key ended";
  EXPECT_EQ(get(leader_key), "web-1");
  java.cycle();
  EXPECT_FALSE(java.leads());
}

TEST_F(Sovereign, AFollowerOfAnOriginalSleeps) {
  auto java = original("java-1", 60);
  java.cycle();
  auto holt = open_client();
  auto candidate = holt.election(election, {.id = "web-1", .ttl = 30s});
  candidate.start();
  ASSERT_TRUE(comes_true([&] { return holt.leader(election)->candidates == 1; }));
  redis_.done({"CONFIG", "RESETSTAT"});
  std::this_thread::sleep_for(1s);
  EXPECT_LE(calls_of("evalsha"), 2) << "once more when it hears signals, and then not for a minute";
  EXPECT_EQ(candidate.state(), ElectionState::follower);
}

TEST_F(Sovereign, NobodyLeadsBesideAnOriginalThatRenews) {
  auto java = original("java-1", 2);
  java.cycle();
  auto holt = open_client();
  auto candidate = holt.election(election, {.id = "web-1", .ttl = 30s});
  candidate.start();
  auto const until = std::chrono::steady_clock::now() + 4s;
  while (std::chrono::steady_clock::now() < until) {
    auto const term = candidate.term();
    java.cycle();
    if (!java.leads()) break;  // this machine was stopped for two seconds
    ASSERT_TRUE(term == Fence() || candidate.term() != term);
    std::this_thread::sleep_for(100ms);
  }
}

TEST_F(Sovereign, ALeaderWhoseKeyIsTakenHearsItAtItsNextRenewal) {
  auto holt = open_client();
  auto candidate = holt.election(election, {.id = "web-1", .ttl = 60s, .renew_every = 200ms});
  candidate.start();
  ASSERT_TRUE(comes_to_lead(candidate));
  // As when an original deletes the key, which was its own when it looked, and the next one wins.
  redis_.done({"SET", leader_key, "java-1", "EX", "60"});
  EXPECT_TRUE(comes_true([&] { return !candidate.is_leader(); }));
  EXPECT_EQ(get(leader_key), "java-1");
}

TEST_F(Sovereign, ALeaderThatIsCutOffDoesNotBelieveForEver) {
  auto holt = open_client();
  auto candidate = holt.election(election, {.id = "web-1", .ttl = 1s});
  candidate.start();
  ASSERT_TRUE(comes_to_lead(candidate));
  store_.server().freeze();
  EXPECT_TRUE(comes_true([&] { return !candidate.is_leader(); }));
  store_.server().thaw();
}

TEST_F(Sovereign, OnlookersSeeAnOriginal) {
  auto java = original("java-1", 60);
  java.cycle();
  auto holt = open_client();
  auto leader = holt.leader(election);
  ASSERT_TRUE(leader);
  EXPECT_EQ(leader->id, "java-1");
  EXPECT_EQ(leader->term, Fence());
  EXPECT_LE(leader->expires_in, 60s + 1ms);
  EXPECT_EQ(leader->candidates, 0U);
  java.beat();
  store_.advance(10s);
  java.cycle();
  store_.advance(2s);
  leader = holt.leader(election);
  EXPECT_EQ(leader->ttl, 60s) << "by its heartbeat";
  EXPECT_GE(leader->heartbeat_age, 1900ms);
  EXPECT_LT(leader->heartbeat_age, 10s) << "since it renewed its key";
  ASSERT_EQ(holt.leaders().size(), 1U);
  EXPECT_EQ(holt.leaders()[0].election.text(), election);

  auto watch = holt.observe(election);
  auto const present = watch.next();
  ASSERT_EQ(present.size(), 1U);
  EXPECT_EQ(present[0].lease.note, "java-1");
  java.stop();
  auto const gone = watch.next(30s);
  ASSERT_FALSE(gone.empty());
  EXPECT_EQ(gone[0].kind, LeaseEventKind::released);
  auto next = original("java-2", 60);
  next.cycle();
  auto const elected = watch.next(30s);
  ASSERT_FALSE(elected.empty());
  EXPECT_EQ(elected[0].kind, LeaseEventKind::acquired);
  EXPECT_EQ(elected[0].lease.note, "java-2");
}

TEST_F(Sovereign, AnOriginalCannotBeAskedToResignOrBroken) {
  auto java = original("java-1", 60);
  java.cycle();
  auto holt = open_client();
  EXPECT_THAT(
      what_is_thrown<InvalidArgument>([&] { static_cast<void>(holt.resign_leader(election)); }),
      HasSubstr("\"java-1\" leads, which is no process of Holt"));
  EXPECT_THAT(what_is_thrown<InvalidArgument>(
                  [&] { static_cast<void>(holt.break_lock(lease_name, "stuck", {.now = true})); }),
              HasSubstr("stop it where it runs"));
  EXPECT_EQ(get(leader_key), "java-1");
}

TEST_F(Sovereign, TheNextOfOursIsToldAndADeadOneIsPassedOver) {
  Client other(store_);
  auto const owner = client_.owner();
  auto const next = other.owner();
  auto const term = lead(owner, "web-1");
  Owner const dead("nobody-hears-this", "AAECAwQFBgcICQoLDA0ODw");
  EXPECT_EQ(client_.wait_for(lease_name, dead, {.ticket_ttl = 60s, .note = "dead"}), 1U);
  EXPECT_EQ(other.wait_for(lease_name, next, {.ticket_ttl = 60s, .note = "web-2"}), 2U);
  EXPECT_EQ(client_.find(lease_name)->waiting, 2U);
  EXPECT_TRUE(client_.release(lease_name, owner));
  EXPECT_TRUE(other.hears(topic::offer, next.text()));
  auto const offered = client_.find(lease_name);
  if (!offered) GTEST_SKIP() << "this machine was stopped for a second";
  EXPECT_EQ(offered->note, "web-2");
  EXPECT_TRUE(offered->offered);
  EXPECT_LE(offered->expires_in, 1s + 1ms);
  auto const granted = other.acquire(lease_name, next, {.note = "web-2"});
  ASSERT_TRUE(granted);
  EXPECT_GE(granted->fences[0], offered->fence);
  EXPECT_GT(granted->fences[0], term);
  EXPECT_GT(pttl(leader_key), 30'000);
}

TEST_F(Sovereign, AnOfferThatNobodyTakesIsFreeForAllAfterASecond) {
  Client other(store_);
  auto const owner = client_.owner();
  lead(owner, "web-1");
  other.wait_for(lease_name, other.owner(), {.ticket_ttl = 60s, .note = "web-2"});
  EXPECT_TRUE(client_.release(lease_name, owner));
  store_.advance(1001ms);
  auto java = original("java-1", 60);
  java.cycle();
  EXPECT_TRUE(java.leads());
}

TEST_F(Sovereign, APlaceThatWasNotAskedForAgainEnds) {
  auto java = original("java-1", 600);
  java.cycle();
  client_.wait_for(lease_name, client_.owner(), {.ticket_ttl = 10s, .note = "web-1"});
  store_.advance(11s);
  EXPECT_EQ(client_.find(lease_name)->waiting, 0U);
  EXPECT_EQ(client_.wait_for(lease_name, client_.owner(), {.note = "web-2"}), 1U);
  EXPECT_EQ(redis_.number({"HLEN", "sovereign:leader:holt:line"}), 1);
}

TEST_F(Sovereign, WhileWeLeadTheKeySaysSo) {
  auto holt = open_client();
  auto other = open_client();
  auto one = holt.election(election, {.id = "web-1", .ttl = 1s});
  auto two = other.election(election, {.id = "web-2", .ttl = 1s});
  std::atomic<bool> fleet_runs = false;
  std::atomic<bool> original_leads = false;
  std::jthread const fleet([&](std::stop_token const& stop) {
    auto java = original("java-1", 1);
    while (!stop.stop_requested()) {
      if (fleet_runs) java.cycle();
      original_leads = fleet_runs && java.leads();
      std::this_thread::sleep_for(10ms);
    }
  });
  auto const look = [&] {
    for (auto const* const candidate : {&one, &two}) {
      auto const term = candidate->term();
      auto const leader = redis_.ask({"GET", leader_key});
      bool const led_meanwhile = term != Fence() && candidate->term() == term;
      EXPECT_TRUE(!led_meanwhile || leader.text == candidate->id()) << leader.text;
    }
  };
  auto const one_leads = [&] {
    look();
    return one.is_leader() || two.is_leader();
  };
  for (int round = 0; round < 3; ++round) {
    one.start();
    two.start();
    ASSERT_TRUE(comes_true(one_leads)) << "when the original's key has ended";
    (one.is_leader() ? one : two).resign();
    ASSERT_TRUE(comes_true(one_leads));
    fleet_runs = true;
    for (int i = 0; i < 20; ++i) look();
    one.stop();
    two.stop();
    ASSERT_TRUE(comes_true([&] { return original_leads.load(); }));
    one.start();
    two.start();
    for (int i = 0; i < 20; ++i) look();
    fleet_runs = false;  // it is dead
  }
}

TEST_F(Sovereign, OtherElectionsAndWhatTheFleetDoesNotKnowAreRefused) {
  auto holt = open_client();
  auto const refusal = [&](char const* name, ElectionOptions const& options) {
    return what_is_thrown<InvalidArgument>(
        [&] { static_cast<void>(holt.election(name, options)); });
  };
  EXPECT_THAT(refusal("scheduler", {}), HasSubstr("use \"sovereign:leader\""));
  EXPECT_THAT(refusal(election, {.lock_delay = 1s}), HasSubstr("a lock delay is not possible"));
  EXPECT_EQ(refusal(election, {.priority = 1}), "nothing");
  EXPECT_THROW(static_cast<void>(holt.leader("scheduler")), InvalidArgument);
  EXPECT_THROW(static_cast<void>(holt.lock("election/scheduler")), InvalidArgument);
  EXPECT_THROW(static_cast<void>(holt.lock(lease_name)), InvalidArgument) << "no id";
  EXPECT_THROW(client_.acquire_all({"a", lease_name}, client_.owner()), InvalidArgument);
  EXPECT_THAT(what_is_thrown<InvalidArgument>(
                  [&] { static_cast<void>(holt.break_lock(lease_name, "please")); }),
              HasSubstr("holt election resign"));
  EXPECT_THAT(what_is_thrown<InvalidArgument>([&] { static_cast<void>(store_.open("other")); }),
              HasSubstr("leader_key="));
  auto const opened = [&](std::string const& url) {
    return what_is_thrown<InvalidArgument>(
        [&] { static_cast<void>(open_engine(store_.env(), {url, "default"})); });
  };
  EXPECT_THAT(opened(store_.url() + "&wait_replicas=1"), HasSubstr("wait_replicas"));
  EXPECT_THAT(opened("redis+cluster://127.0.0.1:1?layout=sovereign"), HasSubstr("Cluster"));
  EXPECT_THAT(opened(store_.url() + "&prefix=x"), HasSubstr("prefix"));
}

TEST_F(Sovereign, EverythingElseIsHoltsOwn) {
  auto const owner = client_.owner();
  auto const fence = client_.take("a", owner, {.note = "mine"});
  EXPECT_EQ(redis_.done({"KEYS", "holt:default:*l:a"}).items.size(), 1U);
  client_.take("z", owner);
  lead(owner, "web-1");
  auto const native = open_engine(store_.env(), {store_.server().url(), "default"});
  LeaseRequest elsewhere({Name("election/other")}, client_.owner(), 60s);
  EXPECT_TRUE(run(native->leases().acquire(elsewhere, client_.deadline())));
  EXPECT_EQ(run(native->leases().find("a", client_.deadline()))->fence, fence);

  std::vector<std::string> names;
  std::string cursor;
  do {
    auto const page = client_.list("", cursor, 1);
    for (auto const& lease : page.leases) names.push_back(lease.name.text());
    cursor = page.next;
  } while (!cursor.empty());
  EXPECT_THAT(names, ElementsAre("a", lease_name, "z")) << "each once, other elections never";
  EXPECT_EQ(client_.list("", "", 3).leases.size(), 3U);
  EXPECT_EQ(client_.list("election/").leases.size(), 1U);
  EXPECT_EQ(client_.list("election/", lease_name).leases.size(), 0U);

  std::vector<LeaseRenewal> renewals;
  for (auto const* const name : {"z", lease_name, "nobody's", "a"}) {
    renewals.emplace_back(name, owner, 60s);
  }
  auto const answers =
      run(client_.engine().leases().renew(std::move(renewals), client_.deadline()));
  EXPECT_TRUE(answers[0]);
  EXPECT_TRUE(answers[1]);
  EXPECT_FALSE(answers[2]);
  EXPECT_TRUE(answers[3]);
  EXPECT_TRUE(client_.release("a", owner));
  EXPECT_EQ(client_.break_lease("z", "stuck", true), BreakResult::freed);
}

TEST_F(Sovereign, TheDoctorNamesTheLayout) {
  auto const findings = run(client_.engine().diagnose(5s));
  auto const layout = std::ranges::find(findings, "layout", &Finding::id);
  ASSERT_NE(layout, findings.end());
  EXPECT_THAT(layout->detail, HasSubstr("sovereign:heartbeat:*"));
  EXPECT_THAT(client_.engine().url(),
              HasSubstr("?layout=sovereign&leader_key=sovereign%3Aleader&heartbeat_prefix="));
}

/// As docs/engines.md has it: beside those of Holt's own layout.
constexpr char const* more_rights = " ~sovereign:* +hgetall +setex +expire +scan";

TEST(SovereignRights, ThoseThatThePageNamesAreEnough) {
  RedisServer const server({.acl = {"user default on nopass ~* &* +@all",
                                    RedisAclTestStore::example_line() + more_rights}});
  TestEnv env;
  auto const url = "redis://holt:change-me@" + server.address() + "?layout=sovereign";
  auto const engine = open_engine(env, {url, "default"});
  auto& leases = engine->leases();
  auto const soon = env.now() + 20s;
  Owner const first(engine->signals().inbox(), "AAECAwQFBgcICQoLDA0ODw");
  Owner const second(engine->signals().inbox(), "BAECAwQFBgcICQoLDA0ODw");
  LeaseRequest request({Name(lease_name)}, first, 30s);
  request.note = "web-1";
  request.stand_in_line = true;
  request.ticket_ttl = 30s;
  EXPECT_TRUE(run(leases.acquire(request, soon)));
  request.owner = second;
  EXPECT_FALSE(run(leases.acquire(request, soon)));
  std::vector<LeaseRenewal> renewals;
  renewals.emplace_back(lease_name, first, 30s);
  EXPECT_TRUE(run(leases.renew(std::move(renewals), soon)).at(0));
  EXPECT_EQ(run(leases.find(lease_name, soon))->waiting, 1U);
  EXPECT_TRUE(run(leases.release(lease_name, first, soon)));
  EXPECT_TRUE(run(leases.find(lease_name, soon))->offered);
  EXPECT_TRUE(run(leases.release(lease_name, second, soon)));
  EXPECT_FALSE(run(leases.find(lease_name, soon)));
}

}  // namespace
}  // namespace holt::test
