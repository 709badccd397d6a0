// SPDX-License-Identifier: Apache-2.0
// Polling by several processes: nodes die, freeze, leave, come or are cut off, and servers are
// started again. Never do two poll an endpoint at once, in their own eyes, and fences only rise; a
// resource that checks them refuses the one who comes too late.

#include "primitives/rendezvous.hpp"
#include "process/places.hpp"
#include "support/fence_register.hpp"
#include "support/overlap_log.hpp"
#include "support/servers/tcp_proxy.hpp"
#include "support/servers/wait_until.hpp"

#include <holt/holt.hpp>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <csignal>
#include <map>
#include <memory>
#include <optional>
#include <sstream>

namespace holt::test {
namespace {

using namespace std::chrono_literals;

std::string new_polling() {
  static int count = 0;
  return "p" + std::to_string(++count);
}

constexpr auto patience = 60s;

/// What a worker says of the poll that it keeps in flight.
struct KeptPoll {
  std::string endpoint;
  Fence fence;
  std::string held;
  std::string told;
};

class PollingNodes {
 protected:
  explicit PollingNodes(Place& place) : place_(place), holt_(open(place.url())) {}

  /// A process that takes part.
  std::unique_ptr<Remote> node(std::string const& who, std::chrono::milliseconds ttl = 2s,
                               std::optional<std::string> const& url = {}) {
    auto process = std::make_unique<Remote>(url.value_or(place_.url()));
    auto command = fmt::format("fetch {} {} 50 {} {}", polling_, ttl.count(), log_, who);
    for (auto const& endpoint : endpoints_) command += ' ' + endpoint;
    EXPECT_EQ(process->ask(command), "fetching");
    return process;
  }
  /// The fence of one more poll of it by this node; none fails the test.
  static Fence polls(Remote& process, std::string const& endpoint) {
    auto const answer = process.ask(
        fmt::format("await_poll {} {}", endpoint, std::chrono::milliseconds(patience).count()),
        patience * 2);
    EXPECT_TRUE(answer.starts_with("polled ")) << endpoint << ": " << answer;
    return answer.starts_with("polled ") ? Fence(std::stoull(answer.substr(7))) : Fence();
  }
  static KeptPoll kept(std::string const& answer) {
    std::istringstream words(answer);
    std::string first;
    std::uint64_t fence = 0;
    KeptPoll poll;
    words >> first >> poll.endpoint >> fence >> poll.held >> poll.told;
    EXPECT_EQ(first, "kept") << answer;
    poll.fence = Fence(fence);
    return poll;
  }
  /// The next poll of this node, or of this endpoint there, which stays in flight.
  static KeptPoll keep(Remote& process, std::string const& endpoint = "-") {
    return kept(process.ask("keep " + endpoint + " 60000", patience * 2));
  }
  /// An endpoint that belongs to the node `second` when there is one beside `first`.
  std::string wanted_by_second() const {
    std::vector<rendezvous::Node> const nodes = {{"first", 1}, {"second", 1}};
    auto const nominated = rendezvous::nominate(nodes, endpoints_, PollWeights::mixed, 0);
    auto const found = std::ranges::find(nominated, 1U);
    EXPECT_NE(found, nominated.end());
    return endpoints_.at(static_cast<std::size_t>(found - nominated.begin()));
  }

  /// Who has what in the store; nothing when it cannot be asked just now.
  std::map<std::string, EndpointInfo> seen() {
    std::map<std::string, EndpointInfo> all;
    try {
      for (auto const& endpoint : holt_.endpoints(polling_))
        all.emplace(endpoint.endpoint, endpoint);
    } catch (EngineError const&) {
      all.clear();
    }
    return all;
  }
  /// So many nodes live, and each endpoint is where it should be: then settled_ is how it was.
  bool settles(std::size_t nodes) {
    return wait_until(
        [&] {
          // Before and after: who should have what was judged by these nodes.
          if (living() != nodes) return false;
          auto const all = seen();
          bool const placed = std::ranges::all_of(all, [](auto const& entry) {
            auto const& endpoint = entry.second;
            return !endpoint.node.empty() && endpoint.node == endpoint.preferred;
          });
          if (!placed || all.size() != endpoints_.size() || living() != nodes) return false;
          settled_ = all;
          return true;
        },
        patience);
  }
  std::size_t living() {
    try {
      return holt_.nodes(polling_).size();
    } catch (EngineError const&) {
      return 0;
    }
  }
  /// What this node had when all was settled.
  std::vector<std::string> of(std::string const& who) const {
    std::vector<std::string> ids;
    for (auto const& [id, endpoint] : settled_) {
      if (endpoint.node == who) ids.push_back(id);
    }
    return ids;
  }
  /// What the whole test must have been like; `tenures`: how often a node got an endpoint, at
  /// least.
  void expect_order(std::vector<Remote*> const& living, std::size_t tenures) const {
    for (auto* const process : living) EXPECT_EQ(process->ask("mistakes"), "none");
    EXPECT_GE(tenures_in(log_), tenures);
    EXPECT_EQ(overlaps_in(log_), std::vector<std::string>());
  }

