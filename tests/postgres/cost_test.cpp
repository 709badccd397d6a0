// SPDX-License-Identifier: Apache-2.0
// What calls cost the server, and what they leave behind on it.

#include "postgres/caller.hpp"

#include <fmt/format.h>

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

TEST_F(PostgresCost, AfterARehearsalNothingThatANameGoesThroughIsPlannedAnyMore) {
  PostgresCaller const caller(url_);  // makes the tables
  auto const acquire = [&](std::string const& owner, bool line) {
    return fmt::format(
        "SELECT * FROM {}.acquire('default', 1000, '{{1}}', '{{a}}', '{{{}}}', '{{1000000000}}', "
        "'{{0}}', '{{{}}}', '{{1000000000}}', '{{5}}', '{{note}}', '{{id}}', '{{false}}');",
        schema_, owner, line);
  };
  auto const with_owner = [&](std::string const& function, std::string const& owner,
                              std::string const& more = "") {
    return fmt::format("SELECT * FROM {}.{}('default', 1000, '{{a}}', '{{{}}}'{});", schema_,
                       function, owner, more);
  };
  auto const end = fmt::format(
      "UPDATE {}.lease SET ends_at = '-infinity', free_at = '-infinity' WHERE name = 'a';",
      schema_);
  std::string const plans =
      "SELECT ident FROM pg_backend_memory_contexts WHERE name = 'CachedPlanSource'";
  auto const planned = server().query(
      fmt::format("SELECT {}.rehearse('default'); CREATE TEMP TABLE before AS {};", schema_,
                  plans) +
      // By a waiter that finds it ended, by one that it is offered to, and handed over.
      acquire("a", false) + acquire("b", true) + end + acquire("b", true) +
      with_owner("renew", "b", ", '{1000000000}'") + acquire("c", true) + acquire("d", true) +
      with_owner("release", "b") + acquire("c", true) + end + acquire("e", false) +
      acquire("d", true) + with_owner("release", "d") +
      fmt::format("SELECT string_agg(ident, '; ') FROM ({} EXCEPT ALL TABLE before) AS new "
                  "WHERE strpos(ident, 'before') = 0",
                  plans));
  EXPECT_EQ(planned, "");
  EXPECT_EQ(server().query(fmt::format("SELECT count(*) FROM {}.lease", schema_)), "0");
  EXPECT_EQ(server().query(fmt::format("SELECT count(*) FROM {}.ticket", schema_)), "0");
}

TEST_F(PostgresCost, TheConnectionsOfWhoWaitsAndOfWhoRenewsHaveRehearsed) {
  auto const rehearsals = [&] {
    return server().query(
        "SELECT count(*) FROM pg_stat_activity WHERE state = 'idle' AND "
        "strpos(query, '\"" +
        schema_ + "\".rehearse') > 0");
  };
  PostgresCaller first(url_);
  PostgresCaller second(url_);
  auto const holder = first.owner();
  first.take("a", holder);
  EXPECT_FALSE(second.acquire("a", second.owner()));
  EXPECT_EQ(rehearsals(), "0") << "who neither waits nor stays needs none";
  EXPECT_FALSE(second.acquire("a", second.owner(), 60s, true));
  EXPECT_TRUE(wait_until([&] { return rehearsals() == "1"; }));
  EXPECT_TRUE(first.renew("a", holder));
  EXPECT_TRUE(wait_until([&] { return rehearsals() == "2"; }));
  EXPECT_TRUE(first.renew("a", holder));
  EXPECT_EQ(rehearsals(), "1") << "once is enough";
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

/// A commit with a notification has the whole database to itself, so here it waits for ever.
TEST(PostgresNotifications, AreSentOnlyWhereSomebodyWaits) {
  PostgresServer const server(
      {.config = {"synchronous_standby_names = 'nobody'", "synchronous_commit = local"}});
  PostgresCaller caller(server.url());
  auto const holder = caller.owner();
  auto const waiter = caller.owner();
  caller.take("a", holder);
  EXPECT_FALSE(caller.acquire("a", waiter, 60s, true));
  std::jthread const other([&] {
    try {
      server.query("SET synchronous_commit = on; BEGIN; CREATE TABLE t (); NOTIFY x; COMMIT");
    } catch (std::runtime_error const&) {  // it is cancelled in the end
    }
  });
  auto const waits = [&](std::string const& what, std::string const& how) {
    return server.query("SELECT count(" + what +
                        ") FROM pg_stat_activity WHERE wait_event = 'SyncRep'") == how;
  };
  ASSERT_TRUE(wait_until([&] { return waits("*", "1"); }));
  auto const alone = caller.owner();
  caller.take("b", alone);
  EXPECT_FALSE(caller.acquire("b", caller.owner()));
  EXPECT_TRUE(caller.renew("b", alone));
  EXPECT_TRUE(caller.release("b", alone));
  caller.set_patience(300ms);
  EXPECT_TRUE(error_of([&] { static_cast<void>(caller.release("a", holder)); }))
      << "that is how it would be";
  EXPECT_TRUE(waits("pg_cancel_backend(pid)", "1"));
}

}  // namespace
}  // namespace holt::test
