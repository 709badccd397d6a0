// SPDX-License-Identifier: Apache-2.0
// The layout syncguard on PostgreSQL in use: what is refused, what is listed, how one waits, who
// keeps whom waiting, and what `holt doctor` says.

#include "contract/postgres_syncguard_fixture.hpp"

#include <holt/error.hpp>
#include <holt/holt.hpp>

#include <gmock/gmock.h>

#include <libpq-fe.h>

#include <algorithm>
#include <future>
#include <memory>
#include <optional>

namespace holt::test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

/// Somebody in psql, in the middle of a transaction.
class OpenTransaction {
 public:
  explicit OpenTransaction(std::string const& statements)
      : connection_(PQconnectdb((PostgresTestStore::server().url() + "?sslmode=disable").c_str()),
                    PQfinish) {
    say("BEGIN;" + statements);
  }
  void commit() { say("COMMIT"); }

 private:
  void say(std::string const& statements) {
    std::unique_ptr<PGresult, decltype(&PQclear)> const result(
        PQexec(connection_.get(), statements.c_str()), PQclear);
    auto const status = PQresultStatus(result.get());
    EXPECT_TRUE(status == PGRES_TUPLES_OK || status == PGRES_COMMAND_OK)
        << PQerrorMessage(connection_.get());
  }

  std::unique_ptr<PGconn, decltype(&PQfinish)> connection_;
};

TEST_F(PostgresSyncguard, WhatTheTablesHaveNoPlaceForIsRefused) {
  auto const owner = client_.owner();
  EXPECT_THROW(client_.acquire_all({"a", "b"}, owner), InvalidArgument);
  EXPECT_THROW(client_.acquire("a", owner, {.delay = 1s}), InvalidArgument);
  EXPECT_THROW(client_.acquire("a", owner, {.priority = 1}), InvalidArgument);
  auto const asked = thrown_in<InvalidArgument>([&] { client_.break_lease("a", "please"); });
  EXPECT_THAT(asked.what(), HasSubstr("--now"));
  auto const raised =
      thrown_in<InvalidArgument>([&] { run(client_.engine().raise_fence(client_.deadline())); });
  EXPECT_THAT(raised.what(), HasSubstr("SET fence = fence +"));
  auto const elsewhere =
      thrown_in<InvalidArgument>([&] { static_cast<void>(store_.open("other")); });
  EXPECT_THAT(elsewhere.what(), HasSubstr("table_name="));
  client_.take("a", owner);
  EXPECT_THROW(client_.acquire("b", owner), InvalidArgument) << "a lock id is one lock";
  EXPECT_EQ(counter("b"), "");
}

TEST_F(PostgresSyncguard, NoNameIsAnothersCounter) {
  client_.take("fence:a", client_.owner());
  client_.take("a", client_.owner());
  client_.take("id:a", client_.owner());
  EXPECT_EQ(counter("a"), "1");
  EXPECT_EQ(counter("fence:a"), "1");
  EXPECT_EQ(client_.list().leases.size(), 3U);
}

TEST_F(PostgresSyncguard, TheLongestNameIsItsOwnKey) {
  std::string const longest(Name::max_bytes, 'k');
  auto const owner = client_.owner();
  client_.take(longest, owner, {.ttl = 60s});
  EXPECT_TRUE(exists(longest));
  EXPECT_EQ(counter(longest), "1");
  EXPECT_TRUE(client_.release(longest, owner));
}

TEST_F(PostgresSyncguard, WhatIsNoLockIsLeftAlone) {
  sql("INSERT INTO {locks} SELECT '{name}', 'nobody', {now} + 60000, {now}, 'x', '{name}'");
  auto const busy = client_.acquire(name_, client_.owner());
  ASSERT_FALSE(busy);
  EXPECT_TRUE(busy.error().holder.empty());
  auto const error = thrown_in<EngineError>([&] { client_.find(name_); });
  EXPECT_THAT(error.what(), HasSubstr(store_.locks()));
  EXPECT_FALSE(client_.release(name_, client_.owner()));
  EXPECT_FALSE(client_.renew(name_, client_.owner()));
  EXPECT_TRUE(exists());
  EXPECT_TRUE(client_.list().leases.empty());
}

TEST_F(PostgresSyncguard, ACounterThatIsNoneIsSaidAndNothingIsTaken) {
  set_counter("-5");
  auto const error = thrown_in<EngineError>([&] { client_.acquire(name_, client_.owner()); });
  EXPECT_EQ(error.outcome(), Outcome::not_applied);
  EXPECT_THAT(error.what(), HasSubstr(store_.counters()));
  EXPECT_FALSE(exists());
}

TEST_F(PostgresSyncguard, BreakFreesAForeignLockAtOnce) {
  foreign();
  EXPECT_EQ(client_.break_lease(name_, "stuck", true, Fence(7)), BreakResult::other_fence);
  EXPECT_TRUE(exists());
  EXPECT_EQ(client_.break_lease(name_, "stuck", true, Fence(1)), BreakResult::freed);
  EXPECT_FALSE(exists());
  EXPECT_EQ(client_.break_lease(name_, "stuck", true), BreakResult::not_held);
}

