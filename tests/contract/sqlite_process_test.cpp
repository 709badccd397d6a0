// SPDX-License-Identifier: Apache-2.0
// Several processes on one file, and machines that run out of something.

#include "contract/sqlite_fixture.hpp"
#include "engines/sqlite/schema.hpp"
#include "engines/sqlite/store_file.hpp"
#include "engines/sqlite/writer.hpp"
#include "sqlite_sql.hpp"
#include "support/other_process.hpp"

#include <gmock/gmock.h>

#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <thread>

namespace holt::test {
namespace {

namespace fs = std::filesystem;
using testing::AnyOf;
using testing::HasSubstr;

constexpr auto token = "0123456789012345678901";

/// The writer of a store, without the engine around it.
struct BareWriter {
  explicit BareWriter(std::string const& path)
      : place(sqlite::prepare(sqlite::parse_place(path))),
        file(env, place.path),
        writer(env, file, place, sqlite::open_store(env, place)) {}

  RealEnv env;
  sqlite::Place place;
  sqlite::StoreFile file;
  sqlite::Writer writer;
};

/// Adds one to the counter of this process, and to the one that all share.
class CountStep final : public sqlite::Step {
 public:
  CountStep(std::string const& own, Instant deadline) : Step("count", deadline), own_(own) {}
  void run(sqlite::Connection& store) override {
    add(store, own_);
    add(store, "all");
  }

