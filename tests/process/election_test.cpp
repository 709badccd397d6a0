// SPDX-License-Identifier: Apache-2.0
// Elections between processes on every store: leaders die, freeze or are cut off, and the server,
// where there is one, is started again. Never do two lead at once, in their own eyes, and terms
// only rise; a resource that checks them refuses the one who comes too late.

#include "process/places.hpp"
#include "support/fence_register.hpp"
#include "support/overlap_log.hpp"
#include "support/servers/tcp_proxy.hpp"
#include "support/servers/wait_until.hpp"

#include <holt/holt.hpp>

#include <gtest/gtest.h>

#include <csignal>
#include <memory>
#include <optional>

namespace holt::test {
namespace {

using namespace std::chrono_literals;

std::string new_election() {
  static int count = 0;
  return "e" + std::to_string(++count);
}

class ElectionBetweenProcesses : public testing::TestWithParam<Place& (*)()> {
 protected:
  static constexpr auto ttl = "2000";  // ms: a crowded machine must not lose a leader by itself

  /// A process that stands; by another way than the usual one, when it is given.
  std::unique_ptr<Remote> candidate(std::string const& who, std::optional<std::string> url = {}) {
    auto process = std::make_unique<Remote>(url.value_or(place_.url()));
    EXPECT_EQ(process->ask("stand " + election_ + " " + ttl + " " + log_ + " " + who), "standing");
    return process;
  }
  /// The term that it leads in; fails when it does not come to lead.
  static Fence leads(Remote& process) {
    auto const answer = process.ask("await_leading 40000", 60s);
    EXPECT_TRUE(answer.starts_with("leads ")) << answer;
    return answer.starts_with("leads ") ? Fence(std::stoull(answer.substr(6))) : Fence();
  }
  static bool follows(Remote& process) {
    return process.ask("await_following 40000", 60s) == "follows";
  }
  /// So many are in line: who has not come so far cannot lead next.
  bool in_line(std::uint32_t count) {
    return wait_until(
        [&] {
          auto const leader = holt_.leader(election_);
          return leader && !leader->offered && leader->candidates == count;
        },
        40s);
  }
  /// Stops it where it does: in the middle of a step it would keep everybody from an embedded
  /// store.
  void freeze(Remote& process) {
    for (int tries = 0; tries < 20; ++tries) {
      process.signal(SIGSTOP);
      if (can_write()) return;
      process.signal(SIGCONT);
    }
    ADD_FAILURE() << "it cannot be stopped outside of a step";
  }
  bool can_write() {
    try {
      return holt_.try_lock("probe").has_value();
    } catch (EngineError const&) {
      return false;
    }
  }
  /// Nothing as well when the server cannot be asked just now.
  std::optional<LeaderInfo> leader_if_known() {
    try {
      return holt_.leader(election_);
    } catch (EngineError const&) {
      return std::nullopt;
    }
  }
  /// What the whole test must have been like; `tenures`: how often somebody led, at least.
  void expect_order(std::size_t tenures) const {
    EXPECT_GE(tenures_in(log_), tenures);
    EXPECT_EQ(overlaps_in(log_), std::vector<std::string>());
  }

