// SPDX-License-Identifier: Apache-2.0
#include "process/task_processes.hpp"

#include "process/doer.hpp"
#include "support/engines.hpp"
#include "support/servers/postgres_server.hpp"
#include "support/servers/redis_server.hpp"
#include "support/servers/wait_until.hpp"

#include <thread>

namespace holt::test {
namespace {

class SqlitePlace final : public TaskPlace {
 public:
  [[nodiscard]] std::string url() const override { return "sqlite://" + folder_.file("holt.db"); }

 private:
  TemporaryFolder folder_;
};

class RedisPlace final : public TaskPlace {
 public:
  [[nodiscard]] std::string url() const override { return server_.url(); }
  void restart() override { server_.restart(); }
  void crash() override {
    server_.kill();
    server_.start();
  }
  void cut_connections() override {
    server_.command({"CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes"});
    server_.command({"CLIENT", "KILL", "TYPE", "pubsub"});
  }

 private:
  RedisServer server_{{.append_only = true, .config = {"appendfsync always"}}};
};

class PostgresPlace final : public TaskPlace {
 public:
  [[nodiscard]] std::string url() const override { return server_.url(); }
  void restart() override {
    server_.stop();
    server_.start();
  }
  void crash() override {
    server_.kill();
    server_.start();
  }
  void cut_connections() override {
    server_.query(
        "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity "
        "WHERE backend_type = 'client backend' AND pid <> pg_backend_pid()");
  }

 private:
  PostgresServer server_;
};

template <class Kind>
std::unique_ptr<TaskPlace> make() {
  use_built_modules();
  return std::make_unique<Kind>();
}

}  // namespace

std::unique_ptr<TaskPlace> sqlite_place() { return make<SqlitePlace>(); }
std::unique_ptr<TaskPlace> redis_place() { return make<RedisPlace>(); }
std::unique_ptr<TaskPlace> postgres_place() { return make<PostgresPlace>(); }

void TaskProcessTest::use(std::string url) {
  url_ = std::move(url);
  OpenOptions options;
  options.timeout = 30s;
  holt_.emplace(open(url_, std::move(options)));
  queue_.emplace(holt_->queue(queue_name));
}

std::vector<TaskId> TaskProcessTest::add(std::size_t count, std::string const& payload,
                                         TaskOptions options) {
  std::vector<TaskId> ids;
  std::vector<TaskDraft> const drafts(count, TaskDraft{Doer::kind, payload, options});
  for (int tries = 0; ids.empty(); ++tries) {
    try {
      for (auto const& added : queue_->add_many(drafts)) ids.push_back(added.id);
    } catch (EngineError const& error) {
      // What could not be sent at all is for the caller to say again.
      if (error.outcome() != Outcome::not_applied || tries == 100) throw;
      std::this_thread::sleep_for(10ms);
    }
  }
  return ids;
}

std::unique_ptr<Remote> TaskProcessTest::worker(std::uint32_t concurrency,
                                                std::chrono::milliseconds ttl) {
  auto process = std::make_unique<Remote>(url_);
  auto const who = "worker-" + std::to_string(++workers_);
  EXPECT_EQ(process->ask("work " + std::string(queue_name) + " " + std::to_string(ttl.count()) +
                         " " + std::to_string(concurrency) + " " + ledger_ + " " + who),
            "working");
  return process;
}

void TaskProcessTest::stop(Remote& worker) {
  EXPECT_EQ(worker.ask("stop_working 20000", 60s), "stopped");
}

std::optional<TaskCounts> TaskProcessTest::counts() {
  try {
    return queue_->count();
  } catch (EngineError const&) {
    return std::nullopt;
  }
}

std::uint64_t TaskProcessTest::completed() {
  auto const now = counts();
  return now ? now->completed : 0;
}

bool TaskProcessTest::all_end(std::chrono::milliseconds patience) {
  return wait_until(
      [this] {
        auto const now = counts();
        return now && now->scheduled + now->pending + now->running + now->retrying == 0;
      },
      patience);
}

std::map<TaskId, Fence> TaskProcessTest::fences(TaskState state) {
  std::map<TaskId, Fence> all;
  std::string cursor;
  do {
    auto const page = queue_->list(state, cursor, 1000);
    for (auto const& task : page.tasks) {
      EXPECT_TRUE(all.emplace(task.id, task.fence).second) << task.id.text() << " is there twice";
    }
    cursor = page.next;
  } while (!cursor.empty());
  return all;
}

void TaskProcessTest::expect_all_completed(std::vector<TaskId> const& ids) {
  auto const done = fences(TaskState::completed);
  std::size_t missing = 0;
  for (auto const& id : ids) missing += done.contains(id) ? 0 : 1;
  EXPECT_EQ(missing, 0U);
  EXPECT_EQ(done.size(), ids.size());
  EXPECT_EQ(book().mistakes(done), std::vector<std::string>());
}

void TaskProcessTest::expect_all_completed(std::size_t least) {
  auto const done = fences(TaskState::completed);
  EXPECT_GE(done.size(), least);
  auto const all = queue_->count();
  EXPECT_EQ(all.dead + all.cancelled, 0U);
  EXPECT_EQ(book().mistakes(done), std::vector<std::string>());
}

}  // namespace holt::test