 private:
  static void add(sqlite::Connection& store, std::string const& key) {
    sqlite::Query row(store, sqlite::sql::counter_add, "test", key, 1);
    static_cast<void>(row.next());
  }
  std::string const& own_;
};

class StopStep final : public sqlite::Step {
 public:
  explicit StopStep(Instant deadline) : Step("stop", deadline) {}
  void run(sqlite::Connection&) override { ::raise(SIGSTOP); }
};

class SqliteProcesses : public SqliteTest {};

/// Counts for a while and writes down how often it did.
TEST(SqliteOtherProcess, DISABLED_Counts) {
  auto const settings = other_process_settings();
  auto const& own = settings.at("key");
  BareWriter store(settings.at("file"));
  auto const end = store.env.now() + std::chrono::seconds(std::stoi(settings.at("seconds")));
  std::int64_t count = 0;
  while (store.env.now() < end) {
    CountStep step(own, store.env.now() + 10s);
    run(store.writer.run(step));
    ++count;
  }
  std::ofstream(settings.at("file") + "." + own) << count;
}

/// SQLite 3.40 loses commits when a checkpoint runs beside a writer; the way we do it must not.
TEST_F(SqliteProcesses, CheckpointsBesideWritersLoseNothing) {
  {
    auto const engine = open();
  }
  std::vector<std::string> const keys{"one", "two", "three"};
  std::vector<OtherProcess> processes;
  for (auto const& key : keys) {
    processes.emplace_back("SqliteOtherProcess.DISABLED_Counts",
                           Settings{{"file", file()}, {"key", key}, {"seconds", "8"}});
  }
  for (auto& process : processes) EXPECT_EQ(process.wait(), 0);
  std::int64_t total = 0;
  for (auto const& key : keys) {
    auto const counted = std::stoll(contents(file() + "." + key));
    EXPECT_EQ(sql("SELECT value FROM counter WHERE key = '" + key + "'"), counted);
    total += counted;
  }
  EXPECT_GT(total, 1000);
  EXPECT_EQ(sql("SELECT value FROM counter WHERE key = 'all'"), total);
  EXPECT_EQ(sql("SELECT count(*) FROM pragma_integrity_check WHERE integrity_check = 'ok'"), 1);
  // A checkpoint is due every 4 MiB, but the log starts over only when nobody reads it, and on a
  // crowded machine a reader may have to wait for the processor. Some hundred MiB were written.
  EXPECT_LT(fs::file_size(file() + "-wal"), 64U * 1024 * 1024);
}

/// Opens a store that may not exist yet, at the same time as others.
TEST(SqliteOtherProcess, DISABLED_OpensAndTakes) {
  auto const settings = other_process_settings();
  RealEnv env;
  auto const engine = open_engine(env, {settings.at("file"), "default"});
  Owner const by(engine->signals().inbox(), token);
  Name const name(settings.at("name"));
  ASSERT_TRUE(run(engine->leases().acquire(LeaseRequest({name}, by, 60s), env.now() + 10s)));
}

TEST_F(SqliteProcesses, MayAllMakeTheStoreAtOnce) {
  for (int round = 0; round < 3; ++round) {
    auto const path = folder_.file("round" + std::to_string(round) + "/holt.db");
    std::vector<OtherProcess> processes;
    for (int i = 0; i < 6; ++i) {
      processes.emplace_back("SqliteOtherProcess.DISABLED_OpensAndTakes",
                             Settings{{"file", path}, {"name", "n" + std::to_string(i)}});
    }
    for (auto& process : processes) EXPECT_EQ(process.wait(), 0);
    EXPECT_EQ(sql_on(path, "SELECT count(*) FROM lease WHERE name <> ''"), 6);
  }
}

TEST(SqliteOtherProcess, DISABLED_StopsInsideATransaction) {
  BareWriter store(other_process_settings().at("file"));
  StopStep step(store.env.now() + 10s);
  run(store.writer.run(step));
}

TEST_F(SqliteProcesses, OneThatIsStoppedInsideATransactionIsNamed) {
  auto const engine = open();
  OtherProcess stopped("SqliteOtherProcess.DISABLED_StopsInsideATransaction", {{"file", file()}});
  ASSERT_TRUE(stopped.wait_until_stopped());
  auto const start = env_.now();
  auto const error = thrown<EngineError>([&] {
    static_cast<void>(run(
        engine->leases().acquire(LeaseRequest({"a"}, owner(*engine), 60s), env_.now() + 300ms)));
  });
  EXPECT_LT(env_.now() - start, 5s);
  EXPECT_EQ(error->outcome(), Outcome::not_applied);
  EXPECT_TRUE(error->retryable());
  EXPECT_THAT(error->what(), HasSubstr("process " + std::to_string(stopped.pid())));
  EXPECT_THAT(error->what(), HasSubstr("stopped"));
  EXPECT_THAT(error->hint(), HasSubstr("kill -CONT " + std::to_string(stopped.pid())));
  EXPECT_FALSE(run(engine->leases().find("a", soon())));
  stopped.signal(SIGCONT);
  EXPECT_EQ(stopped.wait(), 0);
  take(*engine, "a", owner(*engine));
}

TEST_F(SqliteProcesses, OneThatIsKilledInsideATransactionLeavesNothing) {
  auto const engine = open();
  {
    OtherProcess killed("SqliteOtherProcess.DISABLED_StopsInsideATransaction", {{"file", file()}});
    ASSERT_TRUE(killed.wait_until_stopped());
  }
  take(*engine, "a", owner(*engine));
}

/// A waiter whose process is killed is skipped at once: nobody holds its socket any more.
TEST(SqliteOtherProcess, DISABLED_WaitsAndStops) {
  auto const settings = other_process_settings();
  RealEnv env;
  auto const engine = open_engine(env, {settings.at("file"), "default"});
  LeaseRequest request({"a"}, Owner(engine->signals().inbox(), token), 60s);
  request.stand_in_line = true;
  ASSERT_FALSE(run(engine->leases().acquire(request, env.now() + 10s)));
  ::raise(SIGSTOP);
}

TEST_F(SqliteProcesses, AWaiterThatWasKilledIsSkipped) {
  auto const engine = open();
  auto const holder = owner(*engine);
  take(*engine, "a", holder);
  {
    OtherProcess killed("SqliteOtherProcess.DISABLED_WaitsAndStops", {{"file", file()}});
    ASSERT_TRUE(killed.wait_until_stopped());
    EXPECT_EQ(run(engine->leases().find("a", soon()))->waiting, 1U);
  }
  EXPECT_TRUE(release(*engine, "a", holder));
  EXPECT_FALSE(run(engine->leases().find("a", soon())));
}

class SqliteShortage : public SqliteTest {};

TEST(SqliteOtherProcess, DISABLED_HasNoDescriptors) {
  auto const settings = other_process_settings();
  RealEnv env;
  auto const engine = open_engine(env, {settings.at("file"), "default"});
  // UBSan needs descriptors when it sees a type for the first time: here it sees all of them.
  auto const seen = open_engine(env, {settings.at("file") + "-seen", "default"});
  static_cast<void>(run(seen->leases().find("a", env.now() + 5s)));
  static_cast<void>(thrown<EngineError>([] {
                      throw EngineError(ErrorCode::internal, Outcome::not_applied, "", "", "");
                    })->hint());
  Owner const by(engine->signals().inbox(), token);
  ASSERT_TRUE(run(engine->leases().acquire(LeaseRequest({"a"}, by, 60s), env.now() + 5s)));
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before), 0);
  auto const next = ::dup(0);
  rlimit const none{static_cast<rlim_t>(next), before.rlim_max};
  ::close(next);
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &none), 0);
  auto const listening = thrown<EngineError>([&] { engine->signals().listen(); });
  auto const opening =
      thrown<EngineError>([&] { static_cast<void>(open_engine(env, {settings.at("file"), "x"})); });
  auto const reading = thrown<EngineError>(
      [&] { static_cast<void>(run(engine->leases().find("a", env.now() + 5s))); });
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &before), 0);
  EXPECT_THAT(listening->hint(), HasSubstr("ulimit -n"));
  EXPECT_THAT(opening->hint(), HasSubstr("ulimit -n"));
  EXPECT_EQ(reading->outcome(), Outcome::not_applied);
}

TEST_F(SqliteShortage, OfDescriptorsIsSaidClearly) {
  OtherProcess process("SqliteOtherProcess.DISABLED_HasNoDescriptors", {{"file", file()}});
  EXPECT_EQ(process.wait(), 0);
}

