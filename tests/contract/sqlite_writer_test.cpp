// SPDX-License-Identifier: Apache-2.0
// The writer: shared commits, the log kept short, deadlines, and steps that fail alone.

#include "contract/sqlite_fixture.hpp"
#include "engines/sqlite/blocker.hpp"
#include "engines/sqlite/gate.hpp"
#include "engines/sqlite/schema.hpp"
#include "engines/sqlite/store_file.hpp"
#include "engines/sqlite/writer.hpp"
#include "sqlite_sql.hpp"

#include <gmock/gmock.h>

#include <fcntl.h>
#include <sched.h>
#include <sys/file.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <future>
#include <thread>

namespace holt::test {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

/// Adds one to a counter, and fails if asked to.
class CountStep final : public sqlite::Step {
 public:
  CountStep(Instant deadline, bool fails) : Step("count", deadline), fails_(fails) {}
  void run(sqlite::Connection& store) override {
    ++runs;
    sqlite::Query row(store, sqlite::sql::counter_add, "test", "count", 1);
    static_cast<void>(row.next());
    if (fails_) throw InvalidArgument("as asked");
  }
  int runs = 0;

 private:
  bool fails_;
};

/// Waits inside its transaction until it is let go.
class SlowStep final : public sqlite::Step {
 public:
  explicit SlowStep(Instant deadline) : Step("slow", deadline) {}
  void run(sqlite::Connection&) override {
    if (std::exchange(ran_, true)) return;
    entered.set_value();
    go.get_future().wait();
  }
  std::promise<void> entered;
  std::promise<void> go;

 private:
  bool ran_ = false;
};

/// Keeps one processor busy with many threads, and binds the thread that makes it to that one too.
class CrowdedProcessor {
 public:
  CrowdedProcessor() {
    sched_getaffinity(0, sizeof before_, &before_);
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(sched_getcpu(), &one);
    sched_setaffinity(0, sizeof one, &one);
    for (int i = 0; i < 64; ++i) {
      threads_.emplace_back([this] {
        while (!over_.load(std::memory_order_relaxed)) {
        }
      });
    }
  }
  ~CrowdedProcessor() {
    sched_setaffinity(0, sizeof before_, &before_);
    over_ = true;
    for (auto& thread : threads_) thread.join();
  }
  CrowdedProcessor(CrowdedProcessor const&) = delete;
  CrowdedProcessor& operator=(CrowdedProcessor const&) = delete;

 private:
  cpu_set_t before_{};
  std::atomic<bool> over_{false};
  std::vector<std::thread> threads_;
};

/// Is inside a transaction, as another process would: the gate through a descriptor of its own, the
/// lock of the file through a connection of its own.
class OtherWriter {
 public:
  OtherWriter(Env& env, sqlite::Place const& place)
      : fd_(::open(place.gate().c_str(), O_RDWR | O_CLOEXEC)),
        connection_(env, place.path, sqlite::Sync::normal) {
    EXPECT_EQ(::flock(fd_, LOCK_EX), 0);
    EXPECT_TRUE(connection_.begin());
  }
  ~OtherWriter() { ::close(fd_); }
  OtherWriter(OtherWriter const&) = delete;
  OtherWriter& operator=(OtherWriter const&) = delete;

 private:
  int fd_;
  sqlite::Connection connection_;
};

class SqliteWriter : public SqliteTest {
 protected:
  asio::awaitable<void> count(Instant deadline, bool fails = false) {
    CountStep step(deadline, fails);
    co_await writer_.run(step);
  }
  std::int64_t counted() { return sql("SELECT coalesce(max(value), 0) FROM counter"); }

