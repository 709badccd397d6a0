// SPDX-License-Identifier: Apache-2.0
// Statements that connections keep prepared: that they do, where they must not, and what happens
// when a server has forgotten them or they mean something else by now.

#include "postgres/task_caller.hpp"
#include "support/servers/pgbouncer.hpp"

#include <fmt/format.h>

#include <future>
#include <vector>

namespace holt::test {
namespace {

class PostgresKeptStatements : public OnOneServer {
 protected:
  void sql(std::string const& statements) const {
    server().query("SET client_min_messages = warning; " +
                   fmt::format(fmt::runtime(statements), schema_));
  }
  /// What a grant does in the session that it is made in, after it was counted there what is kept.
  void with_each_grant(std::string const& statement) const {
    sql("CREATE TABLE {0}.seen (kept integer);"
        "CREATE FUNCTION {0}.look() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN "
        "INSERT INTO {0}.seen SELECT count(*) FROM pg_prepared_statements "
        "WHERE name LIKE 'holt_%'; " +
        statement +
        " RETURN NEW; END $$;"
        "CREATE TRIGGER look BEFORE INSERT ON {0}.lease FOR EACH ROW EXECUTE FUNCTION {0}.look()");
  }
  [[nodiscard]] std::string seen(std::string const& what) const {
    return server().query(fmt::format("SELECT {} FROM {}.seen", what, schema_));
  }
  /// Takes it, or fails the test.
  static void take_some(TaskCaller& caller, int count) {
    for (int i = 0; i < count; ++i) {
      auto const name = "n" + std::to_string(i);
      auto const owner = caller.owner();
      caller.take(name, owner);
      EXPECT_TRUE(caller.renew(name, owner));
      EXPECT_TRUE(caller.release(name, owner));
    }
  }
};

TEST_F(PostgresKeptStatements, EachIsPreparedOnceOnAConnection) {
  TaskCaller caller(url_ + "&pool_max=1&listen=none");
  with_each_grant("");
  take_some(caller, 10);
  EXPECT_EQ(seen("count(*)"), "10");
  EXPECT_EQ(seen("max(kept)"), "3") << "acquire, renew and release";
}

TEST_F(PostgresKeptStatements, NoneIsKeptBehindAPooler) {
  PgBouncer const bouncer(server());
  auto const url = bouncer.url() + "?schema=" + schema_ + "&listen=none";
  std::vector<std::unique_ptr<TaskCaller>> callers;
  for (int i = 0; i < 6; ++i) callers.push_back(std::make_unique<TaskCaller>(url));
  with_each_grant("");
  std::vector<std::future<std::expected<LeaseGrant, Busy>>> grants;
  for (int i = 0; i < 60; ++i) {
    auto& caller = *callers[static_cast<std::size_t>(i) % callers.size()];
    grants.push_back(caller.begin_acquire("a" + std::to_string(i), caller.owner()));
  }
  for (auto& grant : grants) EXPECT_TRUE(grant.get());
  for (auto const& caller : callers) EXPECT_EQ(caller->add_tasks(3).size(), 3U);
  EXPECT_EQ(seen("max(kept)"), "0");
}

TEST_F(PostgresKeptStatements, WhatTheServerForgotIsPreparedAgain) {
  TaskCaller caller(url_ + "&pool_max=1&listen=none");
  take_some(caller, 1);
  with_each_grant("IF (SELECT count(*) FROM {0}.seen) = 3 THEN DEALLOCATE ALL; END IF;");
  take_some(caller, 6);
  EXPECT_EQ(caller.add_tasks(2).size(), 2U);
  EXPECT_EQ(caller.exchange(caller.asking(5)).tasks.size(), 2U);
  EXPECT_EQ(seen("count(*)"), "6") << "a grant was made twice, or not at all";
  EXPECT_EQ(seen("(array_agg(kept))[6]"), "3") << "it was not kept again";
}

TEST_F(PostgresKeptStatements, WhatAreOnTheirWayWhenTheServerForgetsAreNotLost) {
  TaskCaller caller(url_ + "&pool_max=1&listen=none");
  take_some(caller, 1);
  with_each_grant("IF random() < 0.2 THEN DEALLOCATE ALL; END IF;");
  std::vector<std::future<std::expected<LeaseGrant, Busy>>> grants;
  for (int i = 0; i < 300; ++i) {
    grants.push_back(caller.begin_acquire("a" + std::to_string(i), caller.owner()));
    auto const put = i % 7 != 0 || caller.put("k", std::to_string(i)).has_value();
    EXPECT_TRUE(put);
  }
  for (auto& grant : grants) EXPECT_TRUE(grant.get());
  EXPECT_EQ(seen("count(*)"), "300");
}

TEST_F(PostgresKeptStatements, AConnectionThatForgetsAllTheTimeIsAskedInFull) {
  TaskCaller caller(url_ + "&pool_max=1&listen=none");
  with_each_grant("DEALLOCATE ALL;");
  take_some(caller, 20);
  EXPECT_EQ(seen("count(*)"), "20");
  EXPECT_EQ(seen("(array_agg(kept))[20]"), "0");
}

TEST_F(PostgresKeptStatements, AFunctionMayAnswerOtherwiseAfterAMigration) {
  TaskCaller caller(url_ + "&pool_max=1&listen=none");
  take_some(caller, 1);
  auto const before = caller.add_tasks(2);
  sql("ALTER FUNCTION {0}.release RENAME TO old_release;"
      "CREATE FUNCTION {0}.release(text, integer, text[], text[]) "
      "RETURNS TABLE (code integer, more text) LANGUAGE sql AS $$ "
      "SELECT o.*, 'new' FROM {0}.old_release($1, $2, $3, $4) AS o $$");
  take_some(caller, 3);
  EXPECT_GT(caller.add_tasks(2).front().id.number(), before.back().id.number());
}

TEST_F(PostgresKeptStatements, WhatCannotBePreparedIsRefusedAndNotApplied) {
  TaskCaller caller(url_ + "&pool_max=1&listen=none");
  sql("ALTER FUNCTION {0}.acquire RENAME TO hidden");
  std::vector<std::future<std::expected<LeaseGrant, Busy>>> grants;
  for (int i = 0; i < 200; ++i) {
    grants.push_back(caller.begin_acquire("a" + std::to_string(i), caller.owner()));
  }
  for (auto& grant : grants) {
    auto const error = error_of([&] { static_cast<void>(grant.get()); });
    ASSERT_TRUE(error);
    EXPECT_EQ(error->code(), ErrorCode::invalid_argument) << error->what();
    EXPECT_EQ(error->outcome(), Outcome::not_applied);
  }
  sql("ALTER FUNCTION {0}.hidden RENAME TO acquire");
  take_some(caller, 3);
}

}  // namespace
}  // namespace holt::test
