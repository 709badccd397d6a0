// SPDX-License-Identifier: Apache-2.0
// add_task: a task in a user's own transaction is there if and only if that commits.

#include "postgres/task_caller.hpp"
#include "support/servers/open_transaction.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <stdexcept>

namespace holt::test {
namespace {

using testing::HasSubstr;

class PostgresAddTask : public OnOneServer {
 protected:
  /// As a user would, on a connection of their own.
  std::string sql(std::string const& statements) const {
    return server().query(fmt::format(fmt::runtime(statements), schema_));
  }
  [[nodiscard]] std::string refused(std::string const& arguments) const {
    try {
      static_cast<void>(sql("SELECT {0}.add_task(" + arguments + ")"));
    } catch (std::runtime_error const& error) {
      return error.what();
    }
    return "nothing was refused";
  }

  TaskCaller caller_{url_};
};

TEST_F(PostgresAddTask, CommitsWithTheTransaction) {
  sql("CREATE TABLE {0}.orders (id integer)");
  auto const id = sql(
      "BEGIN; INSERT INTO {0}.orders VALUES (7); CREATE TEMP TABLE added AS SELECT {0}.add_task("
      "'q', 'ship', '{{\"order\":7}}', priority => 2, max_attempts => 9, timeout => '90 s', "
      "metadata => 'by hand') AS id; COMMIT; SELECT id FROM added");
  auto const held = caller_.exchange(caller_.asking(10));
  ASSERT_EQ(held.tasks.size(), 1U);
  auto const& task = held.tasks.front();
  EXPECT_EQ(task.id.text(), id);
  EXPECT_EQ(task.kind, "ship");
  EXPECT_EQ(task.payload, "{\"order\":7}");
  EXPECT_EQ(task.metadata, "by hand");
  EXPECT_EQ(task.priority, 2);
  EXPECT_EQ(task.max_attempts, 9U);
  EXPECT_EQ(task.timeout, 90s);
}

TEST_F(PostgresAddTask, RollsBackWithTheTransaction) {
  sql("BEGIN; SELECT {0}.add_task('q', 'job', unique_key => 'k'); ROLLBACK");
  EXPECT_EQ(caller_.count().pending, 0U);
  EXPECT_TRUE(caller_.exchange(caller_.asking(1)).tasks.empty());
  sql("SELECT {0}.add_task('q', 'job', unique_key => 'k')");
  EXPECT_EQ(caller_.count().pending, 1U) << "the key was not free";
}

TEST_F(PostgresAddTask, WakesAnIdleWorkerWhenItCommits) {
  WorkListener const listener(caller_);
  EXPECT_TRUE(caller_.idle().tasks.empty());
  sql("BEGIN; SELECT {0}.add_task('q', 'job'); ROLLBACK");
  EXPECT_EQ(listener.heard(), 0);
  sql("BEGIN; SELECT {0}.add_task('q', 'job'); COMMIT");
  EXPECT_TRUE(listener.hears());
  EXPECT_EQ(caller_.idle().tasks.size(), 1U);
}

TEST_F(PostgresAddTask, WakesFromATransactionWithOneSnapshotToo) {
  WorkListener const listener(caller_);
  EXPECT_TRUE(caller_.idle().tasks.empty());
  sql("BEGIN ISOLATION LEVEL SERIALIZABLE; SELECT {0}.add_task('q', 'job'); COMMIT");
  EXPECT_TRUE(listener.hears());
  EXPECT_EQ(caller_.idle().tasks.size(), 1U);
}

/// It has taken the mark of the worker, which is locked until it ends.
TEST_F(PostgresAddTask, AnOpenTransactionKeepsNoWorkerFromOtherTasks) {
  sql("SELECT {0}.add_task('q', 'job')");  // who adds the first one of a kind is waited for
  EXPECT_EQ(drain(caller_, 1).size(), 1U);
  WorkListener const listener(caller_);
  EXPECT_TRUE(caller_.idle().tasks.empty());
  OpenTransaction open(server(), fmt::format("SELECT {}.add_task('q', 'job')", schema_));
  caller_.set_patience(5s);
  auto wider = caller_.asking(20);
  wider.idle_for = 60s;
  auto const asked = caller_.exchange(wider);
  EXPECT_TRUE(asked.tasks.empty());
  EXPECT_LE(asked.ask_again, 100ms) << "others cannot see that it idles";
  sql("SELECT {0}.add_task('q', 'job')");
  auto again = caller_.asking(20);
  again.idle_for = 60s;
  auto const held = caller_.exchange(again);
  EXPECT_EQ(held.tasks.size(), 1U);
  open.commit();
  EXPECT_TRUE(listener.hears());
  EXPECT_EQ(caller_.idle().tasks.size(), 1U);
}

TEST_F(PostgresAddTask, LeavesTheTransactionAsItWas) {
  EXPECT_EQ(sql("BEGIN; SET LOCAL lock_timeout = '7s'; SELECT {0}.add_task('q', 'job'); "
                "CREATE TEMP TABLE shown AS SELECT current_setting('lock_timeout') || ' ' || "
                "current_setting('enable_seqscan') AS all; COMMIT; SELECT \"all\" FROM shown"),
            "7s on");
}

TEST_F(PostgresAddTask, NeedsNoRightOnAnyTable) {
  auto const role = "adder_" + schema_;
  sql("CREATE ROLE " + role + "; GRANT USAGE ON SCHEMA {0} TO " + role);
  sql("SET ROLE " + role + "; SELECT {0}.add_task('q', 'job')");
  EXPECT_EQ(caller_.count().pending, 1U);
  EXPECT_THROW(sql("SET ROLE " + role + "; SELECT count(*) FROM {0}.task_ready"),
               std::runtime_error);
  EXPECT_THROW(sql("SET ROLE " + role + "; SELECT {0}.cancel_task('default', 100, 'q', 1)"),
               std::runtime_error);
}

TEST_F(PostgresAddTask, IsNotLedAstrayByTheCallersObjects) {
  sql("CREATE SCHEMA evil_{0}; CREATE FUNCTION evil_{0}.octet_length(text) RETURNS integer "
      "LANGUAGE plpgsql AS 'BEGIN RAISE EXCEPTION ''led astray''; END'; "
      "SET search_path = evil_{0}, pg_catalog; SELECT {0}.add_task('q', 'job')");
  EXPECT_EQ(caller_.count().pending, 1U);
}

TEST_F(PostgresAddTask, NamesTheTaskThatHasTheKey) {
  auto const first = sql("SELECT {0}.add_task('q', 'job', unique_key => 'k')");
  EXPECT_EQ(sql("SELECT {0}.add_task('q', 'job', unique_key => 'k')"), first);
  auto const period =
      sql("SELECT {0}.add_task('q', 'job', unique_key => 'p', unique_while => 'period', "
          "unique_period => '1 hour')");
  EXPECT_EQ(drain(caller_, 10).size(), 2U);
  EXPECT_NE(sql("SELECT {0}.add_task('q', 'job', unique_key => 'k')"), first);
  EXPECT_EQ(sql("SELECT {0}.add_task('q', 'job', unique_key => 'p', unique_while => 'period', "
                "unique_period => '1 hour')"),
            period);
}

TEST_F(PostgresAddTask, ForLaterAndInAnotherInstance) {
  auto const id = sql("SELECT {0}.add_task('q', 'job', delay => '1 hour')");
  auto const found = caller_.find_task(TaskId::parse(id).value());
  ASSERT_TRUE(found);
  EXPECT_EQ(found->state, TaskState::scheduled);
  sql("SELECT {0}.add_task('q', 'job', run_at => now() - interval '1 hour', instance => 'other')");
  EXPECT_EQ(caller_.count().pending, 0U);
}

TEST_F(PostgresAddTask, TakesJson) {
  sql("SELECT {0}.add_task('q', 'job', json_build_object('order', 7), priority => 2)");
  sql("SELECT {0}.add_task('q', 'job', jsonb_build_object('order', 8), max_attempts => 9)");
  auto const held = caller_.exchange(caller_.asking(2));
  ASSERT_EQ(held.tasks.size(), 2U);
  EXPECT_EQ(held.tasks[0].payload, "{\"order\" : 7}");
  EXPECT_EQ(held.tasks[0].priority, 2);
  EXPECT_EQ(held.tasks[1].payload, "{\"order\": 8}");
  EXPECT_EQ(held.tasks[1].max_attempts, 9U);
}

TEST_F(PostgresAddTask, NotifiesNobodyWhoDoesNotIdle) {
  WorkListener const listener(caller_);
  TaskCaller adder(url_);
  adder.add_tasks(1);
  adder.add_tasks(1);
  adder.add_tasks(5);
  sql("SELECT {0}.add_task('q', 'job')");
  EXPECT_EQ(drain(caller_, 100).size(), 8U);
  EXPECT_TRUE(caller_.idle().tasks.empty());
  adder.add_tasks(1);
  EXPECT_TRUE(listener.hears());
  EXPECT_EQ(listener.heard(), 1);
}

TEST_F(PostgresAddTask, RefusesWhatTheLibraryRefuses) {
  EXPECT_THAT(refused("'a/b', 'job'"), HasSubstr("a queue's name"));
  for (auto const* name : {"'bad name!/'", "''", "'Other'", "'other-'", "NULL"}) {
    EXPECT_THAT(refused("'q', 'job', instance => " + std::string(name)),
                HasSubstr("an instance's name"));
  }
  EXPECT_THAT(refused("'q', ''"), HasSubstr("a kind"));
  EXPECT_THAT(refused("'q', E'a\\nb'"), HasSubstr("a kind"));
  EXPECT_THAT(refused("'q', U&'a\\0308'"), HasSubstr("NFC"));
  EXPECT_THAT(refused("'q', 'job', repeat('x', 1048577)"), HasSubstr("1 MiB"));
  EXPECT_THAT(refused("'q', 'job', NULL"), HasSubstr("1 MiB"));
  EXPECT_THAT(refused("'q', 'job', priority => 0"), HasSubstr("priority"));
  EXPECT_THAT(refused("'q', 'job', priority => 11"), HasSubstr("priority"));
  EXPECT_THAT(refused("'q', 'job', delay => '-1 s'"), HasSubstr("delay"));
  EXPECT_THAT(refused("'q', 'job', run_at => 'infinity'"), HasSubstr("time"));
  EXPECT_THAT(refused("'q', 'job', max_attempts => 101"), HasSubstr("attempts"));
  EXPECT_THAT(refused("'q', 'job', unique_key => 'k', unique_while => 'period'"),
              HasSubstr("period"));
  EXPECT_THAT(refused("'q', 'job', unique_period => '1 s'"), HasSubstr("period"));
  EXPECT_EQ(caller_.count().pending, 0U);
}

}  // namespace
}  // namespace holt::test
