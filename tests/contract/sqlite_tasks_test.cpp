// SPDX-License-Identifier: Apache-2.0
// The file of tasks beside the store: when it is made, what a reboot does, that it reuses its
// space, and workers that are killed in the middle.

#include "base/random_text.hpp"
#include "contract/engine_test.hpp"
#include "contract/sqlite_fixture.hpp"
#include "contracts/migrations.hpp"
#include "support/other_process.hpp"

#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <deque>
#include <filesystem>

namespace holt::test {
namespace {

namespace fs = std::filesystem;

constexpr auto queue = "q";

AddRequest adding(std::size_t count) {
  return {queue, std::vector<NewTask>(count, NewTask("job", "payload"))};
}

class SqliteTasks : public SqliteTest {
 protected:
  [[nodiscard]] std::string tasks_file() const { return file() + "-tasks"; }
  [[nodiscard]] Instant later() { return env_.now() + 30s; }

  Claimed claim(Engine& engine, std::uint32_t want, Nanos ttl = 60s) {
    return run(engine.tasks()->claim(ClaimRequest(queue, owner(engine), want, ttl), later()));
  }
  TaskCounts count(Engine& engine) { return run(engine.tasks()->count(queue, later())); }
  std::int64_t sql_on_tasks(std::string const& text) { return sql_on(tasks_file(), text); }
};

TEST_F(SqliteTasks, TheFileIsMadeWhenItIsNeeded) {
  auto const engine = open();
  ASSERT_NE(engine->tasks(), nullptr);
  EXPECT_FALSE(fs::exists(tasks_file()));
  run(engine->tasks()->add(adding(1), later()));
  EXPECT_TRUE(fs::exists(tasks_file()));
  EXPECT_EQ(sql("SELECT count(*) FROM sqlite_schema WHERE name = 'ready'"), 0);
}

TEST_F(SqliteTasks, TheFileIsForThoseWhoMayUseTheStore) {
  auto const engine = open();
  run(engine->tasks()->add(adding(1), later()));
  for (auto const* part : {"-tasks", "-tasks-wal", "-tasks-shm", "-tasks.gate"}) {
    struct stat there{};
    ASSERT_EQ(::stat((file() + part).c_str(), &there), 0) << part;
    EXPECT_EQ(there.st_mode & 07777U, 0600U) << part;
  }
}

TEST_F(SqliteTasks, TheFileIsNoStore) {
  {
    auto const engine = open();
    run(engine->tasks()->add(adding(1), later()));
  }
  auto const error =
      thrown<EngineError>([&] { open_engine(env_, {"sqlite://" + tasks_file(), "default"}); });
  ASSERT_TRUE(error);
  EXPECT_EQ(error->code(), ErrorCode::invalid_argument);
}

TEST_F(SqliteTasks, WithMigrateNoTheFileIsNotMade) {
  {
    auto const engine = open();
  }
  auto const engine = open("?migrate=no");
  auto const error = thrown<EngineError>([&] { run(engine->tasks()->add(adding(1), later())); });
  ASSERT_TRUE(error);
  EXPECT_EQ(error->code(), ErrorCode::invalid_argument);
  EXPECT_FALSE(fs::exists(tasks_file()));
  migrate_store(env_, {"sqlite://" + file(), "default"}, false);
  EXPECT_EQ(run(engine->tasks()->add(adding(1), later())).size(), 1U);
}

TEST_F(SqliteTasks, RaisingFencesRaisesThoseOfClaimsToo) {
  auto const engine = open();
  run(engine->tasks()->add(adding(2), later()));
  auto const before = claim(*engine, 1).fence;
  run(engine->raise_fence(later()));
  EXPECT_GE(claim(*engine, 1).fence.value(), before.value() + (std::uint64_t{1} << 32U));
}

TEST_F(SqliteTasks, TasksSurviveAReopening) {
  TaskId id;
  {
    auto const engine = open();
    id = run(engine->tasks()->add(adding(1), later())).at(0).id;
  }
  auto const engine = open();
  EXPECT_EQ(run(engine->tasks()->find(id, later()))->payload, "payload");
}

TEST_F(SqliteTasks, WhatIsRememberedOfALargeAddIsShort) {
  auto const engine = open();
  auto request = adding(10'000);
  request.request = RequestId("request");
  auto const first = run(engine->tasks()->add(request, later()));
  EXPECT_LT(sql_on_tasks("SELECT sum(length(answer)) FROM request"), 20);
  auto const again = run(engine->tasks()->add(request, later()));
  EXPECT_EQ(again.size(), first.size());
  EXPECT_EQ(again.back().id, first.back().id);
  EXPECT_EQ(count(*engine).pending, 10'000U);
}

TEST_F(SqliteTasks, AFileInWhichSomebodyIdlesIsNotDamaged) {
  auto const engine = open();
  ClaimRequest request(queue, owner(*engine), 1, 60s);
  request.kinds = {"job"};
  request.idle_for = 60s;
  run(engine->tasks()->claim(request, later()));
  EXPECT_EQ(sql_on_tasks("SELECT count(*) FROM idle"), 1);
  EXPECT_EQ(
      sql_on_tasks("SELECT count(*) FROM pragma_integrity_check WHERE integrity_check = 'ok'"), 1);
}

TEST_F(SqliteTasks, ADeletedFileIsNoticed) {
  auto const engine = open();
  run(engine->tasks()->add(adding(1), later()));
  fs::remove(tasks_file());
  env_.advance(1s);  // it is looked at once a millisecond at the most
  auto const error = thrown<EngineError>([&] { claim(*engine, 1); });
  ASSERT_TRUE(error);
  EXPECT_EQ(error->code(), ErrorCode::service_unavailable);
  EXPECT_EQ(error->outcome(), Outcome::not_applied);
}

/// By the time since boot: a wall clock that is set must not make a repeated add another one.
TEST_F(SqliteTasks, RequestsAreRememberedWhateverTheWallClockSays) {
  auto request = adding(1);
  request.request = RequestId("once");
  {
    auto const engine = open();
    auto const first = run(engine->tasks()->add(request, later())).at(0).id;
    EXPECT_EQ(run(engine->tasks()->add(request, later())).at(0).id, first);
    auto const until = Instant(Nanos(sql_on_tasks("SELECT until_ns FROM request")));
    EXPECT_GT(until, env_.now() + TaskStore::memory - 1min);
    EXPECT_LE(until, env_.now() + TaskStore::memory);
  }
  env_.reboot("another boot");
  auto const engine = open();
  EXPECT_EQ(count(*engine).pending, 1U);
  auto const until = Nanos(sql_on_tasks("SELECT until_ns FROM request"));
  EXPECT_EQ(until, TaskStore::memory) << "of a clock that begins with the boot";
}

TEST_F(SqliteTasks, ARebootEndsAllClaimsAndRaisesFences) {
  Fence before;
  {
    auto const engine = open();
    run(engine->tasks()->add(adding(2), later()));
    before = claim(*engine, 1, 24h).fence;
  }
  env_.reboot("another boot");
  auto const engine = open();
  auto const claimed = claim(*engine, 10);
  EXPECT_EQ(claimed.tasks.size(), 2U);
  EXPECT_EQ(claimed.tasks.at(0).attempt, 2U) << "it was alone in its claim";
  EXPECT_GE(claimed.fence.value(), before.value() + (std::uint64_t{1} << 32U));
}

TEST_F(SqliteTasks, TheFileReusesItsSpace) {
  auto const engine = open();
  auto const pass = [&] {
    run(engine->tasks()->add(adding(3000), later()));
    Owner previous;
    Claimed held;
    do {
      ClaimRequest request(queue, owner(*engine), 500, 60s);
      request.answered = previous;
      for (auto const& task : held.tasks) {
        request.finishes.emplace_back(task.id, previous, held.fence, TaskOutcome::completed);
      }
      previous = request.owner;
      held = run(engine->tasks()->claim(std::move(request), later()));
    } while (!held.tasks.empty());
    return sql_on_tasks("PRAGMA page_count");
  };
  pass();
  auto const settled = pass();
  for (int i = 0; i < 4; ++i) EXPECT_LE(pass(), settled + settled / 10);
  EXPECT_EQ(sql_on_tasks("SELECT count(*) FROM ready"), 0);
  EXPECT_EQ(sql_on_tasks("SELECT count(*) FROM claim WHERE remaining > 0"), 0);
  EXPECT_LE(sql_on_tasks("SELECT count(*) FROM claim"), 6) << "the last exchange of each pass";
  EXPECT_EQ(count(*engine).running, 0U);
}

TEST_F(SqliteTasks, AnIdleWorkerThatDiedIsPassedOver) {
  auto const adder = open();
  auto const living = open();
  std::atomic<int> woken{0};
  living->signals().subscribe(std::string(topic::work), [&](Signal const&) { ++woken; });
  living->signals().listen();
  auto const wait = [&](Engine& engine) {
    ClaimRequest request(queue, owner(engine), 1, 60s);
    request.idle_for = 60s;
    run(engine.tasks()->claim(std::move(request), later()));
  };
  wait(*living);
  for (int i = 0; i < 8; ++i) {
    auto const dying = open();
    wait(*dying);
  }
  run(adder->tasks()->add(adding(1), later()));
  EXPECT_TRUE(comes_true([&] { return woken == 1; }));
}

/// Adds tasks one by one.
TEST(SqliteOtherProcess, DISABLED_AddsTasks) {
  auto const settings = other_process_settings();
  RealEnv env;
  auto const engine = open_engine(env, {settings.at("url"), "default"});
  for (int i = 0; i < std::stoi(settings.at("count")); ++i) {
    AddRequest request(queue, {NewTask("job", settings.at("name") + "/" + std::to_string(i))});
    request.request = RequestId(settings.at("name") + "/" + std::to_string(i));
    run(engine->tasks()->add(std::move(request), env.now() + 30s));
  }
}

/// Claims and completes until it is killed.
TEST(SqliteOtherProcess, DISABLED_WorksOnTasks) {
  auto const settings = other_process_settings();
  RealEnv env;
  auto const engine = open_engine(env, {settings.at("url"), "default"});
  auto const result = std::to_string(::getpid());
  Owner previous;
  Claimed held;
  for (;;) {
    Owner const owner(engine->signals().inbox(), random_token([&] { return env.random(); }));
    ClaimRequest request(queue, owner, 20, 1s);
    request.answered = previous;
    for (auto const& task : held.tasks) {
      request.finishes.emplace_back(task.id, previous, held.fence, TaskOutcome::completed);
      request.finishes.back().text = result;
    }
    previous = owner;
    held = run(engine->tasks()->claim(std::move(request), env.now() + 30s));
  }
}

/// Everything that was added is completed once, whoever dies in the middle.
TEST_F(SqliteTasks, KilledAddersAndWorkersLoseNothing) {
  auto const engine = open();
  auto const url = "sqlite://" + file();
  constexpr int each = 150;
  auto const adder = [&](std::string const& name) {
    return OtherProcess("SqliteOtherProcess.DISABLED_AddsTasks",
                        {{"url", url}, {"name", name}, {"count", std::to_string(each)}});
  };
  auto const worker = [&] {
    return OtherProcess("SqliteOtherProcess.DISABLED_WorksOnTasks", {{"url", url}});
  };
  auto const completed = [&](std::uint64_t least) {
    return comes_true([&] { return count(*engine).completed >= least; });
  };
  std::deque<OtherProcess> workers;
  for (int i = 0; i < 3; ++i) workers.push_back(worker());
  for (int round = 0; round < 3; ++round) {
    // The adder is killed half way, and its successor adds all again under the same request ids.
    auto const name = "round" + std::to_string(round);
    {
      auto const killed = adder(name);
      ASSERT_TRUE(completed(static_cast<std::uint64_t>(round * each + each / 4)));
      killed.signal(SIGKILL);
      workers.pop_front();  // so is a worker
    }
    workers.push_back(worker());
    ASSERT_EQ(adder(name).wait(), 0);
  }
  ASSERT_TRUE(completed(3 * each));
  workers.clear();
  auto const counts = count(*engine);
  EXPECT_EQ(counts.completed, std::uint64_t{3 * each});
  EXPECT_EQ(counts.pending + counts.running + counts.dead + counts.retrying, 0U);
  EXPECT_EQ(
      sql_on_tasks("SELECT count(*) FROM pragma_integrity_check WHERE integrity_check = 'ok'"), 1);
}

}  // namespace
}  // namespace holt::test
