// SPDX-License-Identifier: Apache-2.0
// The schema: made once by whoever comes first, shared by versions, used by a role with few rights.

#include "postgres/caller.hpp"

#include <gmock/gmock.h>

#include <fstream>
#include <sstream>
#include <thread>

namespace holt::test {
namespace {

using testing::HasSubstr;

class PostgresSchema : public OnOneServer {
 protected:
  static std::string roles_script() {
    std::ifstream file(HOLT_POSTGRES_ROLES);
    std::stringstream text;
    text << file.rdbuf();
    return text.str();
  }
  static std::string as(std::string const& role, std::string const& options = {}) {
    return "postgres://" + role + "@" + server().address() + "/postgres" + options;
  }
};

TEST_F(PostgresSchema, ProgramsThatStartTogetherMakeItOnce) {
  std::vector<std::jthread> programs;
  std::atomic<int> opened{0};
  for (int i = 0; i < 10; ++i) {
    programs.emplace_back([&] {
      PostgresCaller caller(url_);
      caller.take("name/" + std::to_string(++opened), caller.owner());
    });
  }
  programs.clear();
  EXPECT_EQ(opened, 10);
  EXPECT_EQ(server().query("SELECT count(*) FROM " + schema_ + ".meta"), "1");
  EXPECT_EQ(server().query("SELECT count(*) FROM " + schema_ + ".lease"), "10");
}

TEST_F(PostgresSchema, ANewerOneThatOldProgramsMayUseIsUsed) {
  {
    PostgresCaller first(url_);
  }
  server().query("UPDATE " + schema_ + ".meta SET version = 99");
  PostgresCaller caller(url_);
  caller.take("a", caller.owner());
  EXPECT_EQ(server().query("SELECT version FROM " + schema_ + ".meta"), "99");
}

TEST_F(PostgresSchema, ANewerOneThatIsNotForThisProgramIsRefused) {
  {
    PostgresCaller first(url_);
  }
  server().query("UPDATE " + schema_ + ".meta SET version = 99, min_reader = 98");
  auto const error = error_of([&] { PostgresCaller caller(url_); });
  ASSERT_TRUE(error);
  EXPECT_EQ(error->code(), ErrorCode::invalid_argument);
  EXPECT_THAT(error->what(), HasSubstr("newer Holt"));
}

TEST_F(PostgresSchema, WhoShallNotMigrateSaysWhatIsMissing) {
  auto const error = error_of([&] { PostgresCaller caller(url_ + "&migrate=no"); });
  ASSERT_TRUE(error);
  EXPECT_THAT(error->what(), HasSubstr("no store in the schema"));
}

TEST_F(PostgresSchema, TheOwnerMakesItAndTheApplicationOnlyUsesIt) {
  server().query(roles_script());
  auto const too_early = error_of([&] { PostgresCaller app(as("holt_app")); });
  ASSERT_TRUE(too_early);
  EXPECT_EQ(too_early->code(), ErrorCode::auth_failed) << too_early->what();
  {
    PostgresCaller owner(as("holt_owner"));
  }
  PostgresCaller app(as("holt_app"));
  PostgresCaller other(as("holt_app"));
  auto const holder = app.owner();
  auto const fence = app.take("a", holder);
  EXPECT_FALSE(other.acquire("a", other.owner(), 60s, true));
  EXPECT_TRUE(app.renew("a", holder));
  EXPECT_TRUE(app.put("k", "v"));
  EXPECT_EQ(app.add("c"), 1);
  EXPECT_EQ(app.list().leases.size(), 1U);
  EXPECT_TRUE(app.release("a", holder));
  EXPECT_GT(other.find("a")->fence, fence);
  for (auto const& finding : app.diagnose()) {
    EXPECT_NE(finding.status, FindingStatus::fail) << finding.id << ": " << finding.detail;
  }
  EXPECT_THROW(server().query("SET ROLE holt_app; CREATE TABLE holt.mine (x integer)"),
               std::runtime_error);
  EXPECT_THROW(server().query("SET ROLE holt_app; DROP TABLE holt.lease"), std::runtime_error);
}

TEST_F(PostgresSchema, HoldsIsTrueWhileTheLeaseIsHeldWithThatFence) {
  PostgresCaller caller(url_);
  auto const holder = caller.owner();
  auto const fence = caller.take("a", holder);
  auto const holds = [&](std::string const& number) {
    return server().query("SELECT " + schema_ + ".holds('a', " + number + ")");
  };
  EXPECT_EQ(holds(fence.decimal()), "t");
  EXPECT_EQ(holds("1"), "f");
  EXPECT_TRUE(caller.release("a", holder));
  EXPECT_EQ(holds(fence.decimal()), "f");
}

TEST_F(PostgresSchema, WhoAskedHoldsKeepsTheNameFromOthersToTheEndOfItsTransaction) {
  PostgresCaller caller(url_);
  auto const fence = caller.take("a", caller.owner(), 300ms);
  std::jthread user([&] {
    server().query("BEGIN; SELECT " + schema_ + ".holds('a', " + fence.decimal() +
                   "); SELECT pg_sleep(1.5); INSERT INTO " + schema_ +
                   ".counter VALUES ('test', 'done', 1); COMMIT");
  });
  ASSERT_TRUE(wait_until([&] {
    return server().query("SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'PgSleep'") ==
           "1";
  }));
  // Its time ends meanwhile, and it is granted only afterwards.
  auto const next = caller.owner();
  EXPECT_TRUE(wait_until([&] { return caller.acquire("a", next).has_value(); }));
  EXPECT_EQ(server().query("SELECT count(*) FROM " + schema_ + ".counter"), "1");
}

TEST_F(PostgresSchema, WhoAskedHoldsKeepsNoOtherNameFromBeingGranted) {
  PostgresCaller caller(url_ + "&pool_max=1");
  auto const fence = caller.take("kept", caller.owner(), 2s);
  std::jthread user([&] {
    server().query("BEGIN; SELECT " + schema_ + ".holds('kept', " + fence.decimal() +
                   "); SELECT pg_sleep(6); COMMIT");
  });
  ASSERT_TRUE(wait_until([&] {
    return server().query("SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'PgSleep'") ==
           "1";
  }));
  auto const busy = caller.acquire("kept", caller.owner());
  ASSERT_FALSE(busy) << "it is another's, which needs no lock";
  ASSERT_TRUE(wait_until([&] { return !caller.find("kept"); })) << "its time must end";
  caller.set_patience(1500ms);
  auto first = caller.begin_acquire("free/1", caller.owner());
  auto kept = caller.begin_acquire("kept", caller.owner());
  auto second = caller.begin_acquire("free/2", caller.owner());
  EXPECT_TRUE(first.get());
  auto const error = error_of([&] { static_cast<void>(kept.get()); });
  ASSERT_TRUE(error);
  EXPECT_TRUE(error->retryable()) << error->what();
  static_cast<void>(error_of([&] { static_cast<void>(second.get()); }));  // behind it, on one line
}

TEST_F(PostgresSchema, WhoAskedHoldsKeepsNoOtherLeaseFromBeingRenewed) {
  PostgresCaller caller(url_);
  auto const owner = caller.owner();
  auto const fence = caller.take("kept", owner);
  caller.take("other", owner);
  std::jthread user([&] {
    server().query("BEGIN; SELECT " + schema_ + ".holds('kept', " + fence.decimal() +
                   "); SELECT pg_sleep(2); COMMIT");
  });
  ASSERT_TRUE(wait_until([&] {
    return server().query("SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'PgSleep'") ==
           "1";
  }));
  std::vector<LeaseRenewal> both;
  for (auto const* name : {"kept", "other"}) both.emplace_back(Name(name), owner, 1000s);
  caller.set_patience(300ms);
  auto const error = error_of([&] { static_cast<void>(caller.renew_all(both)); });
  ASSERT_TRUE(error) << "one cannot be renewed in time";
  EXPECT_EQ(error->outcome(), Outcome::unknown);
  caller.set_patience(10s);
  EXPECT_EQ(caller.find("other")->ttl, 1000s);
  for (auto const& answer : caller.renew_all(both)) EXPECT_TRUE(answer);
  EXPECT_EQ(caller.find("kept")->ttl, 1000s);
}

}  // namespace
}  // namespace holt::test
