// SPDX-License-Identifier: Apache-2.0
// Programs of two versions on one store: a migration adds, and those who do not know it go on.
// There is no future version to run, so its migration is played in SQL.

#include "postgres/caller.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <fstream>
#include <functional>
#include <span>
#include <sstream>
#include <thread>

namespace holt::test {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

/// The texts of all migrations, in order.
std::vector<std::string> migration_texts() {
  std::vector<fs::path> files;
  for (auto const& entry :
       fs::directory_iterator(fs::path(HOLT_POSTGRES_ROLES).parent_path() / "migrations")) {
    files.push_back(entry.path());
  }
  std::ranges::sort(files);
  std::vector<std::string> texts;
  for (auto const& file : files) {
    std::stringstream text;
    text << std::ifstream(file).rdbuf();
    texts.push_back(text.str());
  }
  return texts;
}

std::string replaced(std::string text, std::string const& schema) {
  constexpr std::string_view mark = "@schema@";
  for (auto at = text.find(mark); at != std::string::npos; at = text.find(mark, at)) {
    text.replace(at, mark.size(), schema);
  }
  return text;
}

/// Does the same over and over on a thread of its own.
class BusyProgram {
 public:
  /// It works already when this returns.
  explicit BusyProgram(std::function<void()> round) : round_(std::move(round)) {
    worker_ = std::jthread([this](std::stop_token const& stop) { work(stop); });
    did_more();
  }

  /// Lets it go on for a while; what went wrong until then, empty: nothing.
  std::string finish() {
    bool const went_on = did_more();
    worker_.request_stop();
    worker_.join();
    return went_on || failed_ ? trouble_ : "it did not go on";
  }

 private:
  void work(std::stop_token const& stop) {
    try {
      for (; !stop.stop_requested(); ++rounds_) round_();
    } catch (std::exception const& error) {
      trouble_ = error.what();
      failed_ = true;
    }
  }
  bool did_more() {
    auto const before = rounds_.load();
    return wait_until([&] { return rounds_ >= before + 3 || failed_; }) && !failed_;
  }

  std::function<void()> round_;
  std::atomic<int> rounds_ = 0;
  std::atomic<bool> failed_ = false;
  std::string trouble_;
  std::jthread worker_;
};

class PostgresVersions : public OnOneServer {
 protected:
  std::string sql(std::string const& text) const { return server().query(replaced(text, schema_)); }
  [[nodiscard]] int version() const { return std::stoi(sql("SELECT version FROM @schema@.meta")); }
  [[nodiscard]] int newest() const { return static_cast<int>(migration_texts().size()); }

