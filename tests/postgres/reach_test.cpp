// SPDX-License-Identifier: Apache-2.0
// The ways to a server: through PgBouncer, over TLS, by a socket, and when it has no place left.

#include "postgres/caller.hpp"
#include "support/servers/pgbouncer.hpp"

#include <gmock/gmock.h>

#include <algorithm>
#include <atomic>

namespace holt::test {
namespace {

class PostgresReach : public OnOneServer {};

std::optional<FindingStatus> status_of(std::vector<Finding> const& findings, std::string_view id) {
  auto const found = std::ranges::find(findings, id, &Finding::id);
  return found == findings.end() ? std::nullopt : std::optional(found->status);
}

/// What is done with a lease, and handed over to a waiter of another client.
void use(PostgresCaller& caller, PostgresCaller& other) {
  std::atomic<bool> offered = false;
  auto& signals = other.engine().signals();
  auto const waiter = other.owner();
  auto const id = signals.subscribe(std::string(topic::offer), [&](Signal const& signal) {
    if (signal.text == waiter.text()) offered = true;
  });
  auto const holder = caller.owner();
  auto const fence = caller.take("a", holder);
  auto const busy = other.acquire("a", waiter, 60s, true);
  ASSERT_FALSE(busy);
  EXPECT_EQ(busy.error().place, 1U);
  EXPECT_TRUE(caller.renew("a", holder));
  EXPECT_TRUE(caller.put("k", "v"));
  EXPECT_TRUE(caller.release("a", holder));
  EXPECT_TRUE(wait_until([&] { return offered.load(); }));
  EXPECT_GT(other.take("a", waiter), fence);
  EXPECT_TRUE(other.release("a", waiter));
  signals.unsubscribe(id);
}

TEST_F(PostgresReach, ThroughPgBouncerWhileListeningAtTheServer) {
  PgBouncer const bouncer(server());
  auto const url = bouncer.url() + "?schema=" + schema_ + "&listen=" + server().address();
  PostgresCaller caller(url);
  PostgresCaller other(url);
  for (int i = 0; i < 5; ++i) use(caller, other);
  EXPECT_EQ(status_of(caller.diagnose(), "wake-up"), FindingStatus::ok);
}

TEST_F(PostgresReach, ThroughPgBouncerAloneNobodyIsInLineAndDoctorSaysWhy) {
  PgBouncer const bouncer(server());
  PostgresCaller caller(bouncer.url() + "?schema=" + schema_);
  auto const holder = caller.owner();
  caller.take("a", holder);
  auto const busy = caller.acquire("a", caller.owner(), 60s, true);
  ASSERT_FALSE(busy);
  EXPECT_EQ(busy.error().place, 0U);
  EXPECT_EQ(caller.find("a")->waiting, 0U);
  EXPECT_TRUE(caller.release("a", holder));
  EXPECT_EQ(status_of(caller.diagnose(), "wake-up"), FindingStatus::warn);
}

TEST_F(PostgresReach, ByTheClockWhereNobodyShallListen) {
  PostgresCaller caller(url_ + "&listen=none");
  EXPECT_EQ(caller.engine().capabilities().waiting, Waiting::polling);
  caller.take("a", caller.owner());
  auto const busy = caller.acquire("a", caller.owner(), 60s, true);
  ASSERT_FALSE(busy);
  EXPECT_EQ(busy.error().place, 0U);
}

TEST_F(PostgresReach, BySocket) {
  auto const url = "postgres://postgres@/postgres?host=" + server().folder() +
                   "&port=" + std::to_string(server().port()) + "&schema=" + schema_;
  PostgresCaller caller(url);
  PostgresCaller other(url);
  use(caller, other);
}

TEST_F(PostgresReach, ListingsFromAnotherServer) {
  PostgresCaller caller(url_ + "&read_store=" + server().address());
  caller.take("a", caller.owner());
  EXPECT_EQ(caller.list().leases.size(), 1U);
}

TEST_F(PostgresReach, AServerWithoutAPlaceLeftSaysSoAndIsUsedWhenThereIsOne) {
  server().query("CREATE ROLE few LOGIN CONNECTION LIMIT 1");
  server().query("GRANT CREATE ON DATABASE postgres TO few");
  auto const url =
      "postgres://few@" + server().address() + "/postgres?listen=none&schema=" + schema_;
  auto first = std::make_unique<PostgresCaller>(url);
  auto const error = error_of([&] { PostgresCaller second(url); });
  ASSERT_TRUE(error);
  EXPECT_EQ(error->code(), ErrorCode::rate_limited) << error->what();
  EXPECT_TRUE(error->retryable());
  // It wants a second connection and has to do with one.
  for (int i = 0; i < 20; ++i) first->take("n" + std::to_string(i), first->owner());
  first.reset();
  EXPECT_TRUE(wait_until([&] { return !error_of([&] { PostgresCaller second(url); }); }));
}

TEST(PostgresTls, TheServerMustProveWhoItIs) {
  PostgresServer server({.tls = true, .access = {"hostnossl all few 127.0.0.1/32 reject"}});
  auto const base = "postgres://postgres@localhost:" + std::to_string(server.port()) +
                    "/postgres?hostaddr=127.0.0.1&sslmode=verify-full&sslrootcert=";
  PostgresCaller caller(base + server.tls().ca());
  caller.take("a", caller.owner());
  EXPECT_EQ(server.query("SELECT count(*) > 0 FROM pg_stat_ssl WHERE ssl"), "t");
  TlsFiles const strangers;
  auto const error = error_of([&] { PostgresCaller other(base + strangers.ca()); });
  ASSERT_TRUE(error);
  EXPECT_EQ(error->code(), ErrorCode::auth_failed) << error->what();
}

}  // namespace
}  // namespace holt::test
