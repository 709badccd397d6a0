// SPDX-License-Identifier: Apache-2.0
// The server's process for a connection ends in the middle of each call: while the call waits for a
// lock in there, and while its commit is under way. An operator ends it, or SIGKILL does, which
// makes the whole server start again. What is then said of the call is true, no name has two
// holders, and fences grow.

#include "postgres/call_kinds.hpp"
#include "support/contender.hpp"
#include "support/overlap_log.hpp"
#include "support/servers/postgres_server.hpp"

#include <fmt/format.h>

#include <signal.h>

#include <atomic>
#include <future>
#include <stdexcept>
#include <thread>

namespace holt::test {
namespace {

enum class Weapon { terminate, sigkill };

class PostgresKilledBackend : public testing::TestWithParam<Weapon> {
 protected:
  /// Nobody confirms what is committed with synchronous_commit = on: such a commit is written here
  /// and then waits for ever.
  static PostgresServer& server() {
    static PostgresServer it(
        {.config = {"synchronous_standby_names = 'nobody'", "synchronous_commit = local"}});
    return it;
  }
  static std::string new_schema() {
    static int count = 0;
    return "k" + std::to_string(++count);
  }

  void TearDown() override { expect_no_idle_transaction(server()); }

  [[nodiscard]] std::string url(std::string const& options = {}) const {
    return server().url() + "?schema=" + schema_ + options;
  }
  [[nodiscard]] bool applied(CallKind const& kind) const {
    return server().query("SELECT " + fmt::format(fmt::runtime(kind.applied), schema_)) == "t";
  }
  /// Another process after each start of the server; empty while it cannot be asked.
  static std::string checkpointer() {
    try {
      return server().query("SELECT pid FROM pg_stat_activity WHERE backend_type = 'checkpointer'");
    } catch (std::runtime_error const&) {
      return {};
    }
  }

  /// The process that carries out what the victim asked for, once it waits in this way.
  static pid_t backend_waiting(std::string const& how) {
    std::string found;
    static_cast<void>(wait_until([&] {
      found = server().query(
          "SELECT pid FROM pg_stat_activity WHERE application_name = 'victim' "
          "AND " +
          how);
      return !found.empty();
    }));
    return found.empty() ? 0 : static_cast<pid_t>(std::stol(found));
  }

  /// The server is there again when this returns.
  static void strike(pid_t backend) {
    ASSERT_GT(backend, 1) << "the call never got there";
    if (GetParam() == Weapon::terminate) {
      server().query("SELECT pg_terminate_backend(" + std::to_string(backend) + ")");
      return;
    }
    auto const before = checkpointer();
    ASSERT_EQ(::kill(backend, SIGKILL), 0);
    ASSERT_TRUE(wait_until([&] {
      auto const now = checkpointer();
      return !now.empty() && now != before;
    }));
  }

  /// A transaction that keeps others waiting until it is told to let go, or the server ends.
  class Keeper {
   public:
    /// `rests`: in which wait_event one sees that it has what it wants.
    Keeper(std::string const& statements, std::string rests) : rests_(std::move(rests)) {
      thread_ = std::jthread([statements] {
        try {
          server().query("SET application_name = 'keeper'; " + statements);
        } catch (std::runtime_error const&) {  // its end, one way or another
        }
      });
      EXPECT_TRUE(wait_until([this] { return count("true") == "1"; }));
    }
    ~Keeper() { count("pg_cancel_backend(pid)"); }
    Keeper(Keeper const&) = delete;
    Keeper& operator=(Keeper const&) = delete;

   private:
    std::string count(std::string const& what) const {
      return server().query("SELECT count(" + what +
                            ") FROM pg_stat_activity WHERE application_name = 'keeper' AND "
                            "wait_event = '" +
                            rests_ + "'");
    }
    std::string rests_;
    std::jthread thread_;
  };

