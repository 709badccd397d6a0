// SPDX-License-Identifier: Apache-2.0
// The file itself: not ours, damaged, from another version or another boot, deleted under us.

#include "contract/sqlite_fixture.hpp"

#include <gmock/gmock.h>

#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <future>
#include <thread>

namespace holt::test {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

class SqliteFile : public SqliteTest {
 protected:
  std::optional<EngineError> refused() {
    return thrown<EngineError>([this] { static_cast<void>(open()); });
  }
};

TEST_F(SqliteFile, OfAnotherProgramIsRefusedAndLeftAsItIs) {
  sql("CREATE TABLE customers(name); INSERT INTO customers VALUES ('ann');");
  auto const before = contents(file());
  auto const error = refused();
  EXPECT_THAT(error->what(), HasSubstr("not a Holt store"));
  EXPECT_EQ(error->code(), ErrorCode::invalid_argument);
  EXPECT_EQ(contents(file()), before);
  EXPECT_EQ(sql("SELECT count(*) FROM customers"), 1);
}

TEST_F(SqliteFile, OfAnotherProgramInWalModeOrWithAnIdIsRefusedToo) {
  sql("PRAGMA journal_mode = WAL; CREATE TABLE meta(a); PRAGMA application_id = 77;");
  EXPECT_THAT(refused()->what(), HasSubstr("not a Holt store"));
  EXPECT_EQ(sql("PRAGMA application_id"), 77);
}

TEST_F(SqliteFile, ThatIsNoDatabaseIsRefusedWithAWayOut) {
  std::ofstream(file()) << std::string(10'000, 'x');
  auto const error = refused();
  EXPECT_EQ(error->code(), ErrorCode::internal);
  EXPECT_THAT(error->hint(), HasSubstr("move the file"));
  EXPECT_EQ(contents(file()), std::string(10'000, 'x'));
}

TEST_F(SqliteFile, ThatIsDamagedIsRefusedWithAWayOut) {
  {
    auto const engine = open();
    for (int i = 0; i < 300; ++i) take(*engine, Name("n" + std::to_string(i)), owner(*engine));
  }
  sql("PRAGMA wal_checkpoint(TRUNCATE)");
  auto const size = fs::file_size(file());
  std::fstream damage(file(), std::ios::in | std::ios::out | std::ios::binary);
  damage.seekp(4096);
  damage << std::string(size - 4096, '\xff');
  damage.close();
  auto const error = thrown<EngineError>([this] {
    auto const engine = open();
    take(*engine, "a", owner(*engine));
  });
  EXPECT_EQ(error->code(), ErrorCode::internal);
  EXPECT_THAT(error->hint(), HasSubstr("move the file"));
}

TEST_F(SqliteFile, ThatIsEmptyBecomesAStore) {
  std::ofstream(file()).close();
  auto const engine = open();
  take(*engine, "a", owner(*engine));
}

TEST_F(SqliteFile, ThatWasMadeHalfwayBecomesAStore) {
  sql("PRAGMA journal_mode = WAL");
  auto const engine = open();
  take(*engine, "a", owner(*engine));
}

TEST_F(SqliteFile, ThatLostItsTablesIsDamaged) {
  {
    auto const engine = open();
  }
  sql("DROP TABLE meta");
  EXPECT_THAT(refused()->what(), HasSubstr("damaged"));
}

TEST_F(SqliteFile, OfANewerHoltIsUsedIfThatAllowsIt) {
  {
    auto const engine = open();
  }
  sql("UPDATE meta SET version = 99");
  auto const engine = open();
  take(*engine, "a", owner(*engine));
  EXPECT_EQ(sql("SELECT version FROM meta"), 99);
}

TEST_F(SqliteFile, OfANewerHoltIsRefusedIfThatSaysSo) {
  {
    auto const engine = open();
  }
  sql("UPDATE meta SET version = 99, min_reader = 98");
  auto const error = refused();
  EXPECT_THAT(error->what(), HasSubstr("98"));
  EXPECT_THAT(error->hint(), HasSubstr("upgrade Holt"));
}

TEST_F(SqliteFile, IsReadyForUseAndNotWrittenAtASecondOpen) {
  {
    auto const engine = open();
  }
  auto const log = fs::file_size(file() + "-wal");
  for (int i = 0; i < 5; ++i) {
    auto const engine = open();
  }
  EXPECT_EQ(fs::file_size(file() + "-wal"), log);
}

TEST_F(SqliteFile, GoesBackToItsLogModeIfSomebodyChangedIt) {
  {
    auto const engine = open();
  }
  sql("PRAGMA journal_mode = DELETE");
  auto const engine = open();
  take(*engine, "a", owner(*engine));
  EXPECT_TRUE(fs::exists(file() + "-wal"));
}

TEST_F(SqliteFile, OfAnotherBootHasNoLeasesAndFencesFarAbove) {
  Fence before;
  Owner waiting;
  {
    auto const engine = open();
    before = take(*engine, "a", owner(*engine));
    waiting = owner(*engine);
    LeaseRequest request({"a"}, waiting, 60s);
    request.stand_in_line = true;
    EXPECT_FALSE(run(engine->leases().acquire(request, soon())));
    RecordWrite forever("forever", "v");
    RecordWrite briefly("briefly", "v");
    briefly.ttl = 1h;
    EXPECT_TRUE(run(engine->records().put(forever, soon())));
    EXPECT_TRUE(run(engine->records().put(briefly, soon())));
  }
  env_.reboot("another-boot");
  auto const engine = open();
  EXPECT_FALSE(run(engine->leases().find("a", soon())));
  EXPECT_TRUE(run(engine->records().get("forever", soon())));
  EXPECT_FALSE(run(engine->records().get("briefly", soon())));
  EXPECT_EQ(sql("SELECT count(*) FROM ticket"), 0);
  auto const after = take(*engine, "a", owner(*engine));
  EXPECT_GE(after.value(), before.value() + (std::uint64_t{1} << 32U));
  EXPECT_LT(after.value(), before.value() + (std::uint64_t{1} << 33U));
}

TEST_F(SqliteFile, OfTheSameBootKeepsItsLeases) {
  Owner holder;
  {
    auto const engine = open();
    holder = owner(*engine);
    take(*engine, "a", holder);
  }
  auto const engine = open();
  EXPECT_EQ(run(engine->leases().find("a", soon()))->owner, holder);
}

class SqliteGone : public SqliteTest {
 protected:
  /// Engine with somebody who listens for the end of the file.
  std::unique_ptr<Engine> opened() {
    auto engine = open();
    engine->on_gone([this](std::string const& reason) {
      if (calls_.fetch_add(1) == 0) reason_.set_value(reason);
    });
    return engine;
  }
  void expect_gone(Engine& engine) {
    std::this_thread::sleep_for(2ms);  // it looks once a millisecond
    for (int i = 0; i < 2; ++i) {
      auto const error = thrown<EngineError>([&] { take(engine, "b", owner(engine)); });
      EXPECT_EQ(error->code(), ErrorCode::service_unavailable);
      EXPECT_EQ(error->outcome(), Outcome::not_applied);
      EXPECT_THAT(error->what(), HasSubstr("deleted or replaced"));
    }
    EXPECT_THROW(static_cast<void>(run(engine.leases().find("a", soon()))), EngineError);
    EXPECT_THROW(static_cast<void>(run(engine.records().add("c", 1, soon()))), EngineError);
    EXPECT_THAT(reason_.get_future().get(), HasSubstr(file()));
    EXPECT_EQ(calls_, 1);
  }

  std::atomic<int> calls_{0};
  std::promise<std::string> reason_;
};

TEST_F(SqliteGone, DeletedFilesFailEveryCall) {
  auto const engine = opened();
  take(*engine, "a", owner(*engine));
  fs::remove(file());
  expect_gone(*engine);
}

TEST_F(SqliteGone, ReplacedFilesFailEveryCall) {
  auto const engine = opened();
  take(*engine, "a", owner(*engine));
  fs::rename(file(), folder_.file("away.db"));
  auto const other = open();
  expect_gone(*engine);
  take(*other, "a", owner(*other));
}

TEST_F(SqliteGone, AFileMovedWithItsFolderFailsEveryCall) {
  auto const path = folder_.file("store/holt.db");
  auto const engine = open_engine(env_, {path, "default"});
  take(*engine, "a", owner(*engine));
  fs::rename(folder_.file("store"), folder_.file("elsewhere"));
  std::this_thread::sleep_for(2ms);
  EXPECT_THROW(take(*engine, "b", owner(*engine)), EngineError);
}

TEST_F(SqliteGone, WhoListensHearsOfItWithoutAsking) {
  auto const engine = opened();
  engine->signals().listen();
  fs::remove(file());
  auto heard = reason_.get_future();
  ASSERT_EQ(heard.wait_for(10s), std::future_status::ready);
  EXPECT_THAT(heard.get(), HasSubstr("deleted or replaced"));
}

TEST_F(SqliteGone, WhoBeginsToListenHearsWhatHappenedBefore) {
  auto const engine = opened();
  fs::rename(file(), folder_.file("away.db"));
  auto const other = open();
  engine->signals().listen();
  auto heard = reason_.get_future();
  ASSERT_EQ(heard.wait_for(10s), std::future_status::ready);
}

TEST_F(SqliteGone, WhoBeginsToListenHearsThatTheFolderIsGone) {
  auto const engine = opened();
  fs::remove_all(folder_.path());
  EXPECT_THROW(engine->signals().listen(), EngineError);
  auto heard = reason_.get_future();
  ASSERT_EQ(heard.wait_for(10s), std::future_status::ready);
}

TEST_F(SqliteGone, ATouchedFileIsNotGone) {
  auto const engine = opened();
  engine->signals().listen();
  fs::last_write_time(file(), fs::file_time_type::clock::now());
  fs::permissions(file(), fs::perms::owner_read | fs::perms::owner_write);
  take(*engine, "a", owner(*engine));
  EXPECT_EQ(calls_, 0);
}

TEST_F(SqliteGone, ANewStoreInItsPlaceHasHigherFences) {
  Fence before;
  {
    auto const engine = open();
    for (int i = 0; i < 10; ++i) {
      auto const by = owner(*engine);
      before = take(*engine, "a", by);
      release(*engine, "a", by);
    }
  }
  for (auto const* suffix : {"", "-wal", "-shm"}) fs::remove(file() + suffix);
  auto const engine = open();
  EXPECT_GT(take(*engine, "a", owner(*engine)), before);
}

TEST_F(SqliteGone, AForkedChildIsToldAndDoesNoHarm) {
  auto engine = open();
  engine->signals().listen();
  auto const holder = owner(*engine);
  take(*engine, "a", holder);
  auto const child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    int status = 1;
    try {
      take(*engine, "b", holder);
    } catch (EngineError const& error) {
      status = error.code() == ErrorCode::aborted ? 0 : 2;
    }
    engine.reset();
    ::_exit(status);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  EXPECT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 0);
  EXPECT_TRUE(release(*engine, "a", holder));
  auto const other = open();
  EXPECT_EQ(other->signals().send(engine->signals().inbox(), {"x", "y"}), Delivery::sent);
}

}  // namespace
}  // namespace holt::test
