// SPDX-License-Identifier: Apache-2.0
// The layout syncguard in its tables: rows, times, fences, beside holders of the fleet.

#include "contract/postgres_syncguard_fixture.hpp"

#include <holt/error.hpp>
#include <holt/holt.hpp>

#include <gmock/gmock.h>

#include <mutex>
#include <set>
#include <thread>

namespace holt::test {
namespace {

using testing::HasSubstr;

TEST_F(PostgresSyncguard, WritesTheRowsOfTheFleet) {
  auto const owner = client_.owner();
  auto const before = server_ms();
  EXPECT_EQ(client_.take(name_, owner, {.ttl = 30s}), Fence(1));
  auto const after = server_ms();
  EXPECT_EQ(lock("concat_ws(' ', key, user_key, lock_id, fence)"),
            "resource:123 resource:123 " + id_of(owner) + " 000000000000001");
  auto const acquired = std::stoll(lock("acquired_at_ms"));
  EXPECT_GE(acquired, before);
  EXPECT_LE(acquired, after);
  EXPECT_EQ(lock("expires_at_ms"), std::to_string(acquired + 30'000));
  EXPECT_EQ(sql("SELECT concat_ws(' ', fence_key, fence, key_debug) FROM {counters}"),
            "fence:resource:123 1 resource:123");
  EXPECT_TRUE(fleet_is_locked());
  EXPECT_EQ(fleet_acquire(new_id()), "");
  EXPECT_EQ(counter(), "1");
}

TEST_F(PostgresSyncguard, ATtlIsInWholeMilliseconds) {
  client_.take(name_, client_.owner(), {.ttl = 30s + 1us});
  EXPECT_EQ(lock("expires_at_ms - acquired_at_ms"), "30001");
}

TEST_F(PostgresSyncguard, ARenewalKeepsWhatIsNotAboutTheEnd) {
  constexpr std::string_view rest = "concat_ws(' ', lock_id, acquired_at_ms, fence, user_key)";
  Owner const owner("syncguard", foreign());
  auto const before = lock(rest);
  auto const end = std::stoll(lock("expires_at_ms"));
  EXPECT_TRUE(client_.renew(name_, owner, 60s));
  EXPECT_EQ(lock(rest), before);
  auto const later = std::stoll(lock("expires_at_ms"));
  EXPECT_GT(later, end + 25'000);
  EXPECT_TRUE(client_.renew(name_, owner, 1s));
  EXPECT_EQ(lock("expires_at_ms"), std::to_string(later)) << "never back";
}

TEST_F(PostgresSyncguard, AReleaseLeavesTheCounterOnly) {
  auto const owner = client_.owner();
  client_.take(name_, owner);
  EXPECT_TRUE(client_.release(name_, owner));
  EXPECT_FALSE(exists());
  EXPECT_EQ(counter(), "1");
}

TEST_F(PostgresSyncguard, FencesGoOnWhoeverDrawsThem) {
  EXPECT_TRUE(fleet_release(foreign()));
  auto const ours = client_.owner();
  EXPECT_EQ(client_.take(name_, ours), Fence(2));
  EXPECT_TRUE(client_.release(name_, ours));
  EXPECT_EQ(fleet_acquire(new_id(), 1), "000000000000003");
  store_.advance(1002ms);
  EXPECT_EQ(client_.take(name_, client_.owner()), Fence(4));
  EXPECT_EQ(lock("fence"), "000000000000004");
}

TEST_F(PostgresSyncguard, AForeignHolderExcludesUsAndIsSeen) {
  auto const id = foreign();
  auto const busy = client_.acquire(name_, client_.owner());
  ASSERT_FALSE(busy);
  EXPECT_EQ(busy.error().holder.text(), "syncguard." + id);
  EXPECT_EQ(busy.error().fence, Fence(1));
  EXPECT_GT(busy.error().expires_in, 20s);
  EXPECT_LE(busy.error().expires_in, 31s) << "the second that it lives longer counts";
  auto const found = client_.find(name_);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->owner.text(), "syncguard." + id);
  EXPECT_EQ(found->ttl, 30s);
  ASSERT_EQ(client_.list().leases.size(), 1U);
  EXPECT_EQ(client_.list().leases[0].owner, found->owner);
  EXPECT_EQ(counter(), "1") << "a busy answer draws no fence";
}

TEST_F(PostgresSyncguard, OurHolderCanBeExtendedAndReleasedByTheFleet) {
  auto const owner = client_.owner();
  client_.take(name_, owner, {.ttl = 30s});
  EXPECT_TRUE(fleet_extend(id_of(owner), 90'000));
  EXPECT_GT(client_.find(name_)->expires_in, 60s);
  EXPECT_TRUE(fleet_release(id_of(owner)));
  auto const renewed = client_.renew(name_, owner);
  ASSERT_FALSE(renewed);
  EXPECT_EQ(renewed.error().reason, LossReason::taken);
}

TEST_F(PostgresSyncguard, NothingOfAForeignHolderIsRenewedOrReleased) {
  foreign();
  auto const before = lock("concat_ws(' ', lock_id, expires_at_ms, fence)");
  EXPECT_FALSE(client_.renew(name_, client_.owner(), 300s));
  EXPECT_FALSE(client_.release(name_, client_.owner()));
  EXPECT_EQ(lock("concat_ws(' ', lock_id, expires_at_ms, fence)"), before);
}

TEST_F(PostgresSyncguard, ALockLivesASecondLongerThanItSays) {
  foreign(-500);
  auto const busy = client_.acquire(name_, client_.owner());
  ASSERT_FALSE(busy);
  EXPECT_GT(busy.error().expires_in, 0ms);
  EXPECT_LE(busy.error().expires_in, 500ms);
  EXPECT_TRUE(client_.find(name_));
  store_.advance(501ms);
  EXPECT_FALSE(client_.find(name_));
  EXPECT_TRUE(client_.list().leases.empty());
  EXPECT_FALSE(fleet_is_locked());
  EXPECT_EQ(client_.take(name_, client_.owner()), Fence(2));
}

TEST_F(PostgresSyncguard, ItsOwnerMayRenewItWithinThatSecondAndNotLater) {
  Owner const owner("syncguard", foreign(-500));
  EXPECT_TRUE(client_.renew(name_, owner, 1s));
  EXPECT_TRUE(fleet_is_locked());
  store_.advance(2001ms);
  auto const late = client_.renew(name_, owner, 10s);
  ASSERT_FALSE(late);
  EXPECT_EQ(late.error().reason, LossReason::expired);
  EXPECT_FALSE(fleet_is_locked());
}

TEST_F(PostgresSyncguard, ALockThatEndedAndIsStillThereIsTakenOver) {
  Owner const old("syncguard", foreign(-1500));
  auto const owner = client_.owner();
  EXPECT_EQ(client_.take(name_, owner, {.ttl = 60s}), Fence(2));
  EXPECT_EQ(lock("lock_id"), id_of(owner));
  EXPECT_FALSE(fleet_release(id_of(old)));
  EXPECT_FALSE(client_.renew(name_, old));
  auto const released = client_.release(name_, old);
  ASSERT_FALSE(released);
  EXPECT_EQ(released.error().reason, LossReason::taken);
  EXPECT_EQ(lock("lock_id"), id_of(owner));
}

TEST_F(PostgresSyncguard, AReleaseOfWhatEndedSaysSoAndCleansUp) {
  Owner const late("syncguard", foreign(-1500));
  EXPECT_FALSE(client_.release(name_, client_.owner()));
  EXPECT_TRUE(exists()) << "another's, though it ended";
  auto const answer = client_.release(name_, late);
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().reason, LossReason::expired);
  EXPECT_FALSE(exists());
  EXPECT_EQ(counter(), "1");
}

TEST_F(PostgresSyncguard, ALookRemovesNothing) {
  foreign(-60'000);
  EXPECT_FALSE(client_.find(name_));
  EXPECT_TRUE(exists());
}

class PostgresSyncguardCleanup : public PostgresSyncguard {
 protected:
  PostgresSyncguardCleanup() : PostgresSyncguard("&cleanup_in_is_locked=true") {}
};

TEST_F(PostgresSyncguardCleanup, ALookRemovesWhatEndedLongAgoAndNeverTheCounter) {
  foreign(-1500);
  EXPECT_FALSE(client_.find(name_));
  EXPECT_TRUE(exists()) << "ended 1.5 s ago: somebody may be extending it";
  store_.advance(600ms);
  EXPECT_FALSE(client_.find(name_));
  EXPECT_FALSE(exists());
  EXPECT_EQ(counter(), "1");
}

TEST_F(PostgresSyncguardCleanup, ALookLeavesWhatIsHeld) {
  foreign();
  EXPECT_TRUE(client_.find(name_));
  EXPECT_TRUE(exists());
}

TEST_F(PostgresSyncguard, WhenTheFencesAreUsedUpNothingIsTaken) {
  set_counter("900000000000000");
  auto const error = thrown_in<EngineError>([&] { client_.acquire(name_, client_.owner()); });
  EXPECT_EQ(error.outcome(), Outcome::not_applied);
  EXPECT_FALSE(error.retryable());
  EXPECT_THAT(error.what(), HasSubstr("used up"));
  EXPECT_FALSE(exists());
  EXPECT_EQ(counter(), "900000000000000");
}

TEST_F(PostgresSyncguard, TheLastFenceIsGiven) {
  set_counter("899999999999999");
  EXPECT_EQ(client_.take(name_, client_.owner()), Fence(900'000'000'000'000));
  EXPECT_EQ(lock("fence"), "900000000000000");
}

TEST_F(PostgresSyncguard, AWarningComesWithFencesNearTheLast) {
  set_counter("89999999999999");
  auto const owner = client_.owner();
  EXPECT_EQ(client_.acquire(name_, owner)->warning, "");
  EXPECT_TRUE(client_.release(name_, owner));
  auto const granted = client_.acquire(name_, client_.owner());
  ASSERT_TRUE(granted);
  EXPECT_EQ(granted->fences.at(0), Fence(90'000'000'000'001));
  EXPECT_THAT(granted->warning, HasSubstr("of at most 900000000000000"));
}

TEST_F(PostgresSyncguard, OfFiftyWhoAskTogetherOneGetsIt) {
  constexpr int callers = 50;
  for (int round = 0; round < 5; ++round) {
    std::mutex mutex;
    std::vector<std::string> fences;
    {
      std::vector<std::jthread> threads;
      threads.reserve(callers);
      for (int i = 0; i < callers; ++i) {
        threads.emplace_back([&, i] {
          std::string fence;
          if (i % 5 == 0) {
            fence = fleet_acquire(new_id());
          } else if (auto const granted = client_.acquire(name_, client_.owner())) {
            fence = granted->fences.at(0).padded().substr(4);
          }
          std::scoped_lock const guard(mutex);
          if (!fence.empty()) fences.push_back(fence);
        });
      }
    }
    ASSERT_EQ(fences.size(), 1U);
    EXPECT_EQ(fences[0], fmt::format("{:015}", round + 1)) << "who is refused draws none";
    EXPECT_TRUE(fleet_release(lock("lock_id")));
  }
}

TEST_F(PostgresSyncguard, NoTwoHoldAndNoFenceComesTwiceOrLower) {
  constexpr int rounds = 40;
  std::mutex mutex;
  std::vector<std::uint64_t> fences;  // in the order of the grants: appended while it is held
  auto const note = [&](std::uint64_t fence) {
    std::scoped_lock const guard(mutex);
    fences.push_back(fence);
  };
  {
    std::jthread const fleet([&] {
      for (int i = 0; i < rounds; ++i) {
        auto const id = new_id();
        auto const fence = fleet_acquire(id);
        if (fence.empty()) continue;
        note(std::stoull(fence));
        EXPECT_TRUE(fleet_release(id));
      }
    });
    std::vector<std::jthread> threads;
    for (int t = 0; t < 4; ++t) {
      threads.emplace_back([&] {
        for (int i = 0; i < rounds; ++i) {
          auto const owner = client_.owner();
          auto const granted = client_.acquire(name_, owner);
          if (!granted) continue;
          note(granted->fences.at(0).value());
          EXPECT_TRUE(client_.release(name_, owner));
        }
      });
    }
  }
  ASSERT_FALSE(fences.empty());
  for (std::size_t i = 0; i < fences.size(); ++i) EXPECT_EQ(fences[i], i + 1);
  EXPECT_EQ(counter(), std::to_string(fences.size()));
}

}  // namespace
}  // namespace holt::test