  void prepare(CallKind const& kind) {
    server().query(fmt::format(
        "DELETE FROM {0}.lease; DELETE FROM {0}.record; DELETE FROM {0}.counter", schema_));
    owner_ = direct_->owner();
    if (kind.needs_lease) note(direct_->take("x", owner_));
  }
  void note(Fence fence) {
    EXPECT_GT(fence, highest_);
    highest_ = fence;
  }

  /// The call of a client of its own, behind us.
  std::future<std::optional<EngineError>> begin(CallKind const& kind, std::string const& options) {
    return std::async(std::launch::async, [this, &kind, options] {
      PostgresCaller victim(url("&application_name=victim&pool_max=1&listen=none" + options));
      return error_of([&] { kind.call(victim, owner_); });
    });
  }

  /// Whatever happened, the same call by the same owner settles it, and all is in order afterwards.
  void settle(CallKind const& kind) {
    ASSERT_TRUE(wait_until([&] { return !error_of([&] { direct_->find("x"); }); }));
    kind.call(*direct_, owner_);
    if (kind.writes) {
      EXPECT_TRUE(applied(kind));
    }
    auto const held = direct_->find("x");
    auto const stranger = direct_->owner();
    auto const granted = direct_->acquire("x", stranger);
    EXPECT_NE(held.has_value(), granted.has_value()) << "two holders, or none";
    if (held) {
      EXPECT_EQ(held->owner, owner_);
      EXPECT_TRUE(direct_->renew("x", owner_) || !held->broken.empty());
      highest_ = std::max(highest_, held->fence);
      static_cast<void>(direct_->release("x", owner_));
      note(direct_->take("x", stranger));
    } else {
      note(granted->fences.at(0));
    }
  }