  /// As the next version would: columns, a table, a function with a new name.
  void migrate_to_the_future(int min_reader) const {
    sql(fmt::format(
        "BEGIN;"
        "ALTER TABLE @schema@.lease ADD COLUMN tenant text NOT NULL DEFAULT 'nobody';"
        "ALTER TABLE @schema@.ticket ADD COLUMN tenant text NOT NULL DEFAULT 'nobody';"
        "ALTER TABLE @schema@.record ADD COLUMN tenant text NOT NULL DEFAULT 'nobody';"
        "CREATE TABLE @schema@.tenant (name text PRIMARY KEY);"
        "CREATE FUNCTION @schema@.acquire_for(_tenant text, _name text, _owner text)"
        "  RETURNS text LANGUAGE plpgsql AS $$ DECLARE _fence text; BEGIN"
        "  _fence := (SELECT a.granted FROM @schema@.acquire('default', 1000, '{{1}}',"
        "    ARRAY[_name], ARRAY[_owner], '{{60000000}}', '{{0}}', '{{f}}', '{{60000000}}', "
        "'{{0}}',"
        "    '{{\"\"}}', '{{\"\"}}', '{{f}}') AS a);"
        "  UPDATE @schema@.lease SET tenant = _tenant WHERE name = _name AND _fence IS NOT NULL;"
        "  RETURN _fence; END $$;"
        "UPDATE @schema@.meta SET version = {}, min_reader = {};"
        "COMMIT",
        newest() + 1, min_reader));
  }
};

TEST_F(PostgresVersions, AnOldProgramGoesOnWhileANewerOneMigratesAndAfterwards) {
  PostgresCaller old(url_);
  auto const holder = old.owner();
  auto const held = old.take("held", holder);
  Fence last = held;
  BusyProgram busy([&] {
    auto const owner = old.owner();
    auto const fence = old.take("a", owner);
    if (fence <= last) throw std::runtime_error("the fence did not grow");
    last = fence;
    bool const kept = old.renew("a", owner) && old.renew("held", holder);
    if (!kept || !old.release("a", owner)) throw std::runtime_error("a lease is lost");
    if (!old.put("k", "v")) throw std::runtime_error("a record cannot be written");
  });
  migrate_to_the_future(1);
  EXPECT_EQ(busy.finish(), "");
  EXPECT_EQ(old.find("held")->fence, held);

  // A program that does not know the new version may come, too; and it takes nothing back.
  PostgresCaller another(url_);
  EXPECT_EQ(version(), newest() + 1);
  EXPECT_FALSE(another.acquire("held", another.owner()));
  EXPECT_GT(another.take("b", another.owner()), last);
  EXPECT_EQ(another.list().leases.size(), 2U);
}

TEST_F(PostgresVersions, OldAndNewExcludeEachOtherAndKeepEachOthersColumns) {
  PostgresCaller old(url_);
  migrate_to_the_future(1);
  auto const newer = old.owner();  // as far as its text goes
  auto const grant = [&](Owner const& owner) {
    return sql("SELECT @schema@.acquire_for('acme', 'a', '" + owner.text() + "')");
  };
  Fence const fence(std::stoull(grant(newer)));
  auto const busy = old.acquire("a", old.owner());
  ASSERT_FALSE(busy);
  EXPECT_EQ(busy.error().fence, fence);
  EXPECT_TRUE(old.renew("a", newer)) << "the old program renews what the new one took";
  EXPECT_EQ(sql("SELECT tenant FROM @schema@.lease WHERE name = 'a'"), "acme");
  EXPECT_TRUE(old.release("a", newer));
  auto const taken = old.owner();
  EXPECT_GT(old.take("a", taken), fence);
  EXPECT_EQ(grant(newer), "") << "and the new one is kept out";
  EXPECT_TRUE(old.release("a", taken));
  EXPECT_NE(grant(newer), "");
}

TEST_F(PostgresVersions, AStoreThatIsNotForThisProgramIsRefusedWithBothNumbers) {
  PostgresCaller running(url_);
  migrate_to_the_future(newest() + 1);
  for (auto const* option : {"", "&migrate=no"}) {
    auto const error = error_of([&] { PostgresCaller late(url_ + option); });
    ASSERT_TRUE(error);
    EXPECT_EQ(error->code(), ErrorCode::invalid_argument);
    EXPECT_EQ(error->outcome(), Outcome::not_applied);
    EXPECT_THAT(error->what(), HasSubstr(fmt::format("for programs that know migration {}; this "
                                                     "one knows {}",
                                                     newest() + 1, newest())));
    EXPECT_THAT(error->hint(), HasSubstr("newer Holt"));
  }
}

/// The store of the version before, with a program of that version at work in it.
class PostgresOlderStore : public PostgresVersions {
 protected:
  PostgresOlderStore() {
    sql("CREATE SCHEMA @schema@");
    auto const texts = migration_texts();
    for (auto const& text : std::span(texts).first(texts.size() - 1)) sql(text);
  }
  /// Takes a name and lets it go, with the functions of that version.
  [[nodiscard]] bool take_and_release() const {
    return sql("SELECT a.granted IS NOT NULL FROM @schema@.acquire('default', 1000, '{1}', '{old}',"
               "'{old.1}', '{60000000}', '{0}', '{f}', '{60000000}', '{0}', '{\"\"}', '{\"\"}',"
               "'{f}') AS a") == "t" &&
           sql("SELECT r FROM @schema@.release('default', 1000, '{old}', '{old.1}') AS r") == "1";
  }
};

TEST_F(PostgresOlderStore, IsMigratedByANewProgramWhileTheOldOneGoesOn) {
  ASSERT_EQ(version(), newest() - 1);
  auto const refused = error_of([&] { PostgresCaller closed(url_ + "&migrate=no"); });
  ASSERT_TRUE(refused);
  EXPECT_THAT(refused->what(), HasSubstr(fmt::format("is of version {}, and this program needs {}",
                                                     newest() - 1, newest())));
  EXPECT_THAT(refused->hint(), HasSubstr("holt migrate"));
  BusyProgram old([&] {
    if (!take_and_release()) throw std::runtime_error("not granted, or lost");
  });
  PostgresCaller caller(url_);
  EXPECT_EQ(version(), newest());
  caller.take("new", caller.owner());
  EXPECT_EQ(old.finish(), "");
}

TEST_F(PostgresOlderStore, IsLeftAsItIsWhenATableCannotBeHad) {
  std::jthread user([&] {
    try {
      sql("BEGIN; SELECT FROM @schema@.meta FOR UPDATE; SELECT pg_sleep(30); ROLLBACK");
    } catch (std::runtime_error const&) {  // it is ended below
    }
  });
  ASSERT_TRUE(wait_until([&] {
    return sql("SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'PgSleep'") == "1";
  }));
  auto const start = BootClock::now();
  auto const error = error_of([&] { PostgresCaller caller(url_); });
  ASSERT_TRUE(error);
  EXPECT_LT(BootClock::now() - start, 20s) << "whoever uses the store queues behind it";
  EXPECT_TRUE(error->retryable()) << error->what();
  EXPECT_EQ(version(), newest() - 1);
  EXPECT_TRUE(take_and_release());
  sql("SELECT pg_cancel_backend(pid) FROM pg_stat_activity WHERE wait_event = 'PgSleep'");
  static_cast<void>(wait_until([&] { return !error_of([&] { PostgresCaller caller(url_); }); }));
  EXPECT_EQ(version(), newest());
  user.join();
}

}  // namespace
}  // namespace holt::test
