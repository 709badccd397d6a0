// SPDX-License-Identifier: Apache-2.0
// Tasks when something breaks: a connection's process ends in the middle of an exchange, the server
// starts again, somebody keeps an old snapshot, a pooler swallows signals.

#include "postgres/task_caller.hpp"
#include "support/servers/pgbouncer.hpp"

#include <fmt/format.h>

#include <future>
#include <set>
#include <thread>

namespace holt::test {
namespace {

class PostgresTasks : public testing::Test {
 protected:
  /// Nobody confirms what is committed with synchronous_commit = on: such a commit is written here
  /// and then waits for ever.
  static PostgresServer& server() {
    static PostgresServer it(
        {.config = {"synchronous_standby_names = 'nobody'", "synchronous_commit = local"}});
    return it;
  }
  static std::string new_schema() {
    static int count = 0;
    return "t" + std::to_string(++count);
  }
  void TearDown() override { expect_no_idle_transaction(server()); }

  [[nodiscard]] std::string url(std::string const& options = {}) const {
    return server().url() + "?schema=" + schema_ + options;
  }
  std::string in_schema(std::string const& statement) const {
    return server().query(fmt::format(fmt::runtime(statement), schema_));
  }

  /// The exchange of a client of its own, whose process in the server ends when it waits like this.
  std::optional<EngineError> strike(ClaimRequest const& request, std::string const& options,
                                    std::string const& waiting) {
    auto call = std::async(std::launch::async, [this, request, options] {
      TaskCaller victim(url("&application_name=victim&pool_max=1&listen=none" + options));
      return error_of([&] { static_cast<void>(victim.exchange(request)); });
    });
    EXPECT_TRUE(wait_until([&] {
      return server().query(
                 "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity "
                 "WHERE application_name = 'victim' AND " +
                 waiting) == "1";
    }));
    return call.get();
  }