TEST_F(PostgresSyncguard, AListHasTheLocksOfThisFleetInByteOrder) {
  PostgresSyncguardTestStore other;
  Client elsewhere(other);
  elsewhere.take("x", elsewhere.owner());
  for (auto const* one : {"b", "a", "Z", "a%", "with\nnewline"}) foreign(30'000, one);
  client_.take("c", client_.owner());
  std::vector<std::string> names;
  for (auto const& lease : client_.list().leases) names.push_back(lease.name.text());
  EXPECT_THAT(names, ElementsAre("Z", "a", "a%", "b", "c"));
  EXPECT_THAT(client_.list("a").leases, testing::SizeIs(2));
}

TEST_F(PostgresSyncguard, AListOfManyGoesThroughAllPages) {
  sql("INSERT INTO {locks} SELECT 'n' || i, 'id-' || i || repeat('x', 18), {now} + 60000, {now}, "
      "lpad(i::text, 15, '0'), 'n' || i FROM generate_series(1000001, 1001500) AS i");
  sql("UPDATE {locks} SET lock_id = left(lock_id, 22)");
  std::vector<std::string> names;
  std::string cursor;
  do {
    auto const page = client_.list("n", cursor, 400);
    for (auto const& lease : page.leases) names.push_back(lease.name.text());
    cursor = page.next;
  } while (!cursor.empty());
  EXPECT_EQ(names.size(), 1500U);
  EXPECT_TRUE(std::ranges::is_sorted(names));
}

TEST_F(PostgresSyncguard, TellsHowOneWaits) {
  auto const can = client_.engine().capabilities();
  EXPECT_EQ(can.waiting, Waiting::polling);
  EXPECT_TRUE(can.fencing);
  EXPECT_EQ(can.time, TimeAuthority::server);
  EXPECT_THAT(client_.engine().url(),
              HasSubstr("&layout=syncguard&table_name=" + store_.locks() + "&fence_table_name="));
}

TEST_F(PostgresSyncguard, AWaiterAsksAgainAndGetsItSoon) {
  auto const id = foreign(60'000);
  auto holt = holt::open(store_.url());
  auto got = std::async(std::launch::async, [&] {
    auto const lock = holt.lock(name_, {.wait = 20s});
    return lock ? lock->fence() : Fence();
  });
  EXPECT_EQ(got.wait_for(200ms), std::future_status::timeout);
  EXPECT_TRUE(fleet_release(id));
  EXPECT_EQ(got.get(), Fence(2));
}

TEST_F(PostgresSyncguard, AWaiterComesWhenTheHoldersTimeEnds) {
  foreign(-700);
  auto holt = holt::open(store_.url());
  auto const lock = holt.lock(name_, {.wait = 10s});
  ASSERT_TRUE(lock);
  EXPECT_EQ(lock->fence(), Fence(2));
}

TEST_F(PostgresSyncguard, AGrantOfTheFleetThatIsUnderWayIsWaitedFor) {
  OpenTransaction other(fmt::format("SELECT pg_advisory_xact_lock(hashtext('{}'))", name_));
  auto got = std::async(std::launch::async,
                        [&] { return client_.acquire(name_, client_.owner()).has_value(); });
  EXPECT_EQ(got.wait_for(200ms), std::future_status::timeout);
  other.commit();
  EXPECT_TRUE(got.get());
}

TEST_F(PostgresSyncguard, ARenewalIsNotPassedByAGrantOfTheFleet) {
  auto const owner = client_.owner();
  client_.take(name_, owner, {.ttl = 1s});
  OpenTransaction other(fmt::format("SELECT pg_advisory_xact_lock(hashtext('{}'))", name_));
  auto renewed =
      std::async(std::launch::async, [&] { return client_.renew(name_, owner, 60s).has_value(); });
  EXPECT_EQ(renewed.wait_for(200ms), std::future_status::timeout)
      << "who is about to take it over has looked at the row already";
  other.commit();
  EXPECT_TRUE(renewed.get());
}

TEST_F(PostgresSyncguard, ARowThatSomebodyKeepsDoesNotKeepOthersFromBeingRenewed) {
  std::vector<LeaseRenewal> renewals;
  for (auto const* one : {"a", "b", "c"}) {
    auto const owner = client_.owner();
    client_.take(one, owner, {.ttl = 10s});
    renewals.emplace_back(one, owner, 60s);
  }
  OpenTransaction other("SELECT FROM " + store_.locks() + " WHERE key = 'b' FOR UPDATE");
  auto answers = std::async(std::launch::async, [&] {
    return run(client_.engine().leases().renew(renewals, client_.deadline()));
  });
  for (auto const* one : {"a", "c"}) {
    for (int i = 0; i < 500 && client_.find(one)->expires_in < 20s; ++i) {
      std::this_thread::sleep_for(5ms);
    }
    EXPECT_GT(client_.find(one)->expires_in, 20s) << one;
  }
  other.commit();
  for (auto const& answer : answers.get()) EXPECT_TRUE(answer);
}

TEST_F(PostgresSyncguard, TablesThatAreNotThereOrNotOfTheFleetAreSaid) {
  auto const told = [&](std::string const& url) {
    auto const error = thrown_in<EngineError>(
        [&] { static_cast<void>(open_engine(store_.env(), {url, "default"})); });
    return error.reason() + " " + error.hint();
  };
  auto const base = PostgresTestStore::server().url() + "?schema=" + store_.schema() +
                    "&layout=syncguard&fence_table_name=" + store_.counters() + "&table_name=";
  auto const absent = told(base + "no_such_table");
  EXPECT_THAT(absent, HasSubstr("there is no table \"no_such_table\""));
  EXPECT_THAT(absent, HasSubstr("setupSchema()"));
  EXPECT_EQ(sql("SELECT to_regclass('no_such_table') IS NULL"), "t") << "and is not made";
  sql("CREATE VIEW {locks}_view AS SELECT * FROM {locks}");
  EXPECT_THAT(told(base + store_.locks() + "_view"), HasSubstr("there is no table"));
  sql("ALTER TABLE {locks} RENAME fence TO token");
  EXPECT_THAT(told(base + store_.locks()), HasSubstr("it lacks fence text"));
  sql("ALTER TABLE {locks} RENAME token TO fence; ALTER TABLE {locks} DROP CONSTRAINT "
      "{locks}_pkey");
  EXPECT_THAT(told(base + store_.locks()), HasSubstr("key is not its primary key"));
}

TEST_F(PostgresSyncguard, TablesAreFoundByTheSearchPathAsTheFleetFindsThem) {
  sql("CREATE SCHEMA {locks}; ALTER TABLE {locks} SET SCHEMA {locks};"
      "ALTER TABLE {counters} SET SCHEMA {locks}");
  auto const url = store_.url() + "&options=-csearch_path%3D" + store_.locks();
  auto const engine = open_engine(store_.env(), {url, "default"});
  EXPECT_TRUE(run(
      engine->leases().acquire(LeaseRequest({name_}, client_.owner(), 30s), client_.deadline())));
}

TEST_F(PostgresSyncguard, ARoleWithTheRightsThatThePageNamesIsEnough) {
  auto const role = store_.schema() + "_app";
  sql("CREATE ROLE " + role + " LOGIN; GRANT SELECT, INSERT, UPDATE, DELETE ON {locks} TO " + role +
      "; GRANT SELECT, INSERT, UPDATE ON {counters} TO " + role + "; GRANT USAGE ON SCHEMA " +
      store_.schema() + " TO " + role + "; GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN " +
      "SCHEMA " + store_.schema() + " TO " + role);
  auto url = store_.url();
  url.replace(url.find("postgres@"), 8, role);
  auto const engine = open_engine(store_.env(), {url, "default"});
  auto& leases = engine->leases();
  auto const owner = client_.owner();
  auto const soon = client_.deadline();
  EXPECT_TRUE(run(leases.acquire(LeaseRequest({name_}, owner, 30s), soon)));
  std::vector<LeaseRenewal> renewals;
  renewals.emplace_back(name_, owner, 30s);
  EXPECT_TRUE(run(leases.renew(std::move(renewals), soon)).at(0));
  EXPECT_TRUE(run(leases.find(name_, soon)));
  EXPECT_TRUE(run(leases.release(name_, owner, soon)));
}

std::optional<Finding> layout_in(std::vector<Finding> const& findings) {
  auto const found = std::ranges::find(findings, "layout", &Finding::id);
  return found == findings.end() ? std::nullopt : std::optional(*found);
}

TEST_F(PostgresSyncguard, TheDoctorSaysWhatItFinds) {
  foreign(-60'000, "gone");
  client_.take(name_, client_.owner());
  auto const layout = layout_in(run(client_.engine().diagnose(5s)));
  ASSERT_TRUE(layout);
  EXPECT_EQ(layout->status, FindingStatus::info);
  EXPECT_THAT(layout->detail, HasSubstr(store_.locks() + " (2 locks, 1 of them ended) and " +
                                        store_.counters() + " (2 counters, the highest at 1)"));
  set_counter("90000000000001");
  auto const high = layout_in(run(client_.engine().diagnose(5s)));
  EXPECT_EQ(high->status, FindingStatus::warn);
  sql("UPDATE {counters} SET fence = 1; DROP INDEX idx_{locks}_lock_id");
  auto const slow = layout_in(run(client_.engine().diagnose(5s)));
  EXPECT_EQ(slow->status, FindingStatus::warn);
  EXPECT_THAT(slow->detail, HasSubstr("no unique index"));
  sql("DROP TABLE {locks}");
  auto const none = layout_in(run(client_.engine().diagnose(5s)));
  EXPECT_EQ(none->status, FindingStatus::fail);
}

}  // namespace
}  // namespace holt::test
