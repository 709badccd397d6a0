// SPDX-License-Identifier: Apache-2.0
// A queue between processes on every store: workers are killed and frozen in the middle of their
// batches, the server, where there is one, is started again or crashes, connections are cut. Every
// task is completed once, by one fence, and what comes too late is refused.

#include "process/task_processes.hpp"
#include "support/servers/wait_until.hpp"

#include <atomic>
#include <csignal>
#include <thread>

namespace holt::test {
namespace {

class TasksBetweenProcesses : public TaskPlaceTest {
 protected:
  /// Stops it where it does: in the middle of a step it would keep everybody from an embedded
  /// store.
  void freeze(Remote& process) {
    auto probe = open(url_, {.timeout = 500ms});
    for (int tries = 0; tries < 20; ++tries) {
      process.signal(SIGSTOP);
      try {
        probe.queue("probe").add("probe", "");
        return;
      } catch (EngineError const&) {
        process.signal(SIGCONT);
      }
    }
    ADD_FAILURE() << "it cannot be stopped outside of a step";
  }
};
INSTANTIATE_TEST_SUITE_P(Sqlite, TasksBetweenProcesses, testing::Values(&sqlite_place),
                         [](auto const&) { return "sqlite"; });
INSTANTIATE_TEST_SUITE_P(Redis, TasksBetweenProcesses, testing::Values(&redis_place),
                         [](auto const&) { return "redis"; });
INSTANTIATE_TEST_SUITE_P(Postgres, TasksBetweenProcesses, testing::Values(&postgres_place),
                         [](auto const&) { return "postgres"; });

TEST_P(TasksBetweenProcesses, AreEachDoneOnceWhereNobodyDies) {
  std::vector<std::unique_ptr<Remote>> workers;
  for (int i = 0; i < 4; ++i) workers.push_back(worker(4, 30s));
  auto ids = add(3000);
  for (int i = 0; i < 50; ++i) ids.push_back(add(1).front());
  ASSERT_TRUE(all_end());
  for (auto const& each : workers) stop(*each);
  expect_all_completed(ids);
  EXPECT_EQ(book().starts(), ids.size());
  EXPECT_EQ(book().refusals(), 0U);
}

TEST_P(TasksBetweenProcesses, AreDoneHoweverOftenWorkersAreKilled) {
  constexpr std::size_t tasks = 1500;
  std::vector<std::unique_ptr<Remote>> workers;
  // Long enough that the killer, on a busy machine, does not come when all is done.
  auto const ids = add(tasks, "nap 20");
  for (int i = 0; i < 3; ++i) workers.push_back(worker());
  for (std::size_t round = 0; round < 9; ++round) {
    auto const before = completed();
    ASSERT_TRUE(wait_until([&] { return completed() >= std::min(before + 60, tasks); }));
    auto& victim = workers[round % workers.size()];
    victim->kill();
    victim = worker();
  }
  ASSERT_TRUE(all_end());
  for (auto const& each : workers) stop(*each);
  expect_all_completed(ids);
  EXPECT_GT(book().starts(), tasks) << "nobody was killed in the middle";
}

TEST_P(TasksBetweenProcesses, OfAKilledWorkerAreRunAgainWithinTwelveSecondsUnlessToldOtherwise) {
  constexpr auto usual = 0ms;
  auto const next = worker(1, usual);
  auto const first = add(1, "stay").front();
  ASSERT_TRUE(wait_until([&] { return book().starts() == 1; }));
  auto const last = worker(1, usual);
  auto const id = add(1, "stay").front();
  ASSERT_TRUE(wait_until([&] { return book().starts() == 2; }));
  last->kill();
  EXPECT_EQ(next->ask("stop_working 0", 60s), "stopped");
  auto const again = worker(1, usual);
  EXPECT_TRUE(wait_until([&] { return book().starts() == 3; }, 12s));
  EXPECT_EQ(again->ask("stop_working 0", 60s), "stopped");
  expect_all_completed({first, id});
}

/// A worker is given what its own client adds by the add itself, where the store can do that. Who
/// dies after that adds the rest of its chain once more.
TEST_P(TasksBetweenProcesses, ThatAddOthersAreDoneHoweverOftenWorkersAreKilled) {
  constexpr std::size_t chains = 3;
  constexpr std::size_t length = 40;
  constexpr std::size_t rounds = 6;
  std::vector<std::unique_ptr<Remote>> workers;
  for (int i = 0; i < 3; ++i) workers.push_back(worker(8));
  for (std::size_t round = 0; round < rounds; ++round) {
    auto const before = book().starts();
    add(chains, "chain " + std::to_string(length - 1), {.max_attempts = 100});
    ASSERT_TRUE(wait_until([&] { return book().starts() >= before + length; }));
    auto& victim = workers[round % workers.size()];
    victim->kill();
    victim = worker(8);
  }
  ASSERT_TRUE(all_end());
  for (auto const& each : workers) stop(*each);
  expect_all_completed(rounds * chains * length);
}

TEST_P(TasksBetweenProcesses, AFrozenWorkerIsToldAndWhatItReportsIsRefused) {
  auto const frozen = worker(1);
  auto const id = add(1, "stay").front();
  ASSERT_TRUE(wait_until([&] { return book().starts() == 1; }));
  freeze(*frozen);
  auto const before = queue_->find(id)->fence;
  auto const next = worker(1);
  ASSERT_TRUE(wait_until([&] { return book().starts() == 2; }));
  frozen->signal(SIGCONT);
  // It returns because it is asked to stop; only then does it hand in, and is refused.
  ASSERT_TRUE(wait_until([&] { return book().refusals() == 1; }));
  auto const now = queue_->find(id);
  EXPECT_EQ(now->state, TaskState::running);
  EXPECT_GT(now->fence, before);
  // The next one stays until its worker goes.
  EXPECT_EQ(next->ask("stop_working 0", 60s), "stopped");
  stop(*frozen);
  EXPECT_EQ(queue_->find(id)->result, now->fence.decimal());
  expect_all_completed({id});
}

TEST_P(TasksBetweenProcesses, AFrozenWorkerKeepsNobodyFromItsBatch) {
  constexpr std::size_t tasks = 600;
  auto const ids = add(tasks, "nap 3");
  auto const frozen = worker();
  auto const next = worker();
  ASSERT_TRUE(wait_until([&] { return completed() >= 100; }));
  freeze(*frozen);
  EXPECT_TRUE(all_end());
  frozen->signal(SIGCONT);
  stop(*frozen);
  stop(*next);
  expect_all_completed(ids);
}

/// Adds one after the other, whatever becomes of the server meanwhile.
class Adder {
 public:
  Adder(std::string const& url, std::string queue)
      : holt_(open(url, {.timeout = 30s})),
        queue_(holt_.queue(queue)),
        thread_([this] { run(); }) {}
  ~Adder() { stop_ = true; }
  Adder(Adder const&) = delete;
  Adder& operator=(Adder const&) = delete;

