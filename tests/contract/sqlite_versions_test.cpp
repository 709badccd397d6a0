// SPDX-License-Identifier: Apache-2.0
// Programs of two versions on one file: a migration adds, and those who do not know it go on. There
// is no future version to run, so its migration is played in SQL.

#include "contract/sqlite_fixture.hpp"
#include "engines/sqlite/engine.hpp"

#include <gmock/gmock.h>

#include <filesystem>

namespace holt::test {
namespace {

using testing::HasSubstr;

class SqliteVersions : public SqliteTest {
 protected:
  /// As the next version would: columns, a table.
  void migrate_to_the_future(int min_reader) const {
    sql("BEGIN IMMEDIATE;"
        "ALTER TABLE lease ADD COLUMN tenant TEXT NOT NULL DEFAULT 'nobody';"
        "ALTER TABLE ticket ADD COLUMN tenant TEXT NOT NULL DEFAULT 'nobody';"
        "ALTER TABLE record ADD COLUMN tenant TEXT NOT NULL DEFAULT 'nobody';"
        "CREATE TABLE tenant (name TEXT PRIMARY KEY);"
        "UPDATE meta SET version = 99, min_reader = " +
        std::to_string(min_reader) + "; COMMIT");
  }
  /// A lease as the next version would take it.
  [[nodiscard]] bool is_of_tenant(std::string const& name) const {
    return sql("SELECT count(*) FROM lease WHERE tenant = 'acme' AND name = '" + name + "'") == 1;
  }
};

TEST_F(SqliteVersions, AnOldProgramGoesOnAfterANewerOneHasMigrated) {
  auto const old = open();
  auto const holder = owner(*old);
  auto const fence = take(*old, "held", holder);
  migrate_to_the_future(1);
  sql("UPDATE lease SET tenant = 'acme' WHERE name = 'held'");
  std::vector<LeaseRenewal> renewals;
  renewals.emplace_back(Name("held"), holder, 60s);
  EXPECT_TRUE(run(old->leases().renew(renewals, soon())).at(0));
  EXPECT_TRUE(is_of_tenant("held")) << "what it does not know it leaves alone";
  EXPECT_GT(take(*old, "a", owner(*old)), fence);
  EXPECT_TRUE(run(old->records().put(RecordWrite("k", "v"), soon())));

  auto const another = open();
  EXPECT_FALSE(
      run(another->leases().acquire(LeaseRequest({"held"}, owner(*another), 60s), soon())));
  EXPECT_TRUE(release(*old, "held", holder));
  EXPECT_GT(take(*another, "held", owner(*another)), fence);
  EXPECT_EQ(sql("SELECT version FROM meta"), 99);
}

TEST_F(SqliteVersions, AStoreThatIsNotForThisProgramIsRefused) {
  auto const running = open();
  migrate_to_the_future(98);
  for (auto const* query : {"", "?migrate=no"}) {
    auto const error = thrown<EngineError>([&] { static_cast<void>(open(query)); });
    ASSERT_TRUE(error);
    EXPECT_EQ(error->code(), ErrorCode::invalid_argument);
    EXPECT_THAT(error->what(), HasSubstr("needs a Holt that knows format 98"));
  }
}

TEST_F(SqliteVersions, WhoShallNotMigrateMakesNothingAndSaysWhatIsMissing) {
  auto const error = thrown<EngineError>([&] { static_cast<void>(open("?migrate=no")); });
  ASSERT_TRUE(error);
  EXPECT_EQ(error->code(), ErrorCode::invalid_argument);
  EXPECT_THAT(error->what(), HasSubstr("there is no store at " + file()));
  EXPECT_THAT(error->hint(), HasSubstr("holt migrate"));
  EXPECT_FALSE(std::filesystem::exists(file()));
  EXPECT_FALSE(sqlite::migrate(env_, {file(), "default"}, true).is_current());
  EXPECT_FALSE(std::filesystem::exists(file()));
  EXPECT_TRUE(sqlite::migrate(env_, {file(), "default"}, false).is_current());
  auto const engine = open("?migrate=no");
  take(*engine, "a", owner(*engine));
}

TEST_F(SqliteVersions, WhoShallNotMigrateStillVoidsTheLeasesOfAnotherBoot) {
  Fence before;
  {
    auto const engine = open();
    before = take(*engine, "a", owner(*engine));
  }
  env_.reboot("another-boot");
  auto const engine = open("?migrate=no");
  EXPECT_GT(take(*engine, "a", owner(*engine)), before);
}

}  // namespace
}  // namespace holt::test