  Place& place_ = GetParam()();
  std::string const election_ = new_election();
  TemporaryFolder folder_;
  std::string log_ = folder_.file("overlaps");
  FenceRegister resource_;
  Holt holt_ = open(place_.url());
};
INSTANTIATE_TEST_SUITE_P(Sqlite, ElectionBetweenProcesses, testing::Values(&shared<FilePlace>),
                         [](auto const&) { return "sqlite"; });
INSTANTIATE_TEST_SUITE_P(Redis, ElectionBetweenProcesses, testing::Values(&shared<RedisPlace>),
                         [](auto const&) { return "redis"; });
INSTANTIATE_TEST_SUITE_P(Postgres, ElectionBetweenProcesses,
                         testing::Values(&shared<PostgresPlace>),
                         [](auto const&) { return "postgres"; });

class ElectionOnAServer : public ElectionBetweenProcesses {
 protected:
  ServerPlace& server_ = dynamic_cast<ServerPlace&>(place_);
};
INSTANTIATE_TEST_SUITE_P(Redis, ElectionOnAServer, testing::Values(&shared<RedisPlace>),
                         [](auto const&) { return "redis"; });
INSTANTIATE_TEST_SUITE_P(Postgres, ElectionOnAServer, testing::Values(&shared<PostgresPlace>),
                         [](auto const&) { return "postgres"; });

TEST_P(ElectionBetweenProcesses, AKilledLeaderIsReplacedInAHigherTerm) {
  auto const first = candidate("first");
  auto const before = leads(*first);
  auto const second = candidate("second");
  ASSERT_TRUE(in_line(1));
  first->kill();
  EXPECT_GT(leads(*second), before);
  expect_order(2);
}

TEST_P(ElectionBetweenProcesses, AFrozenLeaderKnowsOnWakingAndItsLateTermIsRefused) {
  auto const first = candidate("first");
  auto const old_term = leads(*first);
  EXPECT_TRUE(resource_.write(old_term));
  auto const second = candidate("second");
  ASSERT_TRUE(in_line(1));
  freeze(*first);
  auto const term = leads(*second);
  EXPECT_GT(term, old_term);
  EXPECT_TRUE(resource_.write(term));
  first->signal(SIGCONT);
  EXPECT_EQ(first->ask("await_following 0"), "follows") << "at once, without asking anybody";
  EXPECT_FALSE(resource_.write(old_term));
  ASSERT_TRUE(in_line(1)) << "it stands again";
  EXPECT_EQ(second->ask("step_down"), "done");
  EXPECT_GT(leads(*first), term);
  expect_order(3);
}

TEST_P(ElectionOnAServer, ALeaderThatIsCutOffStopsBelievingBeforeTheNextLeads) {
  TcpProxy proxy(server_.port());
  auto const first = candidate("first", server_.url_at(proxy.port()));
  auto const old_term = leads(*first);
  EXPECT_TRUE(resource_.write(old_term));
  auto const second = candidate("second");
  ASSERT_TRUE(in_line(1));
  proxy.black_hole();
  auto const term = leads(*second);
  EXPECT_GT(term, old_term);
  EXPECT_TRUE(resource_.write(term));
  EXPECT_EQ(first->ask("await_following 0"), "follows");
  EXPECT_FALSE(resource_.write(old_term));
  proxy.pass();
  ASSERT_TRUE(in_line(1)) << "it is back";
  EXPECT_EQ(second->ask("step_down"), "done");
  EXPECT_GT(leads(*first), term);
  expect_order(3);
}

TEST_P(ElectionOnAServer, AnElectionOutlivesARestartOfTheServer) {
  auto const first = candidate("first");
  auto const before = leads(*first);
  auto const second = candidate("second");
  ASSERT_TRUE(in_line(1));
  server_.restart();
  auto const restarted = BootClock::now();
  // Who leads now depends on how long that took: whoever has renewed since then.
  std::optional<LeaderInfo> leader;
  ASSERT_TRUE(wait_until(
      [&] {
        leader = leader_if_known();
        return leader && !leader->offered && leader->candidates == 1 &&
               BootClock::now() - leader->heartbeat_age > restarted + 50ms;
      },
      40s));
  EXPECT_GE(leader->term, before);
  auto& leading = leader->id == "first" ? *first : *second;
  auto& following = leader->id == "first" ? *second : *first;
  auto const term = leads(leading);
  EXPECT_EQ(leading.ask("step_down"), "done");
  EXPECT_GT(leads(following), term);
  expect_order(2);
}

TEST_P(ElectionBetweenProcesses, TermsRiseHoweverLeadersGo) {
  auto const first = candidate("first");
  auto term = leads(*first);
  auto const second = candidate("second");
  ASSERT_TRUE(in_line(1));
  auto third = candidate("third");
  ASSERT_TRUE(in_line(2));
  auto const expect_next = [&](Remote& process) {
    auto const next = leads(process);
    EXPECT_GT(next, term);
    EXPECT_TRUE(resource_.write(next));
    EXPECT_FALSE(resource_.write(term));
    term = next;
  };
  EXPECT_EQ(first->ask("step_down"), "done");
  expect_next(*second);
  EXPECT_EQ(first->ask("stand_again"), "standing");
  ASSERT_TRUE(in_line(2));
  freeze(*second);
  expect_next(*third);
  third->kill();
  expect_next(*first);
  second->signal(SIGCONT);
  EXPECT_TRUE(follows(*second));
  ASSERT_TRUE(in_line(1));
  EXPECT_EQ(first->ask("step_down"), "done");
  expect_next(*second);
  expect_order(5);
}

}  // namespace
}  // namespace holt::test
