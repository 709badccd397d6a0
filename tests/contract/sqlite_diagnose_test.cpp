// SPDX-License-Identifier: Apache-2.0
// What the embedded engine finds when something is really broken, one finding after the other.

#include "contract/sqlite_fixture.hpp"
#include "engines/sqlite/diagnose.hpp"
#include "support/other_process.hpp"

#include <holt/holt.hpp>

#include <gmock/gmock.h>
#include <sqlite3.h>

#include <signal.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>

namespace holt::test {
namespace {

namespace fs = std::filesystem;
using testing::AllOf;
using testing::HasSubstr;

constexpr auto ok = FindingStatus::ok;
constexpr auto info = FindingStatus::info;
constexpr auto warn = FindingStatus::warn;
constexpr auto fail = FindingStatus::fail;

Finding find(std::vector<Finding> const& findings, std::string_view id) {
  auto const found = std::ranges::find(findings, id, &Finding::id);
  EXPECT_NE(found, findings.end()) << "no finding " << id;
  return found == findings.end() ? Finding{} : *found;
}

class SqliteDiagnose : public SqliteTest {
 protected:
  std::vector<Finding> findings(Engine& engine, Nanos patience = 5s) {
    return run(engine.diagnose(patience));
  }
  /// Of a store that is opened for this alone.
  Finding finding(std::string_view id) { return find(findings(*engine_), id); }

  /// Types what the finding says into a shell.
  static int do_fix(Finding const& finding) { return std::system(finding.fix.c_str()); }

