// SPDX-License-Identifier: Apache-2.0
// The layout syncguard on the wire: keys, values, times, fences, beside holders of the fleet.

#include "contract/redis_syncguard_fixture.hpp"

#include <holt/error.hpp>
#include <holt/holt.hpp>

#include <gmock/gmock.h>

#include <mutex>

namespace holt::test {
namespace {

using testing::HasSubstr;

TEST_F(Syncguard, WritesTheKeysAndValuesOfTheFleet) {
  auto const owner = client_.owner();
  auto const before = server_ms();
  EXPECT_EQ(client_.take(name, owner, {.ttl = 30s}), Fence(1));
  auto const after = server_ms();
  auto const lock = lock_in(lock_key);
  EXPECT_EQ(lock.size(), 5U);
  EXPECT_EQ(lock.at("key").as_string(), name);
  EXPECT_EQ(lock.at("lockId").as_string(), id_of(owner));
  EXPECT_EQ(lock.at("fence").as_string(), "000000000000001");
  auto const acquired = lock.at("acquiredAtMs").as_int64();
  EXPECT_GE(acquired, before);
  EXPECT_LE(acquired, after);
  EXPECT_EQ(lock.at("expiresAtMs").as_int64(), acquired + 30'000);
  EXPECT_EQ(get(index_of(id_of(owner))), lock_key);
  EXPECT_EQ(get(counter_key), "1");
  EXPECT_EQ(redis_.number({"DBSIZE"}), 3);
}

TEST_F(Syncguard, TheSameTimeToLiveIsOnBothKeysAndNoneOnTheCounter) {
  auto const owner = client_.owner();
  client_.take(name, owner, {.ttl = 30s});
  auto const until = redis_.number({"PEXPIRETIME", std::string(lock_key)});
  EXPECT_EQ(redis_.number({"PEXPIRETIME", index_of(id_of(owner))}), until);
  EXPECT_NEAR(static_cast<double>(until),
              static_cast<double>(lock_in(lock_key).at("expiresAtMs").as_int64()), 1);
  EXPECT_EQ(pttl(counter_key), -1);
  EXPECT_TRUE(client_.renew(name, owner, 60s));
  auto const later = redis_.number({"PEXPIRETIME", std::string(lock_key)});
  EXPECT_GT(later, until + 25'000);
  EXPECT_EQ(redis_.number({"PEXPIRETIME", index_of(id_of(owner))}), later);
}

TEST_F(Syncguard, ATtlIsInWholeMilliseconds) {
  client_.take(name, client_.owner(), {.ttl = 30s + 1us});
  auto const lock = lock_in(lock_key);
  EXPECT_EQ(lock.at("expiresAtMs").as_int64() - lock.at("acquiredAtMs").as_int64(), 30'001);
}

TEST_F(Syncguard, ARenewalKeepsWhatIsNotAboutTheEnd) {
  auto const id = foreign();
  auto const before = lock_in(lock_key);
  auto const owner = Owner("syncguard", id);
  EXPECT_TRUE(client_.renew(name, owner, 60s));
  auto after = lock_in(lock_key);
  EXPECT_GT(after.at("expiresAtMs").as_int64(), before.at("expiresAtMs").as_int64() + 25'000);
  after["expiresAtMs"] = before.at("expiresAtMs");
  EXPECT_EQ(after, before);
}

TEST_F(Syncguard, WhatEndedIsGoneAndNotBroughtBack) {
  auto const owner = client_.owner();
  client_.take(name, owner, {.ttl = 500ms});
  store_.advance(501ms);
  auto const renewed = client_.renew(name, owner);
  ASSERT_FALSE(renewed);
  EXPECT_EQ(renewed.error().reason, LossReason::taken);
  EXPECT_EQ(client_.release(name, owner).error().reason, LossReason::taken);
  EXPECT_EQ(redis_.number({"DBSIZE"}), 1) << "the counter";
}

TEST_F(Syncguard, AReleaseLeavesTheCounterOnly) {
  auto const owner = client_.owner();
  client_.take(name, owner);
  EXPECT_TRUE(client_.release(name, owner));
  EXPECT_EQ(redis_.number({"DBSIZE"}), 1);
  EXPECT_EQ(get(counter_key), "1");
  EXPECT_EQ(client_.take(name, client_.owner()), Fence(2));
  EXPECT_EQ(lock_in(lock_key).at("fence").as_string(), "000000000000002");
}

TEST_F(Syncguard, FencesGoOnWhoeverDrawsThem) {
  EXPECT_TRUE(foreign_release(foreign()));
  auto const ours = client_.owner();
  EXPECT_EQ(client_.take(name, ours), Fence(2));
  EXPECT_TRUE(client_.release(name, ours));
  EXPECT_TRUE(foreign_release(foreign()));
  EXPECT_EQ(client_.take(name, client_.owner()), Fence(4));
}

TEST_F(Syncguard, AForeignHolderExcludesUsAndIsSeen) {
  auto const id = foreign();
  auto const busy = client_.acquire(name, client_.owner());
  ASSERT_FALSE(busy);
  EXPECT_EQ(busy.error().holder.text(), "syncguard." + id);
  EXPECT_EQ(busy.error().fence, Fence(1));
  EXPECT_GT(busy.error().expires_in, 20s);
  EXPECT_LE(busy.error().expires_in, 30s);
  auto const found = client_.find(name);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->owner.text(), "syncguard." + id);
  EXPECT_EQ(found->ttl, 30s);
  ASSERT_EQ(client_.list().leases.size(), 1U);
  EXPECT_EQ(client_.list().leases[0].owner, found->owner);
  EXPECT_EQ(get(counter_key), "1") << "a busy answer draws no fence";
}

TEST_F(Syncguard, OurHolderCanBeFoundAndReleasedByTheFleet) {
  auto const owner = client_.owner();
  client_.take(name, owner, {.ttl = 60s});
  EXPECT_TRUE(foreign_release(id_of(owner)));
  auto const renewed = client_.renew(name, owner);
  ASSERT_FALSE(renewed);
  EXPECT_EQ(renewed.error().reason, LossReason::taken);
}

TEST_F(Syncguard, NothingOfAForeignHolderIsRenewedOrReleased) {
  auto const id = foreign();
  auto const before = get(lock_key);
  EXPECT_FALSE(client_.renew(name, client_.owner()));
  EXPECT_FALSE(client_.release(name, client_.owner()));
  EXPECT_EQ(get(lock_key), before);
  EXPECT_EQ(get(index_of(id)), lock_key);
}

TEST_F(Syncguard, ALockWithoutATimeToLiveLivesASecondLongerThanItSays) {
  foreign(-500, 0);
  auto const busy = client_.acquire(name, client_.owner());
  ASSERT_FALSE(busy);
  EXPECT_GT(busy.error().expires_in, 0ms);
  EXPECT_LE(busy.error().expires_in, 500ms);
  EXPECT_TRUE(client_.find(name));
  store_.advance(501ms);
  EXPECT_FALSE(client_.find(name));
  EXPECT_EQ(client_.take(name, client_.owner()), Fence(2));
}

TEST_F(Syncguard, ItsOwnerMayRenewItWithinThatSecondAndNotLater) {
  Owner const in_time("syncguard", foreign(-500, 0));
  EXPECT_TRUE(client_.renew(name, in_time, 10s));
  EXPECT_GT(pttl(lock_key), 5000);
  Owner const late("syncguard", foreign(-1500, 0));
  auto const answer = client_.renew(name, late, 10s);
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().reason, LossReason::expired);
  EXPECT_FALSE(exists(lock_key));
  EXPECT_FALSE(exists(index_of(id_of(late))));
}

TEST_F(Syncguard, ALockThatEndedAndIsStillThereIsTakenOver) {
  Owner const old("syncguard", foreign(-1500, 0));
  auto const owner = client_.owner();
  EXPECT_EQ(client_.take(name, owner, {.ttl = 60s}), Fence(2));
  EXPECT_TRUE(exists(index_of(id_of(old)))) << "as the fleet leaves it";
  EXPECT_FALSE(foreign_release(id_of(old)));
  EXPECT_FALSE(client_.renew(name, old));
  auto const released = client_.release(name, old);
  ASSERT_FALSE(released);
  EXPECT_EQ(released.error().reason, LossReason::taken);
  EXPECT_FALSE(exists(index_of(id_of(old)))) << "its own owner takes it away";
  EXPECT_EQ(lock_in(lock_key).at("lockId").as_string(), id_of(owner));
  EXPECT_EQ(get(index_of(id_of(owner))), lock_key);
}

TEST_F(Syncguard, AReleaseOfWhatEndedSaysSoAndCleansUp) {
  Owner const late("syncguard", foreign(-1500, 0));
  EXPECT_FALSE(client_.release(name, client_.owner()));
  EXPECT_TRUE(exists(lock_key)) << "another's, though it ended";
  auto const answer = client_.release(name, late);
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().reason, LossReason::expired);
  EXPECT_EQ(redis_.number({"DBSIZE"}), 1) << "the counter";
}

TEST_F(Syncguard, AnIndexIsRemovedOnlyIfItIsOfThisName) {
  auto const owner = client_.owner();
  client_.take("a", owner, {.ttl = 60s});
  client_.take("b", owner, {.ttl = 60s});
  EXPECT_TRUE(client_.release("a", owner));
  EXPECT_EQ(get(index_of(id_of(owner))), "syncguard:b");
}

TEST_F(Syncguard, ALostIndexComesBackWithTheNextRenewal) {
  auto const owner = client_.owner();
  client_.take(name, owner, {.ttl = 60s});
  ask({"DEL", index_of(id_of(owner))});
  EXPECT_TRUE(client_.renew(name, owner, 60s));
  EXPECT_EQ(get(index_of(id_of(owner))), lock_key);
}

TEST_F(Syncguard, ALookRemovesNothing) {
  foreign(-60'000, 0);
  EXPECT_FALSE(client_.find(name));
  EXPECT_TRUE(exists(lock_key));
}

class SyncguardCleanup : public Syncguard {
 protected:
  SyncguardCleanup() : Syncguard("layout=syncguard&cleanup_in_is_locked=true") {}
};

TEST_F(SyncguardCleanup, ALookRemovesWhatEndedLongAgoAndNeverTheCounter) {
  auto const id = foreign(-1500, 0);
  EXPECT_FALSE(client_.find(name));
  EXPECT_TRUE(exists(lock_key)) << "ended 1.5 s ago: somebody may be extending it";
  store_.advance(600ms);
  EXPECT_FALSE(client_.find(name));
  EXPECT_FALSE(exists(lock_key));
  EXPECT_FALSE(exists(index_of(id)));
  EXPECT_EQ(get(counter_key), "1");
}

TEST_F(SyncguardCleanup, ALookLeavesWhatIsHeld) {
  foreign();
  EXPECT_TRUE(client_.find(name));
  EXPECT_TRUE(exists(lock_key));
}

TEST_F(Syncguard, WhenTheFencesAreUsedUpNothingIsTaken) {
  ask({"SET", std::string(counter_key), "900000000000000"});
  auto const error = thrown_by<EngineError>([&] { client_.acquire(name, client_.owner()); });
  EXPECT_EQ(error.outcome(), Outcome::not_applied);
  EXPECT_FALSE(error.retryable());
  EXPECT_THAT(error.what(), HasSubstr("used up"));
  EXPECT_FALSE(exists(lock_key));
  EXPECT_EQ(get(counter_key), "900000000000000");
}

TEST_F(Syncguard, TheLastFenceIsGiven) {
  ask({"SET", std::string(counter_key), "899999999999999"});
  EXPECT_EQ(client_.take(name, client_.owner()), Fence(900'000'000'000'000));
  EXPECT_EQ(lock_in(lock_key).at("fence").as_string(), "900000000000000");
}

TEST_F(Syncguard, AWarningComesWithFencesNearTheLast) {
  ask({"SET", std::string(counter_key), "89999999999999"});
  auto const owner = client_.owner();
  EXPECT_EQ(client_.acquire(name, owner)->warning, "");
  EXPECT_TRUE(client_.release(name, owner));
  auto const granted = client_.acquire(name, client_.owner());
  ASSERT_TRUE(granted);
  EXPECT_EQ(granted->fences.at(0), Fence(90'000'000'000'001));
  EXPECT_THAT(granted->warning, HasSubstr("of at most 900000000000000"));
}

TEST_F(Syncguard, TheWarningIsLogged) {
  ask({"SET", std::string(counter_key), "90000000000000"});
  std::mutex mutex;
  std::vector<LogEvent> events;
  {
    OpenOptions options;
    options.log_level = LogLevel::warn;
    options.log = [&](LogEvent const& event) {
      std::scoped_lock const lock(mutex);
      events.push_back(event);
    };
    auto holt = holt::open(store_.url(), options);
    EXPECT_TRUE(holt.try_lock(name));
    holt.close();
  }
  std::scoped_lock const lock(mutex);
  ASSERT_EQ(events.size(), 1U);
  EXPECT_EQ(events[0].event, "warning");
  EXPECT_THAT(events[0].reason, HasSubstr("at most"));
}

}  // namespace
}  // namespace holt::test
