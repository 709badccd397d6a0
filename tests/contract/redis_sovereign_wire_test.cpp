// SPDX-License-Identifier: Apache-2.0
// What is in the keys of a Sovereign fleet after each step of ours, and what an original makes of
// it; the defects of the original that are not ours.

#include "contract/redis_sovereign_fixture.hpp"

#include <gmock/gmock.h>

namespace holt::test {
namespace {

constexpr char const* side_key = "sovereign:leader:holt";

TEST_F(Sovereign, ALeaderOfOursLooksLikeAnOriginalFromTheFirstMoment) {
  auto const owner = client_.owner();
  lead(owner, "web-1", 30s);
  EXPECT_EQ(get(leader_key), "web-1");
  EXPECT_GT(pttl(leader_key), 20'000);
  EXPECT_LE(pttl(leader_key), 30'000);
  auto const beat = get(heartbeat_of("web-1"));
  EXPECT_EQ(beat, std::to_string(std::stoll(beat))) << "decimal and nothing else";
  EXPECT_NEAR(static_cast<double>(std::stoll(beat)), static_cast<double>(server_ms()), 10'000);
  EXPECT_GT(pttl(heartbeat_of("web-1")), 25'000);
  EXPECT_LE(pttl(heartbeat_of("web-1")), 35'000);

  auto other = original("java-1", 30);
  other.cycle();
  EXPECT_FALSE(other.leads());
  EXPECT_FALSE(other.sees_stale_leader());

  EXPECT_TRUE(client_.release(lease_name, owner));
  EXPECT_FALSE(exists(leader_key));
  EXPECT_FALSE(exists(heartbeat_of("web-1")));
  other.cycle();
  EXPECT_TRUE(other.leads());
}

TEST_F(Sovereign, ARenewalMovesTheEndAndTheHeartbeat) {
  auto const owner = client_.owner();
  lead(owner, "web-1", 30s);
  auto const before = std::stoll(get(heartbeat_of("web-1")));
  store_.advance(25s);
  EXPECT_TRUE(client_.renew(lease_name, owner, 30s));
  EXPECT_GT(pttl(leader_key), 20'000);
  EXPECT_GE(std::stoll(get(heartbeat_of("web-1"))), before + 25'000);
  EXPECT_TRUE(client_.renew(lease_name, owner, 5s));
  EXPECT_GT(pttl(leader_key), 20'000) << "never back";
}

TEST_F(Sovereign, TimesAreWholeSecondsAndNeverNone) {
  auto const owner = client_.owner();
  lead(owner, "web-1", 100ms);
  EXPECT_LE(pttl(leader_key), 1000);
  EXPECT_EQ(redis_.text({"HGET", side_key, "ttl"}), "1");
  store_.advance(2s);
  lead(client_.owner(), "web-1", 1500ms);
  EXPECT_LE(pttl(leader_key), 2000);
  EXPECT_EQ(redis_.text({"HGET", side_key, "ttl"}), "2");
}

TEST_F(Sovereign, AnOriginalIsFollowedUntilItsKeyEnds) {
  auto java = original("java-1", 60);
  java.cycle();
  ASSERT_TRUE(java.leads());
  auto const owner = client_.owner();
  auto const busy = client_.acquire(lease_name, owner, {.ttl = 30s, .note = "web-1"});
  ASSERT_FALSE(busy);
  EXPECT_EQ(busy.error().note, "java-1");
  EXPECT_EQ(busy.error().fence, Fence());
  EXPECT_GT(busy.error().expires_in, 50s);
  EXPECT_LE(busy.error().expires_in, 60s + 1ms);
  store_.advance(61s);
  EXPECT_GT(lead(owner, "web-1"), Fence());
}

TEST_F(Sovereign, AStaleHeartbeatDecidesNothing) {
  auto java = original("java-1", 60);
  java.cycle();
  redis_.done({"SET", heartbeat_of("java-1"), "1"});
  EXPECT_FALSE(client_.acquire(lease_name, client_.owner(), {.note = "web-1"}));
  redis_.done({"DEL", heartbeat_of("java-1")});
  EXPECT_FALSE(client_.acquire(lease_name, client_.owner(), {.note = "web-1"}));
  EXPECT_EQ(get(leader_key), "java-1");
}

TEST_F(Sovereign, NothingOfAnotherIsRenewedOrDeleted) {
  auto const owner = client_.owner();
  lead(owner, "web-1", 30s);
  store_.advance(31s);
  auto java = original("java-1", 20);
  java.cycle();
  java.beat();
  ASSERT_TRUE(java.leads());
  auto const renewed = client_.renew(lease_name, owner, 60s);
  ASSERT_FALSE(renewed);
  EXPECT_EQ(renewed.error().reason, LossReason::taken);
  EXPECT_LE(pttl(leader_key), 20'000);
  EXPECT_FALSE(client_.release(lease_name, owner));
  EXPECT_EQ(get(leader_key), "java-1");
  EXPECT_TRUE(exists(heartbeat_of("java-1")));
}

TEST_F(Sovereign, WhatEndedIsOverEvenIfAnOriginalHasTheSameId) {
  auto const owner = client_.owner();
  lead(owner, "web-1", 30s);
  store_.advance(31s);
  EXPECT_EQ(client_.renew(lease_name, owner).error().reason, LossReason::expired);
  auto same = original("web-1", 20);
  same.cycle();
  ASSERT_TRUE(same.leads());
  EXPECT_FALSE(client_.renew(lease_name, owner));
  EXPECT_FALSE(client_.release(lease_name, owner));
  EXPECT_FALSE(client_.acquire(lease_name, client_.owner(), {.note = "web-1"}));
  EXPECT_EQ(client_.find(lease_name)->fence, Fence());
  EXPECT_EQ(get(leader_key), "web-1");
}

TEST_F(Sovereign, TermsGrowAndSurviveALostCounter) {
  auto const owner = client_.owner();
  auto const first = lead(owner, "web-1");
  EXPECT_TRUE(client_.release(lease_name, owner));
  EXPECT_FALSE(redis_.ask({"HGET", side_key, "fence"}).is_nil()) << "the counter stays";
  EXPECT_TRUE(client_.renew("x", owner).error().reason == LossReason::taken);
  redis_.done({"HSET", side_key, "fence", "3000000000000000"});
  auto const second = lead(client_.owner(), "web-2");
  EXPECT_EQ(second, Fence(3'000'000'000'000'001)) << "a counter that is ahead of the clock";
  redis_.done({"FLUSHALL"});
  EXPECT_GT(lead(client_.owner(), "web-3"), first);
}

TEST_F(Sovereign, ACounterAtItsEndGrantsNothing) {
  redis_.done({"HSET", side_key, "fence", "9007190664806400"});
  EXPECT_THAT(what_is_thrown<EngineError>([&] { lead(client_.owner(), "web-1"); }),
              testing::HasSubstr(side_key));
  EXPECT_FALSE(exists(leader_key));
}

TEST_F(Sovereign, OldHeartbeatsAreRemovedAndNothingElse) {
  auto const ago = [this](int seconds) { return std::to_string(server_ms() - seconds * 1000); };
  redis_.done({"SET", heartbeat_of("old"), ago(60)});
  redis_.done({"SET", heartbeat_of("young"), ago(10)});
  redis_.done({"SET", heartbeat_of("text"), "not a time"});
  redis_.done({"LPUSH", heartbeat_of("list"), "1"});
  redis_.done({"SET", "sovereign:other", ago(1000)});
  redis_.done({"CONFIG", "RESETSTAT"});
  lead(client_.owner(), "web-1", 30s);
  EXPECT_FALSE(exists(heartbeat_of("old")));
  EXPECT_TRUE(exists(heartbeat_of("young")));
  EXPECT_TRUE(exists(heartbeat_of("text")));
  EXPECT_TRUE(exists(heartbeat_of("list")));
  EXPECT_TRUE(exists("sovereign:other"));
  EXPECT_TRUE(exists(heartbeat_of("web-1")));
  EXPECT_EQ(calls_of("keys"), 0);
}

TEST_F(Sovereign, AFullDatabaseIsSweptAFewKeysAtATime) {
  redis_.done({"DEBUG", "POPULATE", "20000", "somebody"});
  constexpr int old_ones = 50;
  for (int i = 0; i < old_ones; ++i) {
    redis_.done({"SET", heartbeat_of("old-" + std::to_string(i)), "1"});
  }
  auto const left = [this] {
    int count = 0;
    for (int i = 0; i < old_ones; ++i) count += exists(heartbeat_of("old-" + std::to_string(i)));
    return count;
  };
  redis_.done({"CONFIG", "RESETSTAT"});
  auto const owner = client_.owner();
  lead(owner, "web-1", 30s);
  EXPECT_GT(left(), old_ones / 2) << "one step is a twentieth of the keys or so";
  EXPECT_EQ(calls_of("scan"), 1);
  for (int i = 0; i < 40 && left() > 0; ++i) EXPECT_TRUE(client_.renew(lease_name, owner, 30s));
  EXPECT_EQ(left(), 0);
  while (!redis_.ask({"HGET", side_key, "sweep"}).is_nil()) {
    ASSERT_TRUE(client_.renew(lease_name, owner, 30s));
  }
  auto const scans = calls_of("scan");
  EXPECT_TRUE(client_.renew(lease_name, owner, 30s));
  EXPECT_EQ(calls_of("scan"), scans) << "when all is seen, that was it";
}

}  // namespace
}  // namespace holt::test
