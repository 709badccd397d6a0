// SPDX-License-Identifier: Apache-2.0
// The options of an address that ask for the layout syncguard on PostgreSQL.

#include "engines/postgres/place.hpp"
#include "engines/postgres/syncguard_tables.hpp"

#include <holt/error.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace holt::postgres {
namespace {

using testing::HasSubstr;

std::string refused(std::string const& options) {
  try {
    static_cast<void>(parse_place("postgres://localhost/jobs?" + options));
  } catch (InvalidArgument const& error) {
    return error.what();
  }
  return "not refused";
}

TEST(PostgresSyncguardOptions, HaveTheNamesOfSyncGuard) {
  auto const place = parse_place("postgres://localhost/jobs?layout=syncguard");
  EXPECT_TRUE(place.syncguard);
  EXPECT_EQ(place.syncguard.locks, "syncguard_locks");
  EXPECT_EQ(place.syncguard.counters, "syncguard_fence_counters");
  EXPECT_FALSE(place.syncguard.cleanup);
  EXPECT_EQ(place.url(), "postgres://localhost/jobs?layout=syncguard");
  EXPECT_FALSE(parse_place("postgres://localhost/jobs").syncguard);
}

TEST(PostgresSyncguardOptions, CanBeOthersAndComeBackInTheAddress) {
  auto const place = parse_place(
      "postgres://localhost/jobs?table_name=Locks_1&sslmode=disable&cleanup_in_is_locked=true&"
      "fence_table_name=_f&layout=syncguard");
  EXPECT_EQ(place.syncguard.locks, "Locks_1");
  EXPECT_EQ(place.syncguard.counters, "_f");
  EXPECT_TRUE(place.syncguard.cleanup);
  EXPECT_EQ(setting(place.settings, "sslmode"), "disable");
  auto const again = parse_place(place.url());
  EXPECT_EQ(again.syncguard.locks, "Locks_1");
  EXPECT_EQ(again.syncguard.counters, "_f");
  EXPECT_EQ(in_tables("\"@schema@\" \"@locks@\" \"@counters@\" \"@locks@\"", place),
            "\"holt\" \"Locks_1\" \"_f\" \"Locks_1\"");
}

TEST(PostgresSyncguardOptions, RefuseWhatCannotBe) {
  EXPECT_THAT(refused("layout=sovereign"), HasSubstr("there is no layout \"sovereign\""));
  EXPECT_THAT(refused("layout=syncguard-19"), HasSubstr("there is no layout"));
  EXPECT_THAT(refused("layout="), HasSubstr("there is no layout"));
  EXPECT_THAT(refused("table_name=x"), HasSubstr("names none"));
  EXPECT_THAT(refused("cleanup_in_is_locked=false"), HasSubstr("names none"));
  EXPECT_THAT(refused("layout=syncguard&cleanup_in_is_locked=yes"), HasSubstr("true or false"));
  EXPECT_THAT(refused("layout=syncguard&table_name=a&fence_table_name=a"), HasSubstr("differ"));
  EXPECT_THAT(refused("layout=syncguard&fence_table_name=syncguard_locks"), HasSubstr("differ"));
  for (std::string const bad : {"", "1a", "a.b", "a-b", "a%22b", "%C3%A4", "a%20b"}) {
    EXPECT_THAT(refused("layout=syncguard&table_name=" + bad), HasSubstr("table_name has"));
    EXPECT_THAT(refused("layout=syncguard&fence_table_name=" + bad), HasSubstr("fence_table_name"));
  }
}

TEST(PostgresSyncguardOptions, RefuseNamesThatTheServerWouldCutToOne) {
  std::string const longest(63, 'a');
  EXPECT_NO_THROW(static_cast<void>(
      parse_place("postgres://localhost/jobs?layout=syncguard&table_name=" + longest)));
  EXPECT_THAT(
      refused("layout=syncguard&table_name=" + longest + "1&fence_table_name=" + longest + "2"),
      HasSubstr("table_name has 1 to 63"));
}

TEST(PostgresSyncguardCounter, IsOfTheKey) {
  EXPECT_EQ(syncguard_counter(Name("resource:123")), "fence:resource:123");
}

}  // namespace
}  // namespace holt::postgres