/// On a disk of its own with 256 kB: fills it, sees the error, makes room, goes on.
TEST(SqliteOtherProcess, DISABLED_FillsItsDisk) {
  auto const folder = other_process_settings().at("folder");
  if (::unshare(CLONE_NEWNS) != 0) std::exit(77);
  if (::mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0) std::exit(77);
  if (::mount("none", folder.c_str(), "tmpfs", 0, "size=256k") != 0) std::exit(77);
  RealEnv env;
  auto const engine = open_engine(env, {folder + "/holt.db", "default"});
  Owner const by(engine->signals().inbox(), token);
  std::optional<EngineError> full;
  for (int i = 0; i < 1000 && !full; ++i) {
    try {
      Name const name(std::to_string(i));
      static_cast<void>(
          run(engine->leases().acquire(LeaseRequest({name}, by, 60s), env.now() + 5s)));
    } catch (EngineError const& error) {
      full = error;
    }
  }
  ASSERT_TRUE(full);
  EXPECT_EQ(full->code(), ErrorCode::service_unavailable);
  EXPECT_EQ(full->outcome(), Outcome::not_applied);
  EXPECT_TRUE(full->retryable());
  EXPECT_THAT(full->hint(), HasSubstr("make room"));
  EXPECT_TRUE(run(engine->leases().find("0", env.now() + 5s)));
  ASSERT_EQ(::mount("none", folder.c_str(), "tmpfs", MS_REMOUNT, "size=4m"), 0);
  EXPECT_TRUE(run(engine->leases().release("0", by, env.now() + 5s)));
  EXPECT_TRUE(run(engine->leases().acquire(LeaseRequest({"after"}, by, 60s), env.now() + 5s)));
}

TEST_F(SqliteShortage, OfDiskIsSaidClearlyAndEnds) {
  OtherProcess process("SqliteOtherProcess.DISABLED_FillsItsDisk", {{"folder", folder_.path()}});
  auto const status = process.wait();
  if (status == 77) GTEST_SKIP() << "this user may not mount";
  EXPECT_EQ(status, 0);
}

/// A write that the system refuses at COMMIT: nobody knows what reached the disk.
TEST(SqliteOtherProcess, DISABLED_CannotWriteMore) {
  auto const settings = other_process_settings();
  ::signal(SIGXFSZ, SIG_IGN);
  RealEnv env;
  auto const engine = open_engine(env, {settings.at("file"), "default"});
  Owner const by(engine->signals().inbox(), token);
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &before), 0);
  rlimit limit = before;
  limit.rlim_cur = 40'000;
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &limit), 0);
  std::optional<EngineError> failed;
  for (int i = 0; i < 100 && !failed; ++i) {
    try {
      static_cast<void>(run(engine->leases().acquire(
          LeaseRequest({Name("n" + std::to_string(i))}, by, 60s), env.now() + 5s)));
    } catch (EngineError const& error) {
      failed = error;
    }
  }
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &before), 0);
  ASSERT_TRUE(failed);
  EXPECT_EQ(failed->outcome(), Outcome::unknown);
  EXPECT_EQ(failed->code(), ErrorCode::service_unavailable);
  EXPECT_TRUE(run(engine->leases().acquire(LeaseRequest({"after"}, by, 60s), env.now() + 5s)));
}

TEST_F(SqliteShortage, AFailedWriteIsUnknownAndTheNextCallWorks) {
  OtherProcess process("SqliteOtherProcess.DISABLED_CannotWriteMore", {{"file", file()}});
  EXPECT_EQ(process.wait(), 0);
}

/// As a user who may read the file and no more.
TEST(SqliteOtherProcess, DISABLED_MayOnlyRead) {
  auto const settings = other_process_settings();
  if (::geteuid() == 0 && ::setuid(65534) != 0) std::exit(77);
  RealEnv env;
  auto const error =
      thrown<EngineError>([&] { static_cast<void>(open_engine(env, {settings.at("file"), "x"})); });
  EXPECT_EQ(error->code(), ErrorCode::auth_failed);
  EXPECT_FALSE(error->hint().empty());
}

TEST_F(SqliteShortage, OfPermissionsIsSaidClearly) {
  {
    auto const engine = open();
  }
  ::chmod(folder_.path().c_str(), 0755);
  ::chmod(file().c_str(), 0444);
  OtherProcess process("SqliteOtherProcess.DISABLED_MayOnlyRead", {{"file", file()}});
  EXPECT_THAT(process.wait(), AnyOf(0, 77));
  auto const locked = folder_.file("locked");
  fs::create_directory(locked);
  OtherProcess other("SqliteOtherProcess.DISABLED_MayOnlyRead", {{"file", locked + "/x.db"}});
  EXPECT_THAT(other.wait(), AnyOf(0, 77));
}

}  // namespace
}  // namespace holt::test