  Place& place_;
  std::string const polling_ = new_polling();
  std::vector<std::string> const endpoints_ = {"e1", "e2", "e3", "e4", "e5", "e6", "e7", "e8"};
  TemporaryFolder folder_;
  std::string log_ = folder_.file("overlaps");
  FenceRegister resource_;
  Holt holt_;
  std::map<std::string, EndpointInfo> settled_;
};

class PollingBetweenProcesses : public testing::TestWithParam<Place& (*)()>, public PollingNodes {
 protected:
  PollingBetweenProcesses() : PollingNodes(GetParam()()) {}
};
INSTANTIATE_TEST_SUITE_P(Sqlite, PollingBetweenProcesses, testing::Values(&shared<FilePlace>),
                         [](auto const&) { return "sqlite"; });
INSTANTIATE_TEST_SUITE_P(Redis, PollingBetweenProcesses, testing::Values(&shared<RedisPlace>),
                         [](auto const&) { return "redis"; });
INSTANTIATE_TEST_SUITE_P(Postgres, PollingBetweenProcesses, testing::Values(&shared<PostgresPlace>),
                         [](auto const&) { return "postgres"; });

TEST_P(PollingBetweenProcesses, AKilledNodesEndpointsArePolledAgain) {
  auto const first = node("first");
  auto const second = node("second");
  auto third = node("third");
  ASSERT_TRUE(settles(3));
  auto const before = settled_;
  auto const orphans = of("third");
  ASSERT_FALSE(orphans.empty());
  for (auto const& endpoint : orphans) polls(*third, endpoint);
  third->kill();
  ASSERT_TRUE(settles(2));
  for (auto const& [id, endpoint] : settled_) {
    EXPECT_NE(endpoint.node, "third");
    auto const fence = polls(endpoint.node == "first" ? *first : *second, id);
    bool const orphan = std::ranges::find(orphans, id) != orphans.end();
    EXPECT_GE(fence, orphan ? Fence(before.at(id).fence.value() + 1) : before.at(id).fence) << id;
  }
  expect_order({first.get(), second.get()}, endpoints_.size() + orphans.size());
}

TEST_P(PollingBetweenProcesses, AFrozenNodeKnowsOnWakingAndItsLateWriteIsRefused) {
  auto const first = node("first");
  ASSERT_TRUE(settles(1));
  auto const second = node("second");
  ASSERT_TRUE(settles(2));
  auto const poll = keep(*first);
  EXPECT_EQ(poll.held, "held");
  EXPECT_TRUE(resource_.write(poll.fence));
  first->signal(SIGSTOP);
  auto const fence = polls(*second, poll.endpoint);
  EXPECT_GT(fence, poll.fence);
  EXPECT_TRUE(resource_.write(fence));
  first->signal(SIGCONT);
  EXPECT_EQ(kept(first->ask("kept")).held, "lost") << "at once, without asking anybody";
  EXPECT_FALSE(resource_.write(poll.fence));
  EXPECT_TRUE(wait_until([&] { return kept(first->ask("kept")).told == "told"; }, patience));
  EXPECT_EQ(first->ask("let_go"), "done");
  ASSERT_TRUE(settles(2)) << "it takes part again";
  auto const again = keep(*first);
  EXPECT_EQ(again.held, "held");
  EXPECT_EQ(first->ask("let_go"), "done");
  expect_order({first.get(), second.get()}, endpoints_.size() + 1);
}

TEST_P(PollingBetweenProcesses, ANodeThatStopsHandsOverWithoutWaitingForTheTtl) {
  auto const first = node("first", 10min);
  ASSERT_TRUE(settles(1));
  auto const second = node("second", 10min);
  ASSERT_TRUE(settles(2));
  auto const theirs = of("first");
  ASSERT_FALSE(theirs.empty());
  EXPECT_EQ(first->ask("stop_fetching", patience), "stopped");
  for (auto const& endpoint : theirs) polls(*second, endpoint);
  ASSERT_TRUE(settles(1));
  expect_order({first.get(), second.get()}, endpoints_.size() + theirs.size());
}

TEST_P(PollingBetweenProcesses, WhatIsBeingPolledMovesWhenThatHasEnded) {
  auto const first = node("first", 10min);
  ASSERT_TRUE(settles(1));
  auto const moving = wanted_by_second();
  auto const poll = keep(*first, moving);
  auto const second = node("second", 10min);
  // All that it should have has moved but this one, which it asks for.
  ASSERT_TRUE(wait_until(
      [&] {
        auto const all = seen();
        return living() == 2 && std::ranges::all_of(all, [&](auto const& entry) {
                 return entry.first == moving || entry.second.node == entry.second.preferred;
               });
      },
      patience));
  EXPECT_EQ(seen()[moving].node, "first");
  EXPECT_EQ(seen()[moving].preferred, "second");
  EXPECT_EQ(kept(first->ask("kept")).held, "held");
  EXPECT_EQ(first->ask("let_go"), "done");
  EXPECT_GT(polls(*second, moving), poll.fence);
  ASSERT_TRUE(settles(2));
  expect_order({first.get(), second.get()}, endpoints_.size() + 1);
}

class PollingOnServers : public testing::TestWithParam<ServerPlace& (*)()>, public PollingNodes {
 protected:
  PollingOnServers() : PollingNodes(GetParam()()), server_(GetParam()()) {}
  ServerPlace& server_;
};
INSTANTIATE_TEST_SUITE_P(Redis, PollingOnServers, testing::Values(&shared<RedisPlace, ServerPlace>),
                         [](auto const&) { return "redis"; });
INSTANTIATE_TEST_SUITE_P(Postgres, PollingOnServers,
                         testing::Values(&shared<PostgresPlace, ServerPlace>),
                         [](auto const&) { return "postgres"; });

TEST_P(PollingOnServers, ANodeThatIsCutOffStartsNoPollAfterItsDeadline) {
  TcpProxy proxy(server_.port());
  auto const first = node("first", 2s, server_.url_at(proxy.port()));
  ASSERT_TRUE(settles(1));
  auto const second = node("second");
  ASSERT_TRUE(settles(2));
  auto const poll = keep(*first);
  EXPECT_TRUE(resource_.write(poll.fence));
  auto const theirs = of("first");
  ASSERT_FALSE(theirs.empty());
  proxy.black_hole();
  // When the other one polls it, the deadline of the first has passed.
  for (auto const& endpoint : theirs) polls(*second, endpoint);
  auto const number = first->ask("polls");
  EXPECT_EQ(kept(first->ask("kept")).held, "lost");
  EXPECT_EQ(first->ask("owned"), "0");
  auto const fence = polls(*second, poll.endpoint);
  EXPECT_GT(fence, poll.fence);
  EXPECT_TRUE(resource_.write(fence));
  EXPECT_FALSE(resource_.write(poll.fence));
  EXPECT_EQ(first->ask("let_go"), "done");
  for (int i = 0; i < 5; ++i) {
    for (auto const& endpoint : theirs) polls(*second, endpoint);
  }
  EXPECT_EQ(first->ask("polls"), number) << "none has started while it was cut off";
  proxy.pass();
  ASSERT_TRUE(settles(2)) << "it is back";
  EXPECT_GT(polls(*first, poll.endpoint), fence);
  expect_order({first.get(), second.get()}, endpoints_.size() + theirs.size());
}

TEST_P(PollingOnServers, PollingOutlivesARestartOfTheServer) {
  auto const first = node("first");
  auto const second = node("second");
  ASSERT_TRUE(settles(2));
  auto const before = settled_;
  server_.restart();
  ASSERT_TRUE(settles(2));
  for (auto const& [id, endpoint] : settled_) {
    auto const fence = polls(endpoint.node == "first" ? *first : *second, id);
    EXPECT_GE(fence, before.at(id).fence) << id;
  }
  expect_order({first.get(), second.get()}, endpoints_.size());
}

}  // namespace
}  // namespace holt::test
