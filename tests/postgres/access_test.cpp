// SPDX-License-Identifier: Apache-2.0
// Getting in: where a password comes from, the service file, several hosts, a server without a
// place left; and that no call leaves a transaction open.

#include "postgres/caller.hpp"
#include "support/temporary_folder.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <sys/stat.h>

#include <cstdlib>
#include <fstream>
#include <future>
#include <memory>

namespace holt::test {
namespace {

using testing::HasSubstr;
using testing::Not;

/// Set as long as it lives. Nobody else reads the environment meanwhile.
class Variable {
 public:
  Variable(char const* name, std::string const& value) : name_(name) {
    ::setenv(name, value.c_str(), 1);
  }
  ~Variable() { ::unsetenv(name_); }
  Variable(Variable const&) = delete;
  Variable& operator=(Variable const&) = delete;

 private:
  char const* name_;
};

class PostgresAccess : public testing::Test {
 protected:
  /// The role "keyed" must know the password "hush".
  static PostgresServer& server() {
    static PostgresServer it(
        {.access = {"local all keyed scram-sha-256", "host all keyed 127.0.0.1/32 scram-sha-256"}});
    static bool const made = [] {
      it.query("CREATE ROLE keyed LOGIN PASSWORD 'hush'");
      it.query("GRANT CREATE ON DATABASE postgres TO keyed");
      return true;
    }();
    static_cast<void>(made);
    return it;
  }
  static std::string url(std::string const& options, std::string const& user = "keyed") {
    return "postgres://" + user + "@" + server().address() + "/postgres?schema=of_keyed" + options;
  }
  /// Opens it and uses it.
  static void use(std::string const& url) {
    PostgresCaller caller(url);
    auto const owner = caller.owner();
    caller.take("a", owner);
    EXPECT_TRUE(caller.release("a", owner));
  }
  [[nodiscard]] std::string write(std::string const& name, std::string const& text) const {
    std::ofstream(folder_.file(name)) << text;
    ::chmod(folder_.file(name).c_str(), 0600);
    return folder_.file(name);
  }