  std::string const schema_ = new_schema();
  std::unique_ptr<PostgresCaller> direct_ = std::make_unique<PostgresCaller>(url());
  Owner owner_;
  Fence highest_;
};

TEST_P(PostgresKilledBackend, BeforeTheCommitNothingIsDone) {
  for (auto const& kind : call_kinds()) {
    SCOPED_TRACE(kind.name);
    prepare(kind);
    std::future<std::optional<EngineError>> call;
    {
      Keeper const kept("BEGIN; LOCK TABLE " + schema_ + "." + kind.table +
                            " IN ACCESS EXCLUSIVE MODE; SELECT pg_sleep(60); ROLLBACK",
                        "PgSleep");
      call = begin(kind, "");
      strike(backend_waiting("wait_event_type = 'Lock'"));
    }
    auto const error = call.get();
    ASSERT_TRUE(error) << "nobody noticed";
    EXPECT_TRUE(error->retryable()) << error->what();
    EXPECT_EQ(error->code(), ErrorCode::service_unavailable) << error->what();
    if (!kind.writes) {
      EXPECT_EQ(error->outcome(), Outcome::not_applied);
    }
    EXPECT_FALSE(applied(kind)) << error->what();
    settle(kind);
  }
}

TEST_P(PostgresKilledBackend, InTheCommitItIsUnknownAndDone) {
  for (auto const& kind : call_kinds()) {
    if (!kind.writes) continue;
    SCOPED_TRACE(kind.name);
    prepare(kind);
    auto call = begin(kind, "&options=-csynchronous_commit%3Don");
    strike(backend_waiting("wait_event = 'SyncRep'"));
    auto const error = call.get();
    ASSERT_TRUE(error) << "nobody noticed";
    EXPECT_EQ(error->outcome(), Outcome::unknown) << error->what();
    EXPECT_TRUE(error->retryable()) << error->what();
    EXPECT_TRUE(applied(kind)) << "it was committed on this server";
    settle(kind);
  }
}

/// A signal may get lost, but not those after it.
TEST_P(PostgresKilledBackend, SignalsGoOnAfterOneWasLost) {
  PostgresCaller hearer(url());
  PostgresCaller sender(url("&application_name=victim&pool_max=1&listen=none"));
  std::atomic<int> lost = 0;
  std::atomic<int> heard = 0;
  std::atomic<int> announced = 0;
  auto& signals = hearer.engine().signals();
  signals.subscribe("news", [&](Signal const& signal) { ++(signal.text == "1" ? lost : heard); });
  signals.subscribe(std::string(topic::offer), [&](Signal const& signal) {
    if (signal.text.empty()) ++announced;  // there may be something that nobody told us
  });
  signals.listen();
  ASSERT_TRUE(wait_until([&] { return signals.listening() && announced > 0; }));
  auto const before = announced.load();
  {
    // Whoever commits a notification waits for others who do.
    Keeper const kept("SET synchronous_commit = on; BEGIN; INSERT INTO " + schema_ +
                          ".counter VALUES ('test', 'k', 1); NOTIFY nobody; COMMIT",
                      "SyncRep");
    sender.engine().signals().send(signals.inbox(), {"news", "1"});
    strike(backend_waiting("wait_event_type = 'Lock'"));
  }
  if (GetParam() == Weapon::sigkill) {
    EXPECT_TRUE(wait_until([&] { return announced > before; })) << "its connection broke, too";
  }
  EXPECT_TRUE(wait_until([&] {
    sender.engine().signals().send(signals.inbox(), {"news", "2"});
    return heard > 0;
  }));
  EXPECT_EQ(lost, 0) << "it was not committed";
}

TEST_P(PostgresKilledBackend, WhoListensIsToldThatSomethingMayHaveBeenMissed) {
  PostgresCaller hearer(url("&application_name=victim"));
  std::atomic<int> announced = 0;
  auto& signals = hearer.engine().signals();
  signals.subscribe(std::string(topic::offer), [&](Signal const& signal) {
    if (signal.text.empty()) ++announced;
  });
  signals.listen();
  ASSERT_TRUE(wait_until([&] { return announced == 1; }));
  strike(backend_waiting("query LIKE 'LISTEN%'"));
  EXPECT_TRUE(wait_until([&] { return announced >= 2 && signals.listening(); }));
}

/// All of it together, as clients of the library see it.
TEST_P(PostgresKilledBackend, NeverTwoHoldersWhileBackendsAreKilled) {
  TemporaryFolder const folder;
  auto const log = folder.file("overlaps");
  std::atomic<int> struck = 0;
  std::jthread const killer([&](std::stop_token const& stop) {
    while (!stop.stop_requested()) {
      std::this_thread::sleep_for(GetParam() == Weapon::sigkill ? 400ms : 40ms);
      try {
        // Sixteen calls are under way at any moment: whichever is in the middle of something.
        auto const backend = server().query(
            "SELECT pid FROM pg_stat_activity WHERE application_name = 'victim' "
            "ORDER BY state = 'active' DESC, random() LIMIT 1");
        if (backend.empty()) continue;
        strike(static_cast<pid_t>(std::stol(backend)));
        ++struck;
      } catch (std::runtime_error const&) {
        continue;  // it starts again
      }
    }
  });
  Contention const how{.url = url("&application_name=victim"),
                       .log = log,
                       .who = "one",
                       .threads = 16,
                       .names = 4,
                       .rounds = GetParam() == Weapon::sigkill ? 40 : 60,
                       .patient = false,
                       .ttl = 600ms};
  // However quick the machine is, they go on until it hit them more than once.
  for (auto passes = 0; passes == 0 || (struck < 2 && passes < 50); ++passes) {
    EXPECT_EQ(contend(how), how.threads * how.rounds);
  }
  EXPECT_GE(struck, 2);
  EXPECT_EQ(overlaps_in(log), std::vector<std::string>());
}

INSTANTIATE_TEST_SUITE_P(By, PostgresKilledBackend,
                         testing::Values(Weapon::terminate, Weapon::sigkill), [](auto const& one) {
                           return one.param == Weapon::sigkill ? "Sigkill" : "Operator";
                         });

}  // namespace
}  // namespace holt::test
