// SPDX-License-Identifier: Apache-2.0
// What calls cost the server, and what they leave behind on it.

#include "postgres/caller.hpp"

#include <thread>

namespace holt::test {
namespace {

class PostgresCost : public OnOneServer {
 protected:
  /// Of a table.
  [[nodiscard]] long long number(std::string const& what,
                                 std::string const& table = "lease") const {
    return std::stoll(server().query("SELECT " + what +
                                     " FROM pg_stat_user_tables AS t WHERE t.relname = '" + table +
                                     "' AND t.schemaname = '" + schema_ + "'"));
  }
};

TEST_F(PostgresCost, HundredThousandRenewalsAreDoneInPlaceAndTheTableStaysSmall) {
  constexpr int leases = 1'000;
  constexpr int cycles = 100;
  constexpr int page = 8192;
  auto const size = [&] { return number("pg_relation_size(t.relid)"); };
  long long before = 0;
  {
    PostgresCaller caller(url_);
    auto const owner = caller.owner();
    std::vector<LeaseRenewal> all;
    std::vector<std::future<std::expected<LeaseGrant, Busy>>> taken;
    for (int i = 0; i < leases; ++i) {
      all.emplace_back(Name("lease/" + std::to_string(i)), owner, 1h);
      taken.push_back(caller.begin_acquire(all.back().name.text(), owner));
    }
    for (auto& one : taken) ASSERT_TRUE(one.get());
    before = size();
    for (int i = 0; i < cycles; ++i) {
      for (auto const& answer : caller.renew_all(all)) ASSERT_TRUE(answer);
    }
  }
  // Sessions tell their counts when they end, at the latest.
  ASSERT_TRUE(wait_until([&] { return number("t.n_tup_upd") >= leases * cycles; }));
  EXPECT_GE(number("t.n_tup_hot_upd"), leases * cycles * 99LL / 100);
  EXPECT_LE(size(), before + 4 * page);
}

TEST_F(PostgresCost, NoDecisionScansATableHoweverSmallItWasWhenItWasPlanned) {
  {
    PostgresCaller caller(url_);
    for (auto const* table : {"lease", "ticket"}) {
      server().query("VACUUM ANALYZE " + schema_ + "." + table);
    }
    for (int i = 0; i < 10; ++i) {
      auto const holder = caller.owner();
      auto const waiter = caller.owner();
      auto const late = caller.owner();
      caller.take("a", holder);
      EXPECT_TRUE(caller.renew("a", holder));
      EXPECT_FALSE(caller.acquire("a", waiter, 60s, true));
      EXPECT_FALSE(caller.acquire("a", late, 60s, true));
      EXPECT_TRUE(caller.release("a", holder));
      EXPECT_TRUE(caller.acquire("a", waiter, 60s, true));
      EXPECT_EQ(caller.break_lease("a", "stop"), BreakResult::asked);
      EXPECT_TRUE(caller.release("a", waiter));
      EXPECT_TRUE(caller.release("a", late));
    }
  }
  ASSERT_TRUE(wait_until([&] { return number("t.n_tup_ins") > 0; }));
  // Once for each index, when it was made.
  EXPECT_EQ(number("t.seq_scan"), 1);
  EXPECT_EQ(number("t.seq_scan", "ticket"), 2);
}

TEST_F(PostgresCost, WhoConfirmsAnOfferDoesNotWaitForThoseWhoStandInLine) {
  PostgresCaller caller(url_);
  auto const holder = caller.owner();
  auto const waiter = caller.owner();
  caller.take("a", holder);
  EXPECT_FALSE(caller.acquire("a", waiter, 60s, true));
  EXPECT_TRUE(caller.release("a", holder));
  auto const offered = caller.find("a");
  ASSERT_TRUE(offered && offered->offered);
  server().query("UPDATE " + schema_ + ".lease SET ends_at = ends_at + interval '1 minute', " +
                 "free_at = free_at + interval '1 minute'");
  auto const someone_decides = [] {
    return server().query("SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'PgSleep'") ==
           "1";
  };
  std::jthread other([&] {
    server().query("BEGIN; SELECT pg_advisory_xact_lock(" + schema_ +
                   ".lock_key('name', 'default', 'a')); SELECT pg_sleep(2); COMMIT");
  });
  ASSERT_TRUE(wait_until(someone_decides));
  auto const granted = caller.acquire("a", waiter, 60s, true);
  EXPECT_TRUE(someone_decides());
  ASSERT_TRUE(granted);
  EXPECT_EQ(granted->fences.front(), offered->fence);
  EXPECT_FALSE(caller.find("a")->offered);
}

}  // namespace
}  // namespace holt::test
