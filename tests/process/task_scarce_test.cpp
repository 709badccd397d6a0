// SPDX-License-Identifier: Apache-2.0
// Tasks where connections are few, and where the server is replaced by another: a pool of one for
// many callers, a server that has no connection left, a Redis and a PostgreSQL that fail over with
// what they have answered.

#include "process/task_processes.hpp"
#include "support/engines.hpp"
#include "support/servers/pgbouncer.hpp"
#include "support/servers/postgres_server.hpp"
#include "support/servers/redis_sentinels.hpp"
#include "support/servers/wait_until.hpp"

#include <functional>
#include <mutex>
#include <thread>

namespace holt::test {
namespace {

class TasksInScarcity : public TaskProcessTest {
 protected:
  TasksInScarcity() { use_built_modules(); }

  /// So many callers add one after the other; answers what was added.
  std::vector<TaskId> add_by_many(std::size_t callers, std::size_t each) {
    std::mutex mutex;
    std::vector<TaskId> ids;
    {
      std::vector<std::jthread> threads;
      for (std::size_t i = 0; i < callers; ++i) {
        threads.emplace_back([&] {
          for (std::size_t n = 0; n < each; ++n) {
            auto const id = queue_->add("job", "nap 1").id;
            std::scoped_lock const lock(mutex);
            ids.push_back(id);
          }
        });
      }
    }
    return ids;
  }
  /// Workers go on while `fail_over` is done; then every task that was added is done.
  void fail_over(std::function<void()> const& work) {
    auto const ids = add(600, "nap 4");
    std::vector<std::unique_ptr<Remote>> workers;
    for (int i = 0; i < 3; ++i) workers.push_back(worker(2, 2s));
    ASSERT_TRUE(wait_until([&] { return book().starts() >= 100; }, 40s));
    work();
    ASSERT_TRUE(all_end());
    for (auto const& each : workers) stop(*each);
    expect_all_completed(ids);
  }
};

TEST_F(TasksInScarcity, APoolOfOneServesManyCallersAndAWorker) {
  PostgresServer const server;
  use(server.url() + "?pool_max=1");
  auto const doing = worker(8, 10s);
  auto const ids = add_by_many(32, 20);
  ASSERT_TRUE(all_end());
  stop(*doing);
  expect_all_completed(ids);
  EXPECT_EQ(book().starts(), ids.size());
}

TEST_F(TasksInScarcity, BehindAPoolerThatSwallowsSignalsWorkersLookByTheClock) {
  PostgresServer const server;
  PgBouncer const bouncer(server);
  use(bouncer.url());
  std::vector<std::unique_ptr<Remote>> workers;
  for (int i = 0; i < 2; ++i) workers.push_back(worker(4, 10s));
  auto ids = add(200);
  for (int i = 0; i < 5; ++i) {
    ASSERT_TRUE(all_end());
    ids.push_back(add(1).front());
  }
  ASSERT_TRUE(all_end());
  for (auto const& each : workers) stop(*each);
  expect_all_completed(ids);
  EXPECT_EQ(book().starts(), ids.size());
}

TEST_F(TasksInScarcity, AServerWithoutAConnectionLeftDelaysOnly) {
  PostgresServer const server(
      {.config = {"max_connections = 12", "superuser_reserved_connections = 0"}});
  use(server.url() + "?pool_max=2");
  std::vector<std::unique_ptr<Remote>> workers;
  for (int i = 0; i < 3; ++i) workers.push_back(worker(4, 2s));
  auto const ids = add(400, "nap 2");
  // Strangers take what is left, and go again.
  std::vector<std::jthread> strangers;
  for (int i = 0; i < 12; ++i) {
    strangers.emplace_back([&] {
      try {
        server.query("SELECT pg_sleep(1)");
      } catch (std::runtime_error const&) {  // there is none for it
      }
    });
  }
  strangers.clear();
  ASSERT_TRUE(all_end());
  for (auto const& each : workers) stop(*each);
  expect_all_completed(ids);
}

TEST_F(TasksInScarcity, APromotedStandbyHasAllThatWasAnswered) {
  PostgresServer primary;
  PostgresServer const standby(primary, "second");
  primary.query("ALTER SYSTEM SET synchronous_standby_names = 'second'");
  primary.query("SELECT pg_reload_conf()");
  ASSERT_TRUE(wait_until(
      [&] { return primary.query("SELECT sync_state FROM pg_stat_replication") == "sync"; }));
  use("postgres://postgres@" + primary.address() + "," + standby.address() + "/postgres");
  fail_over([&] {
    primary.kill();
    standby.promote();
  });
}

TEST_F(TasksInScarcity, AReplicaThatBecameTheMasterHasAllThatWasAnswered) {
  RedisSentinels group;
  RedisSentinels::await_replicas(group.master(), 2);
  use(group.url() + "?wait_replicas=1&wait_timeout=2000");
  fail_over([&] { group.fail_over_by_kill(); });
}

}  // namespace
}  // namespace holt::test
