// SPDX-License-Identifier: Apache-2.0
// No room left on the server's disk: for its tables, and for its log of changes. It is said
// clearly, nobody holds what is not stored, and all goes on when there is room.

#include "postgres/caller.hpp"
#include "support/other_process.hpp"
#include "support/servers/spawn.hpp"

#include <gmock/gmock.h>

#include <sched.h>
#include <sys/mount.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <map>
#include <stdexcept>

namespace holt::test {
namespace {

using testing::HasSubstr;

constexpr int cannot_mount = 77;

/// Runs in a process of its own, whose mounts nobody else sees.
class SmallDisk {
 public:
  SmallDisk(std::string folder, std::string const& size) : folder_(std::move(folder)) {
    if (::unshare(CLONE_NEWNS) != 0 ||
        ::mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0 ||
        ::mount("none", folder_.c_str(), "tmpfs", 0, ("size=" + size).c_str()) != 0) {
      std::exit(cannot_mount);
    }
    if (!postgres_user().empty()) give_to(postgres_user(), folder_);
  }
  [[nodiscard]] std::string const& folder() const { return folder_; }
  void resize(std::string const& size) const {
    ASSERT_EQ(::mount("none", folder_.c_str(), "tmpfs", MS_REMOUNT, ("size=" + size).c_str()), 0);
  }
  /// Takes all that is left.
  void fill() const {
    std::ofstream file(folder_ + "/filler", std::ios::binary | std::ios::app);
    std::string const block(4096, 'x');
    while (file.write(block.data(), static_cast<std::streamsize>(block.size())).flush()) {
    }
  }
  void make_room() const { ::unlink((folder_ + "/filler").c_str()); }

 private:
  std::string folder_;
};

/// Takes names of its own until one call fails, and remembers what it was told it holds.
struct Holders {
  std::map<std::string, std::pair<Owner, Fence>> held;
  Fence highest;

  std::optional<EngineError> take_until_it_fails(PostgresCaller& caller, int most) {
    for (int i = 0; i < most; ++i) {
      auto const name = std::to_string(held.size()) + std::string(200, 'n');
      auto const owner = caller.owner();
      auto const error = error_of([&] {
        auto const granted = caller.acquire(name, owner, 1h);
        ASSERT_TRUE(granted);
        EXPECT_GT(granted->fences.at(0), highest);
        highest = granted->fences.at(0);
        held.emplace(name, std::pair(owner, highest));
      });
      if (error) return error;
    }
    return std::nullopt;
  }
  /// Each is in the store, with the fence that was told, and nobody else gets it.
  void expect_all_there(PostgresCaller& caller) const {
    for (auto const& [name, lease] : held) {
      auto const found = caller.find(name);
      ASSERT_TRUE(found) << name;
      EXPECT_EQ(found->owner, lease.first);
      EXPECT_EQ(found->fence, lease.second);
      EXPECT_TRUE(caller.renew(name, lease.first));
    }
  }
};

/// The table of leases on a disk of 512 kB; all else has room.
TEST(PostgresOtherProcess, DISABLED_FillsTheTables) {
  SmallDisk const disk(other_process_settings().at("folder"), "512k");
  PostgresServer server;
  PostgresCaller caller(server.url());
  server.query("CREATE TABLESPACE small LOCATION '" + disk.folder() + "'");
  server.query("ALTER TABLE holt.lease SET TABLESPACE small");
  Holders holders;
  auto const full = holders.take_until_it_fails(caller, 20'000);
  ASSERT_TRUE(full) << "there was room for " << holders.held.size();
  EXPECT_EQ(full->code(), ErrorCode::service_unavailable) << full->what();
  EXPECT_EQ(full->outcome(), Outcome::not_applied) << full->what();
  EXPECT_TRUE(full->retryable());
  EXPECT_THAT(full->what(), HasSubstr("No space left on device"));
  EXPECT_THAT(full->hint(), HasSubstr("make room"));
  // What is held can be renewed and released all the same: rows change in place.
  ASSERT_GT(holders.held.size(), 100U);
  holders.expect_all_there(caller);
  EXPECT_EQ(server.query("SELECT count(*) FROM holt.lease"), std::to_string(holders.held.size()));
  disk.resize("16m");
  EXPECT_FALSE(holders.take_until_it_fails(caller, 50));
  holders.expect_all_there(caller);
}

/// Everything on one disk, and that full: the server cannot write its log, and stops.
TEST(PostgresOtherProcess, DISABLED_FillsTheLog) {
  SmallDisk const disk(other_process_settings().at("folder"), "256m");
  PostgresServer server({.data_folder = disk.folder() + "/data"});
  PostgresCaller caller(server.url(), 5s);
  auto const keeper = caller.owner();
  auto const kept = caller.take("kept", keeper, 1h);
  disk.fill();
  // The piece of the log that is there would last for a while: on to the next one.
  std::optional<EngineError> full;
  for (int i = 0; i < 20 && !full; ++i) {
    try {
      server.query("SELECT pg_switch_wal()");
    } catch (std::runtime_error const&) {  // the same disk is full for it
    }
    full = error_of([&] { static_cast<void>(caller.renew("kept", keeper, 1h)); });
  }
  ASSERT_TRUE(full);
  EXPECT_TRUE(full->retryable()) << full->what();
  Holders holders;
  auto const refused = holders.take_until_it_fails(caller, 1);
  ASSERT_TRUE(refused) << "a lock was granted that cannot be stored";
  EXPECT_TRUE(refused->retryable()) << refused->what();
  EXPECT_FALSE(refused->hint().empty()) << refused->what();

  disk.make_room();
  server.process().stop(std::chrono::seconds(20), SIGQUIT);  // if it still tries
  server.start();
  ASSERT_TRUE(wait_until([&] { return !error_of([&] { caller.find("kept"); }); }));
  EXPECT_EQ(caller.find("kept")->fence, kept);
  EXPECT_TRUE(caller.renew("kept", keeper, 1h));
  EXPECT_FALSE(caller.acquire("kept", caller.owner()));
  holders.highest = kept;
  EXPECT_FALSE(holders.take_until_it_fails(caller, 20));
  holders.expect_all_there(caller);
}

void in_another_process(std::string const& test) {
  TemporaryFolder const folder;
  OtherProcess process("PostgresOtherProcess.DISABLED_" + test, {{"folder", folder.path()}});
  auto const status = process.wait();
  if (status == cannot_mount) GTEST_SKIP() << "this user may not mount";
  EXPECT_EQ(status, 0);
}

TEST(PostgresDiskFull, OfTheTablesIsSaidClearlyAndEnds) { in_another_process("FillsTheTables"); }
TEST(PostgresDiskFull, OfTheLogIsSaidClearlyAndEnds) { in_another_process("FillsTheLog"); }

}  // namespace
}  // namespace holt::test
