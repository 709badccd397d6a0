// SPDX-License-Identifier: Apache-2.0
// Standbys: clients find the one that was promoted, fences grow all the same, and a commit that no
// standby confirmed is not called durable.

#include "postgres/caller.hpp"

#include <holt/holt.hpp>

#include <gmock/gmock.h>

#include <algorithm>
#include <thread>

namespace holt::test {
namespace {

std::string both(PostgresServer const& first, PostgresServer const& second) {
  return "postgres://postgres@" + first.address() + "," + second.address() + "/postgres";
}

TEST(PostgresFailover, ClientsFindTheNewPrimaryAndFencesGrow) {
  PostgresServer primary;
  {
    PostgresCaller first(primary.url());
  }
  PostgresServer standby(primary, "second");
  PostgresCaller caller(both(primary, standby));
  EXPECT_EQ(caller.engine().capabilities().durability, Durability::single);
  Fence last;
  for (int i = 0; i < 5; ++i) {
    auto const owner = caller.owner();
    last = caller.take("a", owner);
    EXPECT_TRUE(caller.release("a", owner));
  }
  primary.kill();
  auto const error = error_of([&] { caller.find("a"); });
  EXPECT_TRUE(error);
  standby.promote();
  ASSERT_TRUE(wait_until([&] { return !error_of([&] { caller.find("a"); }); }));
  // Another name: the standby may not have heard of the last release.
  auto const after = caller.take("b", caller.owner());
  EXPECT_GT(after.value(), last.value() + (std::uint64_t{1} << 32U) - 1000);
  EXPECT_EQ(standby.query("SELECT timeline FROM holt.fence_base"), "00000002");
}

TEST(PostgresFailover, AHolderGoesOnWhereItsLeaseReachedTheStandby) {
  PostgresServer primary;
  PostgresServer standby(primary, "second");
  PostgresCaller caller(both(primary, standby));
  auto const owner = caller.owner();
  auto const fence = caller.take("a", owner);
  ASSERT_TRUE(wait_until([&] {
    // The table may not have come yet.
    return standby.query("SELECT to_regclass('holt.lease') IS NOT NULL") == "t" &&
           standby.query("SELECT count(*) FROM holt.lease") == "1";
  }));
  primary.kill();
  standby.promote();
  ASSERT_TRUE(wait_until([&] { return !error_of([&] { caller.find("a"); }); }));
  EXPECT_TRUE(caller.renew("a", owner));
  EXPECT_EQ(caller.find("a")->fence, fence);
  EXPECT_FALSE(caller.acquire("a", caller.owner()));
}

/// The lease is on the standby too, and nobody gets it before it has ended there.
TEST(PostgresFailover, AHolderThatReachesNobodyStopsBeforeTheNextIsGranted) {
  PostgresServer primary;
  PostgresServer standby(primary, "second");
  auto holder = open(primary.url());
  auto const lock = holder.try_lock("a", {.ttl = 2s});
  ASSERT_TRUE(lock);
  ASSERT_TRUE(wait_until([&] {
    return standby.query("SELECT to_regclass('holt.lease') IS NOT NULL") == "t" &&
           standby.query("SELECT count(*) FROM holt.lease") == "1";
  }));
  primary.kill();
  standby.promote();
  auto next = open(both(primary, standby));
  auto const granted = next.lock("a", {.ttl = 2s, .wait = 60s});
  EXPECT_FALSE(lock->held()) << "two believe that they hold it";
  ASSERT_TRUE(granted);
  EXPECT_TRUE(lock->lost().stop_requested());
  EXPECT_GT(granted->fence(), lock->fence());
}

/// Listings come from the standby, decisions never do.
TEST(PostgresFailover, AReadStoreThatIsBehindMisleadsNobody) {
  PostgresServer primary;
  PostgresServer standby(primary, "second");
  PostgresServer stranger;
  auto const judged = [](PostgresCaller& caller) {
    auto const findings = caller.diagnose();
    auto const found = std::ranges::find(findings, "read-store", &Finding::id);
    return found == findings.end() ? Finding() : *found;
  };
  PostgresCaller caller(primary.url() + "?read_store=" + standby.address());
  auto const owner = caller.owner();
  caller.take("a", owner);
  EXPECT_TRUE(wait_until(
      [&] { return !error_of([&] { caller.list(); }) && caller.list().leases.size() == 1; }));
  EXPECT_EQ(judged(caller).status, FindingStatus::ok) << judged(caller).detail;
  standby.query("SELECT pg_wal_replay_pause()");
  ASSERT_TRUE(wait_until(
      [&] { return standby.query("SELECT pg_get_wal_replay_pause_state()") == "paused"; }));
  EXPECT_TRUE(caller.release("a", owner));
  auto const next = caller.owner();
  caller.take("b", next);
  ASSERT_EQ(caller.list().leases.size(), 1U);
  EXPECT_EQ(caller.list().leases.at(0).name, Name("a")) << "the standby does not know yet";
  // Whoever decides asks the primary.
  EXPECT_FALSE(caller.find("a"));
  EXPECT_TRUE(caller.find("b"));
  EXPECT_TRUE(caller.acquire("a", caller.owner()));
  EXPECT_FALSE(caller.acquire("b", caller.owner()));
  EXPECT_TRUE(caller.renew("b", next));
  standby.query("SELECT pg_wal_replay_resume()");
  standby.stop();
  EXPECT_EQ(judged(caller).status, FindingStatus::fail) << judged(caller).detail;
  EXPECT_TRUE(caller.renew("b", next)) << "it is not needed for anything else";
  PostgresCaller lost(primary.url() + "?read_store=" + stranger.address());
  EXPECT_EQ(judged(lost).status, FindingStatus::fail);
  EXPECT_THAT(judged(lost).detail, testing::HasSubstr("is not a copy of this server"));
}

TEST(PostgresFailover, ACommitThatNoStandbyConfirmedIsNotDurable) {
  PostgresServer primary;
  PostgresServer standby(primary, "second");
  {
    PostgresCaller first(primary.url());
  }
  primary.query("ALTER SYSTEM SET synchronous_standby_names = 'second'");
  primary.query("SELECT pg_reload_conf()");
  ASSERT_TRUE(wait_until([&] {
    return primary.query("SELECT count(*) FROM pg_stat_replication WHERE sync_state = 'sync'") ==
           "1";
  }));
  PostgresCaller caller(primary.url(), 20s);
  EXPECT_EQ(caller.engine().capabilities().durability, Durability::pg_sync);
  caller.take("a", caller.owner());
  standby.stop();
  std::jthread operator_([&] {
    static_cast<void>(wait_until([&] {
      return primary.query(
                 "SELECT count(pg_cancel_backend(pid)) FROM pg_stat_activity WHERE "
                 "wait_event = 'SyncRep'") != "0";
    }));
  });
  auto const error = error_of([&] { static_cast<void>(caller.acquire("b", caller.owner())); });
  operator_.join();
  ASSERT_TRUE(error);
  EXPECT_EQ(error->code(), ErrorCode::not_durable) << error->what();
  EXPECT_EQ(error->outcome(), Outcome::unknown);
  EXPECT_EQ(primary.query("SELECT count(*) FROM holt.lease WHERE name = 'b'"), "1");
  // Without a standby, nothing is answered; the deadline ends the call.
  caller.set_patience(500ms);
  auto const late = error_of([&] { static_cast<void>(caller.acquire("c", caller.owner())); });
  ASSERT_TRUE(late);
  EXPECT_EQ(late->code(), ErrorCode::network_timeout) << late->what();
  EXPECT_EQ(late->outcome(), Outcome::unknown);
}

}  // namespace
}  // namespace holt::test
