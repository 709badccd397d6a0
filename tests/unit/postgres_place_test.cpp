// SPDX-License-Identifier: Apache-2.0
#include "engines/postgres/place.hpp"
#include "support/temporary_folder.hpp"

#include <holt/error.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <string>

namespace holt::postgres {
namespace {

using testing::HasSubstr;
using testing::Not;

/// What is said about an address that must be refused.
std::string refusal(std::string const& url) {
  try {
    static_cast<void>(parse_place(url));
  } catch (InvalidArgument const& error) {
    return error.what();
  }
  ADD_FAILURE() << url << " was accepted";
  return {};
}

std::string_view of(Place const& place, std::string_view keyword) {
  return setting(place.settings, keyword);
}

TEST(PostgresPlaceTest, ABareServer) {
  auto const place = parse_place("postgres://localhost/jobs");
  EXPECT_EQ(of(place, "host"), "localhost");
  EXPECT_EQ(of(place, "dbname"), "jobs");
  EXPECT_EQ(place.schema, "holt");
  EXPECT_EQ(place.pool.max, 4);
  EXPECT_EQ(place.pool.lifetime, std::chrono::hours(1));
  EXPECT_EQ(place.pool.idle, std::chrono::minutes(5));
  EXPECT_TRUE(place.listens);
  EXPECT_FALSE(place.read_at);
  EXPECT_EQ(of(place, "target_session_attrs"), "read-write");
  EXPECT_EQ(of(place, "sslmode"), "");
}

TEST(PostgresPlaceTest, BothSchemesAreTheSame) {
  EXPECT_EQ(parse_place("postgresql://me@localhost:5433/jobs").url(),
            "postgres://me@localhost:5433/jobs");
}

TEST(PostgresPlaceTest, SeveralHosts) {
  auto const place = parse_place("postgres://a:1,b:2,c/jobs?sslmode=disable");
  EXPECT_EQ(of(place, "host"), "a,b,c");
  EXPECT_EQ(of(place, "port"), "1,2,");
  EXPECT_EQ(place.url(), "postgres://a:1,b:2,c/jobs");
}

TEST(PostgresPlaceTest, ASocket) {
  auto const place = parse_place("postgres:///jobs?host=/run/postgresql");
  EXPECT_EQ(of(place, "host"), "/run/postgresql");
  EXPECT_EQ(of(place, "sslmode"), "");
  EXPECT_EQ(of(parse_place(place.url()), "host"), "/run/postgresql");
}

TEST(PostgresPlaceTest, ServersElsewhereMustProveWhoTheyAre) {
  EXPECT_EQ(of(parse_place("postgres://db.example/jobs"), "sslmode"), "verify-full");
  EXPECT_EQ(of(parse_place("postgres://localhost,db.example/jobs"), "sslmode"), "verify-full");
  EXPECT_EQ(of(parse_place("postgres://db.example/jobs?sslmode=require"), "sslmode"), "require");
  EXPECT_EQ(of(parse_place("postgres://127.0.0.1,[::1]/jobs"), "sslmode"), "");
}

TEST(PostgresPlaceTest, APasswordFromAFileOrAVariable) {
  test::TemporaryFolder const folder;
  std::ofstream(folder.file("secret")) << "hush\nmore\n";
  // Also where the option stands behind one that copies the settings.
  auto const place = parse_place(
      "postgres://me@localhost/jobs?listen=other&read_store=third"
      "&sslmode=disable&password_file=" +
      folder.file("secret"));
  EXPECT_EQ(of(place, "password"), "hush");
  EXPECT_EQ(setting(*place.listen_at, "password"), "hush");
  EXPECT_EQ(setting(*place.read_at, "password"), "hush");
  EXPECT_THAT(place.url(), Not(HasSubstr("hush")));
  ASSERT_EQ(::setenv("HOLT_TEST_PASSWORD", "quiet", 1), 0);
  EXPECT_EQ(
      of(parse_place("postgres://localhost/jobs?password_env=HOLT_TEST_PASSWORD"), "password"),
      "quiet");
  ::unsetenv("HOLT_TEST_PASSWORD");
  EXPECT_THAT(refusal("postgres://localhost/jobs?password_env=HOLT_TEST_PASSWORD"),
              HasSubstr("HOLT_TEST_PASSWORD, which is not set"));
  EXPECT_THAT(refusal("postgres://localhost/jobs?password_env=my-password"),
              Not(HasSubstr("my-password")));
  EXPECT_THAT(refusal("postgres://localhost/jobs?password_file=/nowhere/at/all"),
              HasSubstr("/nowhere/at/all"));
  EXPECT_THAT(refusal("postgres://me:one@localhost/jobs?password_file=" + folder.file("secret")),
              HasSubstr("more than one password"));
}

TEST(PostgresPlaceTest, OptionsOfOurOwnAndLibpqsMix) {
  auto const place = parse_place(
      "postgres://localhost/jobs?schema=locks&application_name=x&pool_max=9&pool_min=2"
      "&pool_lifetime=60&pool_idle=30&pool_check=10&migrate=no");
  EXPECT_EQ(place.schema, "locks");
  EXPECT_EQ(of(place, "application_name"), "x");
  EXPECT_EQ(place.pool.max, 9);
  EXPECT_EQ(place.pool.min, 2);
  EXPECT_EQ(place.pool.lifetime, std::chrono::minutes(1));
  EXPECT_EQ(place.pool.idle, std::chrono::seconds(30));
  EXPECT_EQ(place.pool.check, std::chrono::seconds(10));
  EXPECT_FALSE(place.migrate);
  EXPECT_EQ(place.url(), "postgres://localhost/jobs?schema=locks");
}

TEST(PostgresPlaceTest, OtherHostsToListenAtAndToReadFrom) {
  auto const place = parse_place(
      "postgres://me:secret@localhost:6432/jobs?listen=db:5432&read_store=[::1]:1,other");
  ASSERT_TRUE(place.listen_at);
  EXPECT_EQ(setting(*place.listen_at, "host"), "db");
  EXPECT_EQ(setting(*place.listen_at, "port"), "5432");
  EXPECT_EQ(setting(*place.listen_at, "password"), "secret");
  ASSERT_TRUE(place.read_at);
  EXPECT_EQ(setting(*place.read_at, "host"), "::1,other");
  EXPECT_EQ(setting(*place.read_at, "port"), "1,6432");
  EXPECT_EQ(setting(*place.read_at, "target_session_attrs"), "any");
  EXPECT_FALSE(parse_place("postgres://localhost/jobs?listen=none").listens);
}

TEST(PostgresPlaceTest, RefusesWhatCannotBe) {
  for (auto const* url :
       {"postgres://localhost/x?schema=", "postgres://localhost/x?schema=Upper",
        "postgres://localhost/x?schema=1st", "postgres://localhost/x?schema=pg_own",
        "postgres://localhost/x?schema=a%22b", "postgres://localhost/x?pool_max=0",
        "postgres://localhost/x?pool_max=many", "postgres://localhost/x?pool_min=5",
        "postgres://localhost/x?migrate=yes", "postgres://localhost/x?listen=:1",
        "postgres://localhost/x?nonsense=1", "postgres://localhost/x?target_session_attrs=any",
        "postgres://localhost/%zz"}) {
    EXPECT_THAT(refusal(url), HasSubstr("the store's address is wrong")) << url;
  }
}

TEST(PostgresPlaceTest, ShowsNoPassword) {
  EXPECT_THAT(parse_place("postgres://me:hush@localhost/jobs").url(), Not(HasSubstr("hush")));
  EXPECT_THAT(refusal("postgres://me:hush@localhost/jobs?nonsense=1"), Not(HasSubstr("hush")));
  EXPECT_THAT(refusal("postgres://me:hu%sh@localhost/jobs"), Not(HasSubstr("hu%sh")));
}

TEST(PostgresPlaceTest, StatementsNameTheSchemaAndLeaveTheirCommentAtHome) {
  EXPECT_EQ(in_schema("-- Purpose: x\n-- Result: y\nSELECT \"@schema@\".f(1) -- z\n", "s"),
            "SELECT \"s\".f(1) -- z\n");
  EXPECT_EQ(in_schema("-- no statement", "s"), "");
}

}  // namespace
}  // namespace holt::postgres
