// SPDX-License-Identifier: Apache-2.0
// Where the embedded store is: addresses, permissions, file systems.

#include "contract/sqlite_fixture.hpp"
#include "engines/sqlite/place.hpp"

#include <gmock/gmock.h>

#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>

namespace holt::test {
namespace {

using sqlite::parse_place;
using sqlite::Sync;
using testing::HasSubstr;

mode_t mode_of(std::string const& path) {
  struct stat file{};
  EXPECT_EQ(::stat(path.c_str(), &file), 0) << path;
  return file.st_mode & 07777U;
}

TEST(SqliteAddress, AnAbsolutePath) {
  EXPECT_EQ(parse_place("sqlite:///var/lib/x.db").path, "/var/lib/x.db");
  EXPECT_EQ(parse_place("sqlite:/var/lib/x.db").path, "/var/lib/x.db");
  EXPECT_EQ(parse_place("/var/lib/x.db").path, "/var/lib/x.db");
  EXPECT_EQ(parse_place("/var/../lib/./x.db").path, "/lib/x.db");
}

TEST(SqliteAddress, ARelativePathIsMadeAbsolute) {
  auto const here = std::filesystem::current_path().string();
  EXPECT_EQ(parse_place("sqlite:x.db").path, here + "/x.db");
  EXPECT_EQ(parse_place("x.db").path, here + "/x.db");
}

TEST(SqliteAddress, AHomeAndADefault) {
  ::setenv("HOME", "/home/ann", 1);
  ::unsetenv("XDG_STATE_HOME");
  EXPECT_EQ(parse_place("sqlite:~/x.db").path, "/home/ann/x.db");
  EXPECT_EQ(parse_place("sqlite:").path, "/home/ann/.local/state/holt/holt.db");
  ::setenv("XDG_STATE_HOME", "/state", 1);
  EXPECT_EQ(parse_place("sqlite:").path, "/state/holt/holt.db");
  ::setenv("XDG_STATE_HOME", "not/absolute", 1);
  EXPECT_EQ(parse_place("sqlite:").path, "/home/ann/.local/state/holt/holt.db");
  ::unsetenv("XDG_STATE_HOME");
}

TEST(SqliteAddress, TheSyncOption) {
  EXPECT_EQ(parse_place("sqlite:///x.db").sync, Sync::normal);
  EXPECT_EQ(parse_place("sqlite:///x.db?sync=normal").sync, Sync::normal);
  EXPECT_EQ(parse_place("sqlite:///x.db?sync=full").sync, Sync::full);
}

TEST(SqliteAddress, AnUnknownOptionIsRefusedAndTheKnownAreNamed) {
  for (auto const* url : {"sqlite:///x.db?sink=full", "sqlite:///x.db?sync=often",
                          "sqlite:///x.db?sync=full&mode=ro"}) {
    auto const error = thrown<InvalidArgument>([&] { static_cast<void>(parse_place(url)); });
    EXPECT_THAT(error->what(), HasSubstr("sync=full"));
  }
}

TEST(SqliteAddress, HostsFoldersMemoryAndBadEscapesAreRefused) {
  for (auto const* url : {"sqlite://host/x.db", "sqlite:///x/",
                          "sqlite::memory:", ":memory:", "sqlite:///x%2", "sqlite:///x%00.db"}) {
    EXPECT_THROW(static_cast<void>(parse_place(url)), InvalidArgument) << url;
  }
}

TEST(SqliteAddress, ABareWordIsNotTakenForAFile) {
  auto const error = thrown<InvalidArgument>([&] { static_cast<void>(parse_place("redis")); });
  EXPECT_THAT(error->what(), HasSubstr("write ./redis"));
  EXPECT_NO_THROW(static_cast<void>(parse_place("./redis")));
}

TEST(SqliteAddress, IsShownSoThatItCanBeUsedAgain) {
  auto const place = parse_place("sqlite:///a%20b/100%25?sync=full");
  EXPECT_EQ(place.path, "/a b/100%");
  EXPECT_EQ(place.url(), "sqlite:///a%20b/100%25?sync=full");
  EXPECT_EQ(parse_place(place.url()).path, place.path);
}

TEST(SqliteRegistry, AnUnknownSchemeIsRefusedAndTheKnownAreNamed) {
  TestEnv env;
  for (auto const* url : {"nosuch://localhost", "consul://x/y", "etcd:z"}) {
    auto const error =
        thrown<EngineError>([&] { static_cast<void>(open_engine(env, {url, "default"})); });
    ASSERT_TRUE(error);
    EXPECT_EQ(error->code(), ErrorCode::invalid_argument);
    EXPECT_THAT(error->what(), HasSubstr("not built in (that is sqlite)"));
  }
}

class SqlitePlace : public SqliteTest {};

TEST_F(SqlitePlace, IsForItsUserOnlyWhateverTheUmask) {
  for (mode_t const mask : {0000, 0777}) {
    auto const before = ::umask(mask);
    auto const path = folder_.file("mask-" + std::to_string(mask) + "/deep/er/holt.db");
    {
      auto const engine = open_engine(env_, {"sqlite://" + path, "default"});
      engine->signals().listen();
      take(*engine, "a", owner(*engine));
      EXPECT_EQ(mode_of(path), 0600U);
      EXPECT_EQ(mode_of(path + "-wal"), 0600U);
      EXPECT_EQ(mode_of(path + "-shm"), 0600U);
      EXPECT_EQ(mode_of(path + ".gate"), 0600U);
      EXPECT_EQ(mode_of(path + ".inbox"), 0700U);
      EXPECT_EQ(mode_of(folder_.file("mask-" + std::to_string(mask))), 0700U);
      EXPECT_EQ(mode_of(folder_.file("mask-" + std::to_string(mask) + "/deep/er")), 0700U);
    }
    ::umask(before);
  }
}

TEST_F(SqlitePlace, FoldersThatExistAreLeftAsTheyAre) {
  std::filesystem::create_directory(folder_.file("shared"));
  ::chmod(folder_.file("shared").c_str(), 0755);
  auto const engine = open_engine(env_, {folder_.file("shared/holt.db"), "default"});
  EXPECT_EQ(mode_of(folder_.file("shared")), 0755U);
}

TEST_F(SqlitePlace, WhatStandsBesideAFileSharedWithAGroupIsSharedToo) {
  {
    auto const engine = open();
  }
  ::chmod(file().c_str(), 0660);
  std::filesystem::remove(file() + ".gate");
  auto const engine = open();
  engine->signals().listen();
  EXPECT_EQ(mode_of(file() + ".gate"), 0660U);
  EXPECT_EQ(mode_of(file() + ".inbox"), 0770U);
}

TEST_F(SqlitePlace, ThroughASymbolicLinkItIsTheSameStore) {
  auto const engine = open();
  engine->signals().listen();
  std::filesystem::create_symlink(file(), folder_.file("link.db"));
  std::filesystem::create_directory_symlink(folder_.path(), folder_.file("folder-link"));
  for (auto const& path : {folder_.file("link.db"), folder_.file("folder-link/holt.db")}) {
    auto const other = open_engine(env_, {path, "default"});
    EXPECT_EQ(other->url(), engine->url());
    EXPECT_EQ(other->signals().send(engine->signals().inbox(), {"x", "y"}), Delivery::sent);
  }
}

TEST_F(SqlitePlace, AFolderAPipeAndADanglingLinkAreRefused) {
  auto const refuse = [&](std::string const& path) {
    static_cast<void>(open_engine(env_, {path, "default"}));
  };
  EXPECT_THROW(refuse(folder_.path()), InvalidArgument);
  ::mkfifo(folder_.file("pipe").c_str(), 0600);
  EXPECT_THROW(refuse(folder_.file("pipe")), InvalidArgument);
  std::filesystem::create_symlink(folder_.file("nowhere/x.db"), folder_.file("dangling.db"));
  EXPECT_THROW(refuse(folder_.file("dangling.db")), EngineError);
  EXPECT_THROW(refuse("/proc/holt/holt.db"), EngineError);
}

TEST_F(SqlitePlace, FileSystemsOfOtherMachinesAreRefusedByName) {
  struct Case {
    long kind;
    char const* name;
  };
  for (auto const [kind, name] :
       {Case{0x6969, "NFS"}, Case{0xFF534D42, "CIFS"}, Case{0xFE534D42, "SMB2"},
        Case{0x01021997, "9p"}, Case{0x65735546, "FUSE"}, Case{0x00C36400, "Ceph"}}) {
    auto const error = thrown<InvalidArgument>([&] {
      static_cast<void>(sqlite::prepare(sqlite::parse_place(file()),
                                        [found = kind](std::string const&) { return found; }));
    });
    EXPECT_THAT(error->what(), HasSubstr(name));
    EXPECT_THAT(error->what(), HasSubstr("locks"));
    EXPECT_THAT(error->what(), HasSubstr("--store sqlite:///"));
    EXPECT_FALSE(std::filesystem::exists(file()));
  }
  EXPECT_NO_THROW(static_cast<void>(
      sqlite::prepare(sqlite::parse_place(file()), [](std::string const&) { return 0xEF53L; })));
}

TEST_F(SqlitePlace, APathLongerThanASocketsMayBe) {
  auto const path = folder_.file(std::string(120, 'd') + "/" + std::string(100, 'f'));
  auto const engine = open_engine(env_, {path, "default"});
  engine->signals().listen();
  EXPECT_EQ(engine->signals().send(engine->signals().inbox(), {"x", "y"}), Delivery::sent);
}

}  // namespace
}  // namespace holt::test