  std::unique_ptr<Engine> engine_ = open();
};

// Permissions

TEST_F(SqliteDiagnose, AFileThatEverybodyMayWriteFails) {
  for (auto const& path : {file(), file() + "-wal", file() + "-shm", file() + ".gate"}) {
    ASSERT_EQ(::chmod(path.c_str(), 0666), 0) << path;
    auto const found = finding("permissions");
    EXPECT_EQ(found.status, fail);
    EXPECT_THAT(found.detail, HasSubstr(path));
    EXPECT_EQ(found.fix, "chmod o-w " + path);
    EXPECT_EQ(do_fix(found), 0);
    ASSERT_EQ(::chmod(path.c_str(), 0600), 0);
    EXPECT_EQ(finding("permissions").status, ok);
  }
}

TEST_F(SqliteDiagnose, AFolderThatEverybodyMayWriteFails) {
  fs::permissions(folder_.path(), fs::perms(0777));
  auto const found = finding("permissions");
  EXPECT_EQ(found.status, fail);
  EXPECT_EQ(do_fix(found), 0);
  EXPECT_EQ(finding("permissions").status, ok);
}

TEST_F(SqliteDiagnose, AnInboxThatEverybodyMayWriteFails) {
  engine_->signals().listen();
  fs::permissions(file() + ".inbox", fs::perms(0777));
  EXPECT_EQ(finding("permissions").status, fail);
}

TEST_F(SqliteDiagnose, AFileThatEverybodyMayReadIsAWarning) {
  fs::permissions(file(), fs::perms(0644));
  auto const found = finding("permissions");
  EXPECT_EQ(found.status, warn);
  EXPECT_EQ(do_fix(found), 0);
  EXPECT_EQ(finding("permissions").status, ok);
}

TEST_F(SqliteDiagnose, AFolderAsSharedAsTmpIsAWarning) {
  fs::permissions(folder_.path(), fs::perms(01777));
  EXPECT_EQ(finding("permissions").status, warn);
}

TEST_F(SqliteDiagnose, AFileForAGroupIsFine) {
  fs::permissions(file(), fs::perms(0660));
  EXPECT_EQ(finding("permissions").status, ok);
}

// Settings: of a connection on which they were really changed

TEST_F(SqliteDiagnose, SettingsAreReadFromTheConnectionThatWrites) {
  auto const all = findings(*engine_);
  for (auto const* id : {"journal-mode", "synchronous", "autocheckpoint", "secure-delete"}) {
    EXPECT_EQ(find(all, id).status, ok) << id;
  }
  EXPECT_THAT(find(all, "synchronous").detail, HasSubstr("normal for leases"));
  EXPECT_THAT(find(all, "durability").detail, HasSubstr("sync=normal"));
  auto const full = open("?sync=full");
  EXPECT_THAT(find(findings(*full), "synchronous").detail, HasSubstr("full for leases"));
  EXPECT_THAT(find(findings(*full), "durability").detail, HasSubstr("sync=full"));
}

TEST_F(SqliteDiagnose, EachWrongSettingIsFound) {
  engine_.reset();
  sql("PRAGMA journal_mode = DELETE");
  sqlite::Connection store(env_, file(), sqlite::Sync::normal);
  store.execute(
      "PRAGMA wal_autocheckpoint = 1000; PRAGMA secure_delete = ON; PRAGMA synchronous = OFF");
  auto const all = sqlite::settings_findings(sqlite::read_settings(store), sqlite::Sync::normal);
  EXPECT_EQ(find(all, "journal-mode").status, fail);
  EXPECT_EQ(find(all, "journal-mode").detail, "delete");
  EXPECT_EQ(find(all, "synchronous").status, fail);
  EXPECT_EQ(find(all, "autocheckpoint").status, fail);
  EXPECT_EQ(find(all, "secure-delete").status, warn);
}

TEST_F(SqliteDiagnose, NormalIsNotEnoughWhereFullWasAsked) {
  sqlite::Connection store(env_, file(), sqlite::Sync::normal);
  auto const all = sqlite::settings_findings(sqlite::read_settings(store), sqlite::Sync::full);
  EXPECT_EQ(find(all, "synchronous").status, fail);
}

TEST_F(SqliteDiagnose, AnotherJournalModeIsMendedByOpening) {
  engine_.reset();
  sql("PRAGMA journal_mode = DELETE");
  engine_ = open();
  EXPECT_EQ(finding("journal-mode").status, ok);
}

// What is in the file

TEST_F(SqliteDiagnose, AMissingTableFails) {
  sql("DROP TABLE counter");
  auto const found = finding("schema");
  EXPECT_EQ(found.status, fail);
  EXPECT_EQ(found.detail, "missing: counter");
}

TEST_F(SqliteDiagnose, AMissingColumnFails) {
  sql("ALTER TABLE record DROP COLUMN until_ns");
  EXPECT_EQ(finding("schema").detail, "missing: record.until_ns");
}

TEST_F(SqliteDiagnose, MoreTablesThanOursAreFine) {
  sql("CREATE TABLE newer(a); ALTER TABLE lease ADD COLUMN newer TEXT");
  EXPECT_EQ(finding("schema").status, ok);
}

TEST_F(SqliteDiagnose, TheStoresOwnTableIsMissing) {
  sql("DROP TABLE meta");
  EXPECT_EQ(finding("format").status, fail);
  EXPECT_EQ(finding("schema").status, fail);
}

TEST_F(SqliteDiagnose, ANewerFormatIsAWarning) {
  sql("UPDATE meta SET version = 99");
  auto const found = finding("format");
  EXPECT_EQ(found.status, warn);
  EXPECT_THAT(found.detail, AllOf(HasSubstr("version 99"), HasSubstr("readable from 1")));
}

TEST_F(SqliteDiagnose, AnotherBootIdFails) {
  sql("UPDATE meta SET boot_id = 'of another machine'");
  EXPECT_EQ(finding("boot").status, fail);
}

TEST_F(SqliteDiagnose, AWallClockBehindTheNewestLeaseIsAWarning) {
  take(*engine_, "a", owner(*engine_));
  EXPECT_EQ(finding("clock").status, ok);
  sql("UPDATE lease SET acquired_ms = acquired_ms + 3 * 86400000 WHERE name <> ''");
  auto const found = finding("clock");
  EXPECT_EQ(found.status, warn);
  EXPECT_THAT(found.detail, HasSubstr("71 h behind"));
}

TEST_F(SqliteDiagnose, AWallClockBefore2020IsAWarning) {
  auto const all = sqlite::content_findings({}, "x", std::chrono::system_clock::time_point{});
  EXPECT_EQ(find(all, "clock").status, warn);
}

// Who uses it

class StopInReadStep final : public sqlite::Step {
 public:
  explicit StopInReadStep(Instant deadline) : Step("stop", deadline) {}
  void run(sqlite::Connection& store) override {
    constexpr std::string_view query = "PRAGMA schema_version";
    store.execute("BEGIN");
    sqlite::Query row(store, query);
    EXPECT_TRUE(row.next());
    ::raise(SIGSTOP);
  }
};

TEST(SqliteOtherProcess, DISABLED_StopsWhileItReads) {
  RealEnv env;
  sqlite::StoreFile file(env, other_process_settings().at("file"));
  sqlite::Reader reader(env, file);
  StopInReadStep step(env.now() + 10s);
  run(reader.run(step));
}

/// A program that is not Holt: it has the file open, and nothing of ours.
TEST(SqliteOtherProcess, DISABLED_OpensTheFileWithSqliteAlone) {
  sqlite3* handle = nullptr;
  ASSERT_EQ(sqlite3_open(other_process_settings().at("file").c_str(), &handle), SQLITE_OK);
  sqlite3_exec(handle, "SELECT * FROM meta", nullptr, nullptr, nullptr);
  ::raise(SIGSTOP);
  sqlite3_close(handle);
}

TEST_F(SqliteDiagnose, AProcessThatIsStoppedInsideATransactionFails) {
  OtherProcess stopped("SqliteOtherProcess.DISABLED_StopsInsideATransaction", {{"file", file()}});
  ASSERT_TRUE(stopped.wait_until_stopped());
  auto const pid = std::to_string(stopped.pid());
  auto const all = findings(*engine_, 200ms);
  auto const found = find(all, "stopped");
  EXPECT_EQ(found.status, fail);
  EXPECT_THAT(found.detail, HasSubstr(pid));
  EXPECT_THAT(found.fix, HasSubstr("kill -CONT " + pid));
  EXPECT_EQ(find(all, "settings").status, fail);
  EXPECT_EQ(find(all, "schema").status, ok) << "reading goes on beside a writer";
  EXPECT_EQ(find(all, "programs").status, ok);
  stopped.signal(SIGCONT);
  EXPECT_EQ(stopped.wait(), 0);
  EXPECT_EQ(finding("stopped").status, ok);
}

TEST_F(SqliteDiagnose, AClientOfABlockedStoreSaysWhoIsInTheWay) {
  auto holt = holt::open("sqlite://" + file(), {.timeout = 200ms});
  OtherProcess stopped("SqliteOtherProcess.DISABLED_StopsInsideATransaction", {{"file", file()}});
  ASSERT_TRUE(stopped.wait_until_stopped());
  auto const all = holt.diagnose();
  auto const found = find(all, "writable");
  EXPECT_EQ(found.status, fail);
  EXPECT_THAT(found.detail, HasSubstr(std::to_string(stopped.pid())));
  EXPECT_THAT(found.fix, HasSubstr("kill -CONT"));
  EXPECT_EQ(std::ranges::count(all, "latency", &Finding::id), 0);
}

TEST_F(SqliteDiagnose, AReaderThatIsStoppedIsAWarning) {
  OtherProcess stopped("SqliteOtherProcess.DISABLED_StopsWhileItReads", {{"file", file()}});
  ASSERT_TRUE(stopped.wait_until_stopped());
  auto const found = finding("stopped");
  EXPECT_EQ(found.status, warn);
  EXPECT_THAT(found.detail, AllOf(HasSubstr(std::to_string(stopped.pid())), HasSubstr("log")));
}

TEST_F(SqliteDiagnose, AnotherProgramIsAWarning) {
  EXPECT_EQ(finding("programs").status, ok);
  OtherProcess other("SqliteOtherProcess.DISABLED_OpensTheFileWithSqliteAlone", {{"file", file()}});
  ASSERT_TRUE(other.wait_until_stopped());
  auto const found = finding("programs");
  EXPECT_EQ(found.status, warn);
  EXPECT_THAT(found.detail, HasSubstr(std::to_string(other.pid())));
  EXPECT_EQ(finding("stopped").status, ok) << "it is stopped, but holds nothing";
}

// What stands on the disk

TEST_F(SqliteDiagnose, ALongLogIsAWarning) {
  EXPECT_EQ(finding("log").status, ok);
  fs::resize_file(file() + "-wal", 40U * 1024 * 1024);
  auto const found = finding("log");
  EXPECT_EQ(found.status, warn);
  EXPECT_THAT(found.detail, HasSubstr("40.0 MiB"));
}

TEST_F(SqliteDiagnose, SocketsThatWereLeftBehindAreCounted) {
  EXPECT_EQ(finding("inbox").status, ok);
  engine_->signals().listen();
  auto const path = file() + ".inbox/left-behind";
  sockaddr_un address{.sun_family = AF_UNIX, .sun_path = {}};
  ASSERT_LT(path.size(), sizeof address.sun_path);
  std::memcpy(address.sun_path, path.c_str(), path.size());
  int const fd = ::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  ASSERT_EQ(::bind(fd, reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
  EXPECT_THAT(finding("inbox").detail, HasSubstr("2 in use, 0 left behind"));
  ::close(fd);
  auto const found = finding("inbox");
  EXPECT_EQ(found.status, info);
  EXPECT_THAT(found.detail, HasSubstr("1 in use, 1 left behind"));
}

TEST_F(SqliteDiagnose, AnInboxThatCannotBeUsedFails) {
  std::ofstream(file() + ".inbox") << "in the way";
  EXPECT_EQ(finding("inbox").status, fail);
}

TEST_F(SqliteDiagnose, FileSystemsAreJudged) {
  EXPECT_EQ(sqlite::file_system_finding("/x", 0xEF53).status, ok);
  EXPECT_EQ(sqlite::file_system_finding("/x", 0x01021994).status, info);  // tmpfs
  EXPECT_EQ(sqlite::file_system_finding("/x", 0x12345).status, info);
  EXPECT_EQ(sqlite::file_system_finding("/x", 0x794C7630).status, warn);  // overlay
  EXPECT_EQ(sqlite::file_system_finding("/x", 0x6969).status, fail);      // NFS
  EXPECT_EQ(sqlite::file_system_finding("/x", 0x65735546).status, fail);  // FUSE
}

TEST_F(SqliteDiagnose, LittleSpaceIsFound) {
  constexpr std::uint64_t mib = 1024 * 1024;
  EXPECT_EQ(sqlite::space_finding({.bytes = 1000 * mib, .inodes = 1000}).status, ok);
  EXPECT_EQ(sqlite::space_finding({.bytes = 100 * mib, .inodes = 1000}).status, warn);
  EXPECT_EQ(sqlite::space_finding({.bytes = 1 * mib, .inodes = 1000}).status, fail);
  EXPECT_EQ(sqlite::space_finding({.bytes = 1000 * mib, .inodes = 10}).status, warn);
  EXPECT_EQ(sqlite::space_finding({.bytes = 1000 * mib, .inodes = 0}).status, fail);
  EXPECT_EQ(sqlite::space_finding({.bytes = 1000 * mib, .counts_inodes = false}).status, ok);
  EXPECT_GT(sqlite::space_of(folder_.path()).bytes, 0U);
}

TEST_F(SqliteDiagnose, TheMachineIsJudged) {
  EXPECT_EQ(sqlite::datagrams_finding(10).status, ok);
  EXPECT_EQ(sqlite::datagrams_finding(1).status, warn);
  EXPECT_EQ(sqlite::datagrams_finding({}).status, info);
  EXPECT_EQ(sqlite::inotify_finding(file()).status, ok);
  EXPECT_EQ(sqlite::inotify_finding(folder_.file("nothing")).status, warn);
  EXPECT_EQ(sqlite::library_finding().status, ok);
}

}  // namespace
}  // namespace holt::test
