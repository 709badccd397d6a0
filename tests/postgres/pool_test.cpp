// SPDX-License-Identifier: Apache-2.0
// The pool: how many connections there are and how old they get, and what it sends again by itself.

#include "postgres/caller.hpp"

#include <fmt/format.h>

#include <vector>

namespace holt::test {
namespace {

class PostgresPool : public OnOneServer {
 protected:
  /// An address whose connections can be told from others.
  [[nodiscard]] std::string url(std::string const& options) const {
    return url_ + "&application_name=" + schema_ + options;
  }
  [[nodiscard]] std::string of_connections(std::string const& what) const {
    return server().query(fmt::format(
        "SELECT {} FROM pg_stat_activity WHERE application_name = '{}'", what, schema_));
  }
  [[nodiscard]] int connections() const { return std::stoi(of_connections("count(*)")); }

  /// The first so many grants of this store fail in the server, in this way.
  void refuse(int how_many, std::string const& sqlstate) const {
    server().query(fmt::format(
        "CREATE SEQUENCE {0}.tries; CREATE FUNCTION {0}.refuse() RETURNS trigger "
        "LANGUAGE plpgsql AS $$ BEGIN IF nextval('{0}.tries') <= {1} THEN RAISE EXCEPTION "
        "USING ERRCODE = '{2}'; END IF; RETURN NEW; END $$; CREATE TRIGGER refuse BEFORE INSERT "
        "ON {0}.lease FOR EACH ROW EXECUTE FUNCTION {0}.refuse()",
        schema_, how_many, sqlstate));
  }
  [[nodiscard]] int tries() const {
    return std::stoi(server().query("SELECT last_value FROM " + schema_ + ".tries"));
  }
};

TEST_F(PostgresPool, GrowsWhileThereIsMuchToDoAndShrinksAfterwards) {
  PostgresCaller caller(url("&pool_max=3&pool_min=1&pool_idle=1&listen=none"));
  EXPECT_EQ(connections(), 1);
  int name = 0;
  int most = 0;
  EXPECT_TRUE(wait_until([&] {
    std::vector<std::future<std::expected<LeaseGrant, Busy>>> calls;
    for (int i = 0; i < 500; ++i) {
      calls.push_back(caller.begin_acquire(std::to_string(++name), caller.owner()));
    }
    for (auto& call : calls) EXPECT_TRUE(call.get());
    most = std::max(most, connections());
    return most == 3;
  })) << most;
  EXPECT_TRUE(wait_until([&] { return connections() == 1; }));
  EXPECT_FALSE(caller.find("nothing"));
}

TEST_F(PostgresPool, AConnectionIsReplacedWhenItIsOld) {
  PostgresCaller caller(url("&pool_max=1&pool_lifetime=1&listen=none"));
  auto const first = of_connections("min(pid)");
  EXPECT_TRUE(wait_until([&] {
    EXPECT_FALSE(caller.find("nothing"));
    return of_connections("min(pid)") != first;
  }));
}

TEST_F(PostgresPool, WhatWasRefusedBecauseOfOthersIsSentAgain) {
  for (auto const* sqlstate : {"40P01", "40001"}) {
    SCOPED_TRACE(sqlstate);
    PostgresCaller caller(url(""));
    refuse(2, sqlstate);
    caller.take("a", caller.owner());
    EXPECT_EQ(tries(), 3);
    server().query(
        fmt::format("SET client_min_messages = warning; DROP SCHEMA {} CASCADE", schema_));
  }
}

TEST_F(PostgresPool, WhatIsRefusedAgainAndAgainIsToldInTheEnd) {
  PostgresCaller caller(url(""));
  refuse(1000, "40P01");
  auto const error = error_of([&] { static_cast<void>(caller.acquire("a", caller.owner())); });
  ASSERT_TRUE(error);
  EXPECT_EQ(error->outcome(), Outcome::not_applied) << error->what();
  EXPECT_TRUE(error->retryable());
  EXPECT_EQ(tries(), 8);
}

}  // namespace
}  // namespace holt::test