  std::string const schema_ = new_schema();
  TaskCaller caller_{url()};
};

TEST_F(PostgresTasks, AnExchangeThatEndsInItsCommitIsDoneAndAnswersTheSameAgain) {
  auto const added = caller_.add_tasks(5);
  auto const first = caller_.asking(2);
  auto const held = caller_.exchange(first);
  auto const request = completing(caller_, first.owner, held, 2);
  auto const error =
      strike(request, "&options=-csynchronous_commit%3Don", "wait_event = 'SyncRep'");
  ASSERT_TRUE(error) << "nobody noticed";
  EXPECT_EQ(error->outcome(), Outcome::unknown);
  auto const again = caller_.exchange(request);
  ASSERT_EQ(again.finishes.size(), 2U);
  for (auto const& finish : again.finishes) EXPECT_EQ(finish.value(), TaskState::completed);
  ASSERT_EQ(again.tasks.size(), 2U);
  EXPECT_EQ(again.tasks[0].id, added[2].id);
  EXPECT_GT(again.fence, held.fence);
  EXPECT_EQ(caller_.exchange(request).fence, again.fence);
  auto const counts = caller_.count();
  EXPECT_EQ(counts.completed, 2U);
  EXPECT_EQ(counts.running, 2U);
  EXPECT_EQ(counts.pending, 1U);
}

TEST_F(PostgresTasks, AnExchangeThatEndsBeforeItsCommitIsNotDone) {
  caller_.add_tasks(5);
  auto const first = caller_.asking(2);
  auto const held = caller_.exchange(first);
  auto const request = completing(caller_, first.owner, held, 2);
  std::jthread const keeper([this] {
    static_cast<void>(error_of([this] {
      try {
        in_schema(
            "SET application_name = 'keeper'; BEGIN; LOCK TABLE {0}.task_ready IN ACCESS EXCLUSIVE "
            "MODE; SELECT pg_sleep(60); ROLLBACK");
      } catch (std::runtime_error const&) {  // its end, below
      }
    }));
  });
  ASSERT_TRUE(wait_until([&] {
    return server().query(
               "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'keeper' AND "
               "wait_event = 'PgSleep'") == "1";
  }));
  auto const error = strike(request, "", "wait_event_type = 'Lock'");
  server().query(
      "SELECT pg_cancel_backend(pid) FROM pg_stat_activity WHERE application_name = 'keeper'");
  ASSERT_TRUE(error) << "nobody noticed";
  EXPECT_TRUE(error->retryable());
  EXPECT_EQ(caller_.count().running, 2U);
  EXPECT_EQ(caller_.count().completed, 0U);
  auto const again = caller_.exchange(request);
  for (auto const& finish : again.finishes) EXPECT_EQ(finish.value(), TaskState::completed);
  EXPECT_EQ(again.tasks.size(), 2U);
}

TEST_F(PostgresTasks, TwoClaimersNeverShare) {
  constexpr std::size_t many = 2000;
  TaskCaller other(url());
  caller_.add_tasks(many);
  std::vector<std::future<std::vector<std::uint64_t>>> workers;
  for (int i = 0; i < 4; ++i) {
    auto& worker = i % 2 == 0 ? caller_ : other;
    workers.push_back(std::async(std::launch::async, [&worker] { return drain(worker, 40); }));
  }
  std::multiset<std::uint64_t> all;
  for (auto& worker : workers) {
    for (auto const number : worker.get()) all.insert(number);
  }
  EXPECT_EQ(all.size(), many);
  EXPECT_EQ(std::set(all.begin(), all.end()).size(), many);
  EXPECT_EQ(caller_.count().pending + caller_.count().running, 0U);
}

TEST_F(PostgresTasks, ClaimsAndTasksOutliveTheServer) {
  auto const added = caller_.add_tasks(4, "request");
  auto const first = caller_.asking(2);
  auto const held = caller_.exchange(first);
  server().kill();
  server().start();
  ASSERT_TRUE(wait_until([&] { return !error_of([&] { caller_.count(); }); }));
  EXPECT_EQ(caller_.add_tasks(4, "request").front().id, added.front().id);
  EXPECT_EQ(caller_.count().running, 2U);
  auto const next = caller_.exchange(completing(caller_, first.owner, held, 2));
  for (auto const& finish : next.finishes) EXPECT_EQ(finish.value(), TaskState::completed);
  EXPECT_EQ(next.tasks.size(), 2U);
  EXPECT_GT(next.fence, held.fence);
}

TEST_F(PostgresTasks, AnOldSnapshotDoesNotStopClaims) {
  caller_.add_tasks(10);
  std::jthread const holder([this] {
    try {
      in_schema(
          "SET application_name = 'holder'; BEGIN ISOLATION LEVEL REPEATABLE READ; "
          "SELECT count(*) FROM {0}.task_ready; SELECT pg_sleep(60); COMMIT");
    } catch (std::runtime_error const&) {  // its end, below
    }
  });
  ASSERT_TRUE(wait_until([&] {
    return server().query(
               "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'holder' AND "
               "wait_event = 'PgSleep'") == "1";
  }));
  EXPECT_EQ(drain(caller_, 100).size(), 10U);
  for (int pass = 0; pass < 5; ++pass) {
    caller_.add_tasks(500);
    EXPECT_EQ(drain(caller_, 100).size(), 500U);
  }
  server().query(
      "SELECT pg_cancel_backend(pid) FROM pg_stat_activity WHERE application_name = 'holder'");
}

TEST_F(PostgresTasks, ThroughAPoolerByTheClock) {
  PgBouncer const bouncer(server());
  TaskCaller pooled(bouncer.url() + "?schema=" + schema_);
  auto const asked = pooled.idle();
  EXPECT_GT(asked.ask_again, Nanos(0));
  EXPECT_LE(asked.ask_again, 1s);
  EXPECT_EQ(in_schema("SELECT count(*) FROM {0}.task_idle"), "0") << "nobody could wake it";
  pooled.add_tasks(300);
  EXPECT_EQ(drain(pooled, 100).size(), 300U);
  pooled.add_tasks(1);
  auto const request = pooled.asking(1, 5s);
  auto const held = pooled.exchange(request);
  EXPECT_EQ(held.tasks.size(), 1U);
  EXPECT_EQ(pooled.exchange(request).fence, held.fence);
}

TEST_F(PostgresTasks, LittleIsKeptOfWhatIsDone) {
  for (int round = 0; round < 4; ++round) {
    caller_.add_tasks(5000);
    EXPECT_EQ(drain(caller_, 500).size(), 5000U);
  }
  EXPECT_EQ(in_schema("SELECT count(*) FROM {0}.task_ready"), "0");
  auto const kept = std::stoi(in_schema("SELECT sum(completed) FROM {0}.task_claim"));
  EXPECT_GE(kept, 1000);
  EXPECT_LE(kept, 3000);
}

}  // namespace
}  // namespace holt::test
