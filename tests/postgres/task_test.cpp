// SPDX-License-Identifier: Apache-2.0
// Tasks when something breaks: a connection's process ends in the middle of an exchange, the server
// starts again, somebody keeps an old snapshot, a pooler swallows signals.

#include "postgres/task_caller.hpp"
#include "support/servers/open_transaction.hpp"
#include "support/servers/pgbouncer.hpp"

#include <fmt/format.h>

#include <future>
#include <optional>
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

  [[nodiscard]] OpenTransaction begin(std::string const& statement,
                                      std::string const& level = "READ COMMITTED") const {
    return {server(), fmt::format(fmt::runtime(statement), schema_), level};
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
  auto keeper = std::optional(begin("LOCK TABLE {0}.task_ready IN ACCESS EXCLUSIVE MODE"));
  auto const error = strike(request, "", "wait_event_type = 'Lock'");
  keeper.reset();
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
  auto const holder = begin("SELECT count(*) FROM {0}.task_ready", "REPEATABLE READ");
  EXPECT_EQ(drain(caller_, 100).size(), 10U);
  for (int pass = 0; pass < 5; ++pass) {
    caller_.add_tasks(500);
    EXPECT_EQ(drain(caller_, 100).size(), 500U);
  }
}

TEST_F(PostgresTasks, ThroughAPoolerByTheClock) {
  PgBouncer const bouncer(server());
  TaskCaller pooled(bouncer.url() + "?schema=" + schema_);
  auto idling = pooled.asking(1);
  idling.idle_for = 3s;
  auto const asked = pooled.exchange(idling);
  EXPECT_GT(asked.ask_again, 1s);
  EXPECT_LE(asked.ask_again, 3s);
  EXPECT_EQ(in_schema("SELECT count(*) FROM {0}.task_idle"), "0") << "nobody could wake it";
  pooled.add_tasks(300);
  EXPECT_EQ(drain(pooled, 100).size(), 300U);
  pooled.add_tasks(1);
  auto const request = pooled.asking(1, 5s);
  auto const held = pooled.exchange(request);
  EXPECT_EQ(held.tasks.size(), 1U);
  EXPECT_EQ(pooled.exchange(request).fence, held.fence);
}

TEST_F(PostgresTasks, ExchangesOfManyQueuesShareCommitsAndEachHasItsOwnAnswer) {
  constexpr std::size_t queues = 60;
  std::vector<TaskId> added;
  std::vector<Owner> owners;
  std::vector<std::future<Claimed>> calls;
  for (std::size_t i = 0; i < queues; ++i) {
    auto const payload = fmt::format("of {}", i);
    added.push_back(
        caller_.add_tasks(AddRequest(fmt::format("q{}", i), {NewTask("job", payload)}))[0].id);
  }
  for (auto const& id : added) {
    owners.push_back(caller_.owner());
    calls.push_back(caller_.begin_exchange(ClaimRequest(id.queue(), owners.back(), 5, 60s)));
  }
  std::vector<Claimed> held;
  for (auto& call : calls) held.push_back(call.get());
  EXPECT_LT(std::stoul(in_schema("SELECT count(DISTINCT xmin::text) FROM {0}.task_claim")), queues);
  calls.clear();
  for (std::size_t i = 0; i < queues; ++i) {
    ClaimRequest request(added[i].queue(), caller_.owner(), i % 2 == 0 ? 5 : 0, 60s);
    request.answered = owners[i];
    auto const wrong = i % 3 == 2;
    request.finishes.emplace_back(added[i], owners[i],
                                  Fence(held[i].fence.value() + (wrong ? 1000 : 0)),
                                  i % 3 == 1 ? TaskOutcome::untouched : TaskOutcome::completed);
    calls.push_back(caller_.begin_exchange(std::move(request)));
  }
  std::set<std::uint64_t> fences;
  for (std::size_t i = 0; i < queues; ++i) {
    ASSERT_EQ(held[i].tasks.size(), 1U) << i;
    EXPECT_EQ(held[i].tasks[0].id, added[i]);
    EXPECT_EQ(held[i].tasks[0].payload, fmt::format("of {}", i));
    fences.insert(held[i].fence.value());
    auto const done = calls[i].get();
    ASSERT_EQ(done.finishes.size(), 1U) << i;
    auto const& finish = done.finishes[0];
    if (i % 3 == 2) {
      EXPECT_FALSE(finish) << "with a fence that it does not have";
    } else {
      EXPECT_EQ(finish.value(), i % 3 == 0 ? TaskState::completed : TaskState::pending);
    }
    EXPECT_EQ(done.tasks.size(), i % 6 == 4 ? 1U : 0U) << i;
  }
  EXPECT_EQ(fences.size(), queues);
}

