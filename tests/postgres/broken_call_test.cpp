// SPDX-License-Identifier: Apache-2.0
// A break in the middle of each call: what is said about its outcome is true, nothing takes longer
// than its deadline, and the next call works.

#include "postgres/call_kinds.hpp"
#include "support/servers/tcp_proxy.hpp"

#include <fmt/format.h>

#include <functional>
#include <thread>

namespace holt::test {
namespace {

constexpr std::chrono::milliseconds slack{3000};  // a machine under load, with a sanitizer

class PostgresBrokenCall : public OnOneServer {
 protected:
  [[nodiscard]] bool applied(CallKind const& kind) const {
    return server().query("SELECT " + fmt::format(fmt::runtime(kind.applied), schema_)) == "t";
  }
  void empty() const {
    server().query(
        fmt::format("DELETE FROM {0}.lease; DELETE FROM {0}.ticket; "
                    "DELETE FROM {0}.record; DELETE FROM {0}.counter",
                    schema_));
  }

  /// Breaks the next call with `fault` and checks what it says.
  void breaks(CallKind const& kind, std::function<void()> const& fault,
              std::function<void()> const& end_of_fault, Nanos patience = 10s) {
    SCOPED_TRACE(kind.name);
    empty();
    auto const owner = caller_.owner();
    caller_.set_patience(10s);
    EXPECT_FALSE(caller_.find("x")) << "connected, and the store is empty";
    if (kind.needs_lease) direct_.take("x", owner);
    fault();
    caller_.set_patience(patience);
    auto const start = BootClock::now();
    auto const error = error_of([&] { kind.call(caller_, owner); });
    EXPECT_LT(BootClock::now() - start, patience + slack);
    end_of_fault();
    ASSERT_TRUE(error) << "nobody noticed";
    EXPECT_TRUE(error->retryable()) << error->what();
    said_ = error->outcome();
    if (!kind.writes) {
      EXPECT_EQ(said_, Outcome::not_applied) << error->what();
    }
    caller_.set_patience(10s);
    EXPECT_TRUE(wait_until([&] { return !error_of([&] { caller_.find("x"); }); }))
        << "a later call goes well";
    if (kind.writes && said_ == Outcome::not_applied) {
      EXPECT_FALSE(applied(kind)) << "it said that it did not happen: " << error->what();
    }
  }

  PostgresCaller direct_{url_};
  TcpProxy proxy_{server().port()};
  PostgresCaller caller_{"postgres://postgres@127.0.0.1:" + std::to_string(proxy_.port()) +
                         "/postgres?pool_max=1&sslmode=disable&schema=" + schema_};
  Outcome said_ = Outcome::unknown;
};

TEST_F(PostgresBrokenCall, CutBeforeTheStatement) {
  for (auto const& kind : call_kinds()) {
    breaks(kind, [&] { proxy_.cut_before(Way::to_server); }, [&] { proxy_.pass(); });
    EXPECT_FALSE(applied(kind));
  }
}

TEST_F(PostgresBrokenCall, CutBeforeTheAnswer) {
  for (auto const& kind : call_kinds()) {
    breaks(kind, [&] { proxy_.cut_before(Way::to_client); }, [&] { proxy_.pass(); });
    if (!kind.writes) continue;
    EXPECT_EQ(said_, Outcome::unknown) << kind.name;
    EXPECT_TRUE(wait_until([&] { return applied(kind); })) << kind.name;
  }
}

TEST_F(PostgresBrokenCall, NoAnswerInTime) {
  for (auto const& kind : call_kinds()) {
    breaks(
        kind, [&] { proxy_.swallow(Way::to_client); },
        [&] {
          proxy_.cut_all();
          proxy_.pass();
        },
        500ms);
    if (!kind.writes) continue;
    EXPECT_EQ(said_, Outcome::unknown) << kind.name;
  }
}

TEST_F(PostgresBrokenCall, ALockThatIsKeptTooLongEndsTheCallAndNothingIsDone) {
  auto const owner = direct_.owner();
  direct_.take("x", owner);
  std::jthread keeper([&] {
    server().query(fmt::format(
        "BEGIN; SELECT FROM {}.lease FOR UPDATE; SELECT pg_sleep(3); ROLLBACK", schema_));
  });
  ASSERT_TRUE(wait_until([&] {
    return server().query("SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'PgSleep'") ==
           "1";
  }));
  direct_.set_patience(500ms);
  auto const error = error_of([&] { static_cast<void>(direct_.release("x", owner)); });
  ASSERT_TRUE(error);
  EXPECT_TRUE(error->retryable()) << error->what();
  keeper.join();
}

}  // namespace
}  // namespace holt::test