  sqlite::Place place_ = sqlite::prepare(sqlite::parse_place(file()));
  sqlite::StoreFile store_file_{env_, place_.path};
  sqlite::Writer writer_{env_, store_file_, place_, sqlite::open_store(env_, place_)};
};

TEST_F(SqliteWriter, StepsThatCameMeanwhileShareOneCommit) {
  SlowStep slow(soon());
  auto leader = std::async(std::launch::async, [&] { run(writer_.run(slow)); });
  slow.entered.get_future().wait();
  std::vector<std::future<void>> others;
  for (int i = 0; i < 32; ++i) {
    others.push_back(std::async(std::launch::async, [&] { run(count(soon())); }));
  }
  std::this_thread::sleep_for(200ms);
  auto const before = writer_.commits();
  slow.go.set_value();
  leader.get();
  for (auto& other : others) other.get();
  EXPECT_EQ(counted(), 32);
  EXPECT_LE(writer_.commits() - before, 10U);
}

TEST_F(SqliteWriter, CallersThatComeBackShareCommitsThatGoToTheDisk) {
  auto place = place_;
  place.sync = sqlite::Sync::full;
  sqlite::Writer writer(env_, store_file_, place, {});
  constexpr std::uint64_t each = 30;
  std::vector<std::future<void>> callers;
  for (int i = 0; i < 16; ++i) {
    callers.push_back(std::async(std::launch::async, [&] {
      for (std::uint64_t n = 0; n < each; ++n) {
        CountStep step(soon(), false);
        run(writer.run(step));
      }
    }));
  }
  for (auto& caller : callers) caller.get();
  EXPECT_EQ(counted(), 16 * each);
  EXPECT_LE(writer.commits(), 16 * each / 2);
}

TEST_F(SqliteWriter, AStepThatFailsTakesNobodyWithIt) {
  SlowStep slow(soon());
  auto leader = std::async(std::launch::async, [&] { run(writer_.run(slow)); });
  slow.entered.get_future().wait();
  std::vector<std::future<void>> others;
  for (int i = 0; i < 9; ++i) {
    others.push_back(std::async(std::launch::async, [this, i] { run(count(soon(), i % 3 == 0)); }));
  }
  std::this_thread::sleep_for(100ms);
  slow.go.set_value();
  leader.get();
  for (std::size_t i = 0; i < others.size(); ++i) {
    if (i % 3 == 0) {
      EXPECT_THROW(others[i].get(), InvalidArgument);
    } else {
      EXPECT_NO_THROW(others[i].get());
    }
  }
  EXPECT_EQ(counted(), 6);
}

TEST_F(SqliteWriter, AStepThatFailsAloneIsRolledBack) {
  EXPECT_THROW(run(count(soon(), true)), InvalidArgument);
  EXPECT_EQ(counted(), 0);
  run(count(soon()));
  EXPECT_EQ(counted(), 1);
}

TEST_F(SqliteWriter, KeepsItsLogShort) {
  for (int i = 0; i < 20'000; ++i) run(count(soon()));
  EXPECT_EQ(counted(), 20'000);
  EXPECT_LT(fs::file_size(file() + "-wal"), 5U * 1024 * 1024);
}

TEST_F(SqliteWriter, WaitsAtTheGateUntilItsDeadlineAndNamesTheHolder) {
  OtherWriter const holder(env_, place_);
  auto const start = env_.now();
  auto const error = thrown<EngineError>([&] { run(count(env_.now() + 200ms)); });
  EXPECT_GE(env_.now() - start, 200ms);
  EXPECT_LT(env_.now() - start, 3s);
  EXPECT_EQ(error->code(), ErrorCode::network_timeout);
  EXPECT_EQ(error->outcome(), Outcome::not_applied);
  EXPECT_EQ(error->operation(), "count");
  EXPECT_THAT(error->what(), HasSubstr("process " + std::to_string(::getpid())));
  EXPECT_EQ(counted(), 0);
}

TEST_F(SqliteWriter, LeavesTheGateInTimeAlsoWhereManyWantTheProcessor) {
  OtherWriter const holder(env_, place_);
  sqlite::Gate gate(place_.gate(), place_.path);
  CrowdedProcessor const crowd;
  auto const start = env_.now();
  EXPECT_FALSE(gate.lock(100ms));
  EXPECT_LT(env_.now() - start, 3s);
}

TEST_F(SqliteWriter, WhoHasTimeGoesOnWaitingWhenOthersGiveUp) {
  auto holder = std::make_unique<OtherWriter>(env_, place_);
  auto patient = std::async(std::launch::async, [&] { run(count(env_.now() + 30s)); });
  auto hasty = std::async(std::launch::async, [&] { run(count(env_.now() + 150ms)); });
  EXPECT_THROW(hasty.get(), EngineError);
  EXPECT_EQ(patient.wait_for(0s), std::future_status::timeout);
  holder.reset();
  patient.get();
  EXPECT_EQ(counted(), 1);
}

TEST_F(SqliteWriter, AGateThatOpensAfterEverybodyLeftIsGivenBack) {
  auto holder = std::make_unique<OtherWriter>(env_, place_);
  EXPECT_THROW(run(count(env_.now() + 50ms)), EngineError);
  holder.reset();
  auto const other = sqlite::open_store(env_, place_);
  sqlite::Writer second(env_, store_file_, place_, nullptr);
  CountStep step(soon(), false);
  EXPECT_NO_THROW(run(second.run(step)));
  EXPECT_NO_THROW(run(count(soon())));
}

TEST_F(SqliteWriter, CanBeDestroyedWhileItsThreadWaitsAtTheGate) {
  OtherWriter const holder(env_, place_);
  sqlite::Writer second(env_, store_file_, place_, nullptr);
  CountStep step(env_.now() + 50ms, false);
  EXPECT_THROW(run(second.run(step)), EngineError);
}

TEST_F(SqliteWriter, WaitsForAForeignProgramUntilItsDeadlineAndNamesIt) {
  sqlite::Connection foreign(env_, place_.path, sqlite::Sync::normal);
  ASSERT_TRUE(foreign.begin());
  auto const error = thrown<EngineError>([&] { run(count(env_.now() + 200ms)); });
  EXPECT_EQ(error->code(), ErrorCode::network_timeout);
  EXPECT_EQ(error->outcome(), Outcome::not_applied);
  EXPECT_THAT(error->what(), HasSubstr("process " + std::to_string(::getpid())));
  foreign.rollback();
  EXPECT_NO_THROW(run(count(soon())));
}

TEST_F(SqliteWriter, ALoopThatCallsIsNotBlocked) {
  auto holder = std::make_unique<OtherWriter>(env_, place_);
  std::promise<void> counted_one;
  asio::co_spawn(env_.executor(), count(env_.now() + 30s),
                 [&](std::exception_ptr const&) { counted_one.set_value(); });
  std::promise<void> alive;
  asio::post(env_.executor(), [&] { alive.set_value(); });
  EXPECT_EQ(alive.get_future().wait_for(5s), std::future_status::ready);
  holder.reset();
  counted_one.get_future().wait();
  EXPECT_EQ(counted(), 1);
}

TEST(SqliteBlocker, IsReadFromTheListOfLocks) {
  constexpr auto locks =
      "1: POSIX  ADVISORY  READ  11 08:02:77 128 128\n"
      "2: POSIX  ADVISORY  WRITE 12 08:02:77 120 120\n"
      "2: -> POSIX  ADVISORY  WRITE 13 08:02:77 120 120\n"
      "3: FLOCK  ADVISORY  WRITE 14 08:02:177 0 EOF\n"
      "4: FLOCK  ADVISORY  WRITE 15 08:02:77 0 EOF\n";
  EXPECT_EQ(sqlite::find_lock_holder(locks, "POSIX", 77, "120"), 12);
  EXPECT_EQ(sqlite::find_lock_holder(locks, "FLOCK", 77, "0"), 15);
  EXPECT_EQ(sqlite::find_lock_holder(locks, "FLOCK", 78, "0"), 0);
  EXPECT_EQ(sqlite::find_lock_holder("", "FLOCK", 77, "0"), 0);
  EXPECT_EQ(sqlite::find_lock_holder("nonsense\n\n", "FLOCK", 77, "0"), 0);
}

class SqliteLeftovers : public SqliteTest {};

TEST_F(SqliteLeftovers, NothingStaysOfReleasedNames) {
  auto const engine = open();
  for (int i = 0; i < 50; ++i) {
    Name const name("n" + std::to_string(i));
    auto const holder = owner(*engine);
    auto const waiter = owner(*engine);
    take(*engine, name, holder);
    LeaseRequest request({name}, waiter, 60s);
    request.stand_in_line = true;
    EXPECT_FALSE(run(engine->leases().acquire(request, soon())));
    EXPECT_TRUE(release(*engine, name, holder));
    EXPECT_TRUE(release(*engine, name, waiter));
  }
  EXPECT_EQ(sql("SELECT count(*) FROM lease WHERE name <> ''"), 0);
  EXPECT_EQ(sql("SELECT count(*) FROM ticket"), 0);
  EXPECT_EQ(sql("SELECT count(*) FROM lease"), 1) << "the counter";
}

TEST_F(SqliteLeftovers, WhatEndedLongAgoIsSweptWithTheCounterLeftAlone) {
  auto const engine = open();
  take(*engine, "ended", owner(*engine), 1s);
  LeaseRequest waiting({"ended"}, owner(*engine), 1s);
  waiting.stand_in_line = true;
  EXPECT_FALSE(run(engine->leases().acquire(waiting, soon())));
  RecordWrite brief("brief", "v");
  brief.ttl = 1s;
  EXPECT_TRUE(run(engine->records().put(brief, soon())));
  env_.advance(2h);
  auto const before = take(*engine, "live", owner(*engine));
  EXPECT_EQ(sql("SELECT count(*) FROM lease WHERE name <> ''"), 2);
  sql("UPDATE lease SET fence = (fence / 4096 + 1) * 4096 - 1 WHERE name = '';"
      "UPDATE record_version SET value = (value / 4096 + 1) * 4096 - 1");
  auto const sweeping = take(*engine, "sweeping", owner(*engine));
  EXPECT_TRUE(run(engine->records().put(RecordWrite("forever", "v"), soon())));
  EXPECT_EQ(sweeping.value() % 4096, 0U);
  EXPECT_GT(sweeping, before);
  EXPECT_EQ(sql("SELECT count(*) FROM lease WHERE name <> ''"), 2);
  EXPECT_EQ(sql("SELECT count(*) FROM lease WHERE name = 'ended'"), 0);
  EXPECT_EQ(sql("SELECT count(*) FROM ticket"), 0);
  EXPECT_EQ(sql("SELECT count(*) FROM record"), 1);
  EXPECT_EQ(take(*engine, "next", owner(*engine)).value(), sweeping.value() + 1);
}

TEST_F(SqliteLeftovers, AnInboxGoesWithItsClientAndStaleOnesAreSwept) {
  auto const engine = open();
  engine->signals().listen();
  auto const inboxes = [&] {
    return std::distance(fs::directory_iterator(file() + ".inbox"), fs::directory_iterator());
  };
  {
    auto const other = open();
    other->signals().listen();
    EXPECT_EQ(inboxes(), 2);
  }
  EXPECT_EQ(inboxes(), 1);
}

}  // namespace
}  // namespace holt::test