  TemporaryFolder folder_;
};

TEST_F(PostgresAccess, APasswordInTheAddress) { use(url("", "keyed:hush")); }

TEST_F(PostgresAccess, APasswordFromAPasswordFileOfLibpq) {
  auto const file = write("pgpass", fmt::format("127.0.0.1:{}:*:keyed:hush\n", server().port()));
  use(url("&passfile=" + file));
  Variable const variable("PGPASSFILE", file);
  use(url(""));
}

TEST_F(PostgresAccess, APasswordFromAFileOrAVariable) {
  use(url("&password_file=" + write("secret", "hush\n")));
  Variable const variable("HOLT_TEST_PASSWORD", "hush");
  use(url("&password_env=HOLT_TEST_PASSWORD"));
}

TEST_F(PostgresAccess, WithoutThePasswordNobodyGetsInAndNoSecretIsTold) {
  for (auto const* user : {"keyed", "keyed:loud"}) {
    auto const error = error_of([&] { use(url("", user)); });
    ASSERT_TRUE(error);
    EXPECT_EQ(error->code(), ErrorCode::auth_failed) << error->what();
    EXPECT_EQ(error->outcome(), Outcome::not_applied);
    EXPECT_THAT(error->what(), Not(HasSubstr("loud")));
    EXPECT_THAT(error->hint(), HasSubstr("password"));
  }
}

TEST_F(PostgresAccess, AServiceFile) {
  Variable const variable(
      "PGSERVICEFILE",
      write("services", fmt::format("[locks]\nhost=127.0.0.1\nport={}\nuser=keyed\n"
                                    "password=hush\ndbname=postgres\n",
                                    server().port())));
  use("postgres:///?service=locks&schema=of_keyed");
  auto const error = error_of([&] { use("postgres:///?service=another&schema=of_keyed"); });
  ASSERT_TRUE(error);
  EXPECT_THAT(error->what(), HasSubstr("another"));
}

TEST_F(PostgresAccess, ASocketWithAPassword) {
  use("postgres://keyed:hush@/postgres?schema=of_keyed&host=" + server().folder() +
      "&port=" + std::to_string(server().port()));
}

TEST_F(PostgresAccess, OfSeveralHostsTheFirstThatAnswersIsUsed) {
  ReservedPort const nobody;
  use(fmt::format("postgres://keyed:hush@127.0.0.1:{},{}/postgres?schema=of_keyed", nobody.number(),
                  server().address()));
}

/// All places of the server are taken, by others.
TEST(PostgresCrowded, AServerWithoutAPlaceLeftSaysSoAndIsUsedWhenThereIsOne) {
  PostgresServer server({.config = {"max_connections = 12", "superuser_reserved_connections = 3",
                                    "max_wal_senders = 0"}});
  server.query("CREATE ROLE app LOGIN");
  server.query("GRANT CREATE ON DATABASE postgres TO app");
  auto const url = "postgres://app@" + server.address() + "/postgres?listen=none&pool_max=2";
  PostgresCaller early(url);
  auto const owner = early.owner();
  auto const fence = early.take("a", owner);
  std::vector<std::unique_ptr<PostgresCaller>> others;
  std::optional<EngineError> full;
  while (!full && others.size() < 20) {
    full = error_of([&] { others.push_back(std::make_unique<PostgresCaller>(url)); });
  }
  ASSERT_TRUE(full);
  EXPECT_EQ(full->code(), ErrorCode::rate_limited) << full->what();
  EXPECT_EQ(full->outcome(), Outcome::not_applied);
  EXPECT_TRUE(full->retryable());
  EXPECT_THAT(full->hint(), HasSubstr("max_connections"));
  // Who is connected goes on, and does with one connection what it wants two for.
  EXPECT_TRUE(early.renew("a", owner));
  std::vector<std::future<std::expected<LeaseGrant, Busy>>> many;
  for (int i = 0; i < 20; ++i) {
    many.push_back(early.begin_acquire("n" + std::to_string(i), early.owner()));
  }
  for (auto& one : many) EXPECT_TRUE(one.get());
  EXPECT_EQ(early.find("a")->fence, fence);
  others.clear();
  EXPECT_TRUE(wait_until([&] { return !error_of([&] { PostgresCaller late(url); }); }));
}

/// A standby that must confirm and does not: no time-out of the server ends that wait.
TEST(PostgresFrozenStandby, EndsACallAtItsDeadlineAndLaterOnesGoOn) {
  PostgresServer primary({.config = {"statement_timeout = 300ms"}});
  {
    PostgresCaller first(primary.url());
  }
  PostgresServer standby(primary, "second");
  primary.query("ALTER SYSTEM SET synchronous_standby_names = 'second'");
  primary.query("SELECT pg_reload_conf()");
  ASSERT_TRUE(wait_until([&] {
    return primary.query("SELECT count(*) FROM pg_stat_replication WHERE sync_state = 'sync'") ==
           "1";
  }));
  PostgresCaller caller(primary.url());
  auto const holder = caller.owner();
  auto const fence = caller.take("a", holder);
  standby.freeze();
  caller.set_patience(1s);
  auto const start = BootClock::now();
  auto const owner = caller.owner();
  auto const late = error_of([&] { static_cast<void>(caller.acquire("b", owner)); });
  EXPECT_LT(BootClock::now() - start, 4s);
  ASSERT_TRUE(late);
  EXPECT_EQ(late->code(), ErrorCode::network_timeout) << late->what();
  EXPECT_EQ(late->outcome(), Outcome::unknown);
  EXPECT_TRUE(late->retryable());
  standby.thaw();
  caller.set_patience(10s);
  // The same owner asks again and knows; nobody else has it.
  ASSERT_TRUE(wait_until([&] { return !error_of([&] { caller.acquire("b", owner); }); }));
  EXPECT_EQ(caller.find("b")->owner, owner);
  EXPECT_GT(caller.find("b")->fence, fence);
  EXPECT_TRUE(caller.renew("a", holder));
  expect_no_idle_transaction(primary);
}

}  // namespace
}  // namespace holt::test