TEST_F(PostgresTasks, AnExchangeThatIsKeptWaitingKeepsNoOther) {
  TaskCaller crowd(url("&application_name=crowd"));
  auto const ask_elsewhere = [&] {
    std::vector<std::future<Claimed>> calls;
    for (int i = 0; i < 20; ++i) {
      calls.push_back(
          crowd.begin_exchange(ClaimRequest(fmt::format("other{}", i), crowd.owner(), 1, 60s)));
    }
    for (auto& call : calls) EXPECT_TRUE(call.get().tasks.empty());
  };
  crowd.add_tasks(1);
  auto const first = crowd.asking(1);
  auto const held = crowd.exchange(first);
  auto keeper = std::optional(begin("SELECT FROM {0}.task_claim WHERE fence > 0 FOR UPDATE"));
  auto kept = crowd.begin_exchange(completing(crowd, first.owner, held, 1));
  ask_elsewhere();
  EXPECT_NE(kept.wait_for(0s), std::future_status::ready);
  keeper.reset();
  EXPECT_EQ(kept.get().finishes.at(0).value(), TaskState::completed);
}

TEST_F(PostgresTasks, TasksThatDifferAreClaimedTogetherAndAsTheyWere) {
  NewTask first("job", "a");
  NewTask second("job", "b");
  second.metadata = "trace=7";
  NewTask third("job", "c");
  third.max_attempts = 7;
  AddRequest adding(TaskCaller::queue, {first, second, third});
  NewTask urgent("other", "d");
  urgent.priority = 1;
  adding.tasks.push_back(urgent);
  caller_.add_tasks(adding);
  auto const held = caller_.exchange(caller_.asking(10));
  ASSERT_EQ(held.tasks.size(), 4U);
  EXPECT_EQ(held.tasks[0].payload, "d");
  EXPECT_EQ(held.tasks[0].kind, "other");
  EXPECT_EQ(held.tasks[0].priority, 1);
  EXPECT_EQ(held.tasks[1].payload, "a");
  EXPECT_EQ(held.tasks[2].metadata, "trace=7");
  EXPECT_EQ(held.tasks[3].max_attempts, 7U);
  EXPECT_EQ(held.tasks[1].max_attempts, 3U);
}

TEST_F(PostgresTasks, ATaskThatMustBeAloneIsAskedForAtOnceAfterOthers) {
  caller_.add_tasks(3);
  auto const lost = caller_.exchange(caller_.asking(2, 1s));
  ASSERT_EQ(lost.tasks.size(), 2U);
  // The third is before those that come back, which are suspects then.
  in_schema("UPDATE {0}.task_ready SET number = 1");
  ASSERT_TRUE(wait_until([&] {
    caller_.exchange(caller_.asking(0));
    return caller_.count().pending == 3;
  }));
  auto request = caller_.asking(10);
  request.idle_for = 60s;
  auto const one = caller_.exchange(request);
  ASSERT_EQ(one.tasks.size(), 1U);
  EXPECT_EQ(one.tasks[0].id.number(), 1U);
  EXPECT_LE(one.ask_again, 100ms);
  EXPECT_EQ(in_schema("SELECT count(*) FROM {0}.task_idle"), "0");
  EXPECT_EQ(caller_.exchange(caller_.asking(10)).tasks.size(), 1U);
  EXPECT_EQ(caller_.exchange(caller_.asking(10)).tasks.size(), 1U);
}

TEST_F(PostgresTasks, WhoTookManyHasTheirTablesCleaned) {
  constexpr std::size_t many = 20'000;
  auto const vacuums = [&] {
    return in_schema(
        "SELECT string_agg(vacuum_count::text, ' ' ORDER BY relname) FROM pg_stat_user_tables "
        "WHERE schemaname = '{0}' AND relname IN ('task_claim', 'task_ready')");
  };
  EXPECT_EQ(vacuums(), "0 0");
  for (int round = 0; round < 3; ++round) {
    caller_.add_tasks(many);
    EXPECT_EQ(drain(caller_, 1000).size(), many);
  }
  EXPECT_TRUE(wait_until([&] { return !vacuums().starts_with("0") && !vacuums().ends_with(" 0"); }))
      << vacuums();
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