  [[nodiscard]] std::size_t added() const { return count_; }
  /// What was added.
  std::vector<TaskId> end() {
    stop_ = true;
    thread_.join();
    return std::move(ids_);
  }

 private:
  void run() {
    while (!stop_) {
      try {
        ids_.push_back(queue_.add("job", "nap 1").id);
        count_ = ids_.size();
      } catch (EngineError const& error) {
        // An add that began is asked for again within the call.
        EXPECT_EQ(error.outcome(), Outcome::not_applied) << error.what();
        std::this_thread::sleep_for(1ms);
      }
    }
  }

  Holt holt_;
  Queue queue_;
  std::atomic<bool> stop_ = false;
  std::atomic<std::size_t> count_ = 0;
  std::vector<TaskId> ids_;
  std::jthread thread_;
};

class TasksOnAServer : public TaskPlaceTest {
 protected:
  /// Workers and an adder go on while `hurt` is done to the server, again and again.
  void endure(int rounds, void (TaskPlace::*hurt)()) {
    auto ids = add(300, "nap 2");
    std::vector<std::unique_ptr<Remote>> workers;
    for (int i = 0; i < 3; ++i) workers.push_back(worker(4, 2s));
    Adder adder(url_, queue_name);
    for (int i = 0; i < rounds; ++i) {
      auto const added = adder.added();
      auto const starts = book().starts();
      ASSERT_TRUE(wait_until([&] { return adder.added() >= added + 20; }, 40s));
      ASSERT_TRUE(wait_until([&] { return book().starts() >= starts + 20; }, 40s));
      (*place_.*hurt)();
    }
    auto const more = adder.end();
    ids.insert(ids.end(), more.begin(), more.end());
    ASSERT_TRUE(all_end());
    for (auto const& each : workers) stop(*each);
    expect_all_completed(ids);
  }
};
INSTANTIATE_TEST_SUITE_P(Redis, TasksOnAServer, testing::Values(&redis_place),
                         [](auto const&) { return "redis"; });
INSTANTIATE_TEST_SUITE_P(Postgres, TasksOnAServer, testing::Values(&postgres_place),
                         [](auto const&) { return "postgres"; });

TEST_P(TasksOnAServer, ThatAddOthersOutliveConnectionsThatAreCut) {
  constexpr std::size_t chains = 3;
  constexpr std::size_t length = 60;
  constexpr std::size_t rounds = 15;
  auto const busy = worker(8, 2s);
  for (std::size_t round = 0; round < rounds; ++round) {
    auto const before = book().starts();
    add(chains, "chain " + std::to_string(length - 1), {.max_attempts = 100});
    ASSERT_TRUE(wait_until([&] { return book().starts() >= before + length; }, 40s));
    place_->cut_connections();
  }
  ASSERT_TRUE(all_end());
  stop(*busy);
  expect_all_completed(rounds * chains * length);
}

TEST_P(TasksOnAServer, OutliveItsRestarts) { endure(3, &TaskPlace::restart); }
TEST_P(TasksOnAServer, OutliveItsCrashes) { endure(3, &TaskPlace::crash); }
TEST_P(TasksOnAServer, OutliveConnectionsThatAreCut) { endure(25, &TaskPlace::cut_connections); }

}  // namespace
}  // namespace holt::test
