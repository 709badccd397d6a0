// SPDX-License-Identifier: Apache-2.0
// Standbys: clients find the one that was promoted, fences grow all the same, and a commit that no
// standby confirmed is not called durable.

#include "postgres/caller.hpp"

#include <gmock/gmock.h>

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
  auto const after = caller.take("a", caller.owner());
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
