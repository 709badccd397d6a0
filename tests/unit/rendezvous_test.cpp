// SPDX-License-Identifier: Apache-2.0
#include "primitives/rendezvous.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <vector>

namespace holt::rendezvous {
namespace {

using Strings = std::vector<std::string>;
using Nodes = std::vector<Node>;
using Owners = std::map<std::string, std::string>;  ///< of each endpoint

constexpr std::size_t many = 5000;

Strings numbered(std::string const& start, std::size_t count) {
  Strings names;
  for (std::size_t i = 1; i <= count; ++i) names.push_back(fmt::format("{}{}", start, i));
  return names;
}

Nodes nodes_of(Strings const& ids) {
  Nodes nodes;
  for (auto const& id : ids) nodes.push_back({id, 1});
  return nodes;
}

Owners owners(Nodes const& nodes, Strings const& endpoints, double cap = 0,
              PollWeights weights = PollWeights::mixed) {
  auto const nominated = nominate(nodes, endpoints, weights, cap);
  EXPECT_EQ(nominated.size(), endpoints.size());
  Owners owners;
  for (std::size_t i = 0; i < endpoints.size(); ++i) {
    owners[endpoints[i]] = nodes.at(nominated[i]).id;
  }
  return owners;
}

std::map<std::string, std::size_t> counts(Owners const& owners) {
  std::map<std::string, std::size_t> counts;
  for (auto const& [endpoint, node] : owners) ++counts[node];
  return counts;
}

std::size_t most(Owners const& owners) {
  std::size_t most = 0;
  for (auto const& [node, count] : counts(owners)) most = std::max(most, count);
  return most;
}

std::size_t moved(Owners const& before, Owners const& after) {
  std::size_t moved = 0;
  for (auto const& [endpoint, node] : before) moved += after.at(endpoint) == node ? 0 : 1;
  return moved;
}

TEST(RendezvousTest, CompatibleWeightsAreThoseOfTheFleetsThatUseThem) {
  auto const weight_of = [](std::string_view node, std::string_view endpoint) {
    return weight(PollWeights::compatible, node, endpoint);
  };
  EXPECT_EQ(weight_of("node-a", "session-1"), 4896727846909193907U);
  EXPECT_EQ(weight_of("node-b", "session-1"), 12960574576581317004U);
  EXPECT_EQ(weight_of("node-c", "session-1"), 5665796032631821001U);
  EXPECT_EQ(weight_of("api-7fd8c9-1736598400000000000-a1b2c3d4", "abc123-def456"),
            15007679327482491115U);
  EXPECT_EQ(weight_of("", ""), 14695981039346656037U) << "FNV-1a of nothing";
  auto const found =
      owners(nodes_of({"node-a", "node-b", "node-c"}), {"session-1"}, 0, PollWeights::compatible);
  EXPECT_EQ(found.at("session-1"), "node-b");
}

TEST(RendezvousTest, CompatibleSharesAreAsUnevenAsTheirs) {
  Strings endpoints;
  for (int i = 0; i < 9000; ++i) endpoints.push_back(fmt::format("session-{}", i));
  auto const shares = counts(
      owners(nodes_of({"node-1", "node-2", "node-3"}), endpoints, 0, PollWeights::compatible));
  EXPECT_EQ(shares.at("node-1"), 1990U);
  EXPECT_EQ(shares.at("node-2"), 3550U);
  EXPECT_EQ(shares.at("node-3"), 3460U);
}

TEST(RendezvousTest, NamesThatCountUpwardsAreSharedEvenly) {
  for (auto const* const start : {"session-", "", "https://example.org/feed/", "10.0.0."}) {
    for (auto const* const node : {"node-", "web-", "host-1736598400-"}) {
      auto const found = owners(nodes_of(numbered(node, 5)), numbered(start, many));
      EXPECT_LE(static_cast<double>(most(found)), 1.10 * many / 5) << start << " on " << node;
    }
  }
}

TEST(RendezvousTest, TheHeaviestNodeIsNominated) {
  auto const nodes = nodes_of(numbered("node-", 7));
  for (auto const weights : {PollWeights::mixed, PollWeights::compatible}) {
    for (auto const& [endpoint, node] : owners(nodes, numbered("e", 200), 0, weights)) {
      for (auto const& other : nodes) {
        EXPECT_GE(weight(weights, node, endpoint), weight(weights, other.id, endpoint));
      }
    }
  }
}

TEST(RendezvousTest, ALeavingNodeMovesOnlyItsOwn) {
  auto const endpoints = numbered("e", many);
  auto const before = owners(nodes_of(numbered("node-", 5)), endpoints);
  auto fewer = nodes_of(numbered("node-", 5));
  fewer.erase(fewer.begin() + 2);
  auto const after = owners(fewer, endpoints);
  EXPECT_EQ(moved(before, after), counts(before).at("node-3"));
  for (auto const& [endpoint, node] : before) {
    EXPECT_TRUE(node == "node-3" || after.at(endpoint) == node) << endpoint;
  }
}

TEST(RendezvousTest, AJoiningNodeTakesOnlyForItself) {
  auto const endpoints = numbered("e", many);
  auto const before = owners(nodes_of(numbered("node-", 5)), endpoints);
  auto const after = owners(nodes_of(numbered("node-", 6)), endpoints);
  for (auto const& [endpoint, node] : after) {
    EXPECT_TRUE(node == "node-6" || before.at(endpoint) == node) << endpoint;
  }
  EXPECT_GT(counts(after).at("node-6"), many / 6 * 9 / 10);
}

TEST(RendezvousTest, NoNodeHasMoreThanItsCap) {
  for (std::size_t const count : {1U, 2U, 7U, 99U, 1000U, 5000U}) {
    for (double const cap : {1.0, 1.05, 1.25}) {
      auto const found = owners(nodes_of(numbered("node-", 5)), numbered("e", count), cap);
      auto const places = std::ceil(cap * static_cast<double>(count) / 5);
      EXPECT_LE(static_cast<double>(most(found)), places) << count << " with " << cap;
    }
  }
  auto const full = counts(owners(nodes_of(numbered("node-", 5)), numbered("e", many), 1));
  for (auto const& [node, count] : full) EXPECT_EQ(count, many / 5) << node;
}

TEST(RendezvousTest, ACapThatNobodyReachesChangesNothing) {
  auto const nodes = nodes_of(numbered("node-", 5));
  auto const endpoints = numbered("e", many);
  EXPECT_EQ(owners(nodes, endpoints, 5), owners(nodes, endpoints));
}

/// Nobody would rather be elsewhere where he is wanted too: the matching is stable, so it is the
/// only one.
TEST(RendezvousTest, ACappedNominationIsStable) {
  auto const nodes = nodes_of(numbered("node-", 5));
  auto const endpoints = numbered("e", 500);
  auto const found = owners(nodes, endpoints, 1.05);
  auto const shares = counts(found);
  std::map<std::string, std::uint64_t> lightest;
  for (auto const& [endpoint, node] : found) {
    auto const here = weight(PollWeights::mixed, node, endpoint);
    auto const [place, first] = lightest.try_emplace(node, here);
    if (!first) place->second = std::min(place->second, here);
  }
  for (auto const& [endpoint, node] : found) {
    auto const here = weight(PollWeights::mixed, node, endpoint);
    for (auto const& other : nodes) {
      auto const there = weight(PollWeights::mixed, other.id, endpoint);
      if (there <= here) continue;
      EXPECT_EQ(shares.at(other.id), 105U) << "it has a place for " << endpoint;
      EXPECT_LT(there, lightest.at(other.id)) << endpoint << " is wanted there";
    }
  }
}

TEST(RendezvousTest, AJoinUnderACapMovesLittleMoreThanItMust) {
  for (auto const* const start : {"session-", "e", "feed/"}) {
    auto const endpoints = numbered(start, many);
    auto const before = owners(nodes_of(numbered("node-", 4)), endpoints, 1.05);
    auto const after = owners(nodes_of(numbered("node-", 5)), endpoints, 1.05);
    // What the new node gets has to move, whoever has the rest.
    auto const minimal = static_cast<double>(counts(after).at("node-5"));
    EXPECT_LE(static_cast<double>(moved(before, after)), 1.15 * minimal) << start;
  }
}

TEST(RendezvousTest, SharesAreAsTheWeightsOfNodes) {
  Nodes const nodes = {{"small", 1}, {"middle", 2}, {"large", 5}};
  auto const shares = counts(owners(nodes, numbered("e", 8000)));
  EXPECT_NEAR(static_cast<double>(shares.at("small")), 1000, 100);
  EXPECT_NEAR(static_cast<double>(shares.at("middle")), 2000, 150);
  EXPECT_NEAR(static_cast<double>(shares.at("large")), 5000, 200);
  auto const capped = counts(owners(nodes, numbered("e", 8000), 1));
  EXPECT_EQ(capped.at("small"), 1000U);
  EXPECT_EQ(capped.at("middle"), 2000U);
  EXPECT_EQ(capped.at("large"), 5000U);
}

TEST(RendezvousTest, AHeavierNodeTakesOnlyForItself) {
  auto const endpoints = numbered("e", many);
  auto nodes = nodes_of(numbered("node-", 4));
  nodes[1].share = 2;
  auto const before = owners(nodes, endpoints);
  nodes[1].share = 3;
  for (auto const& [endpoint, node] : owners(nodes, endpoints)) {
    EXPECT_TRUE(node == "node-2" || before.at(endpoint) == node) << endpoint;
  }
}

TEST(RendezvousTest, EqualSharesOfAnySizeAreTheSame) {
  auto const endpoints = numbered("e", many);
  auto nodes = nodes_of(numbered("node-", 4));
  auto const before = owners(nodes, endpoints);
  for (auto& node : nodes) node.share = 0.001;
  EXPECT_EQ(owners(nodes, endpoints), before);
}

TEST(RendezvousTest, TheOrderOfWhatIsGivenDoesNotMatter) {
  auto nodes = nodes_of(numbered("node-", 5));
  nodes[3].share = 3;
  auto endpoints = numbered("e", 1000);
  for (double const cap : {0.0, 1.0, 1.05}) {
    auto const expected = owners(nodes, endpoints, cap);
    auto other_nodes = nodes;
    auto other_endpoints = endpoints;
    std::ranges::reverse(other_nodes);
    std::ranges::rotate(other_endpoints, other_endpoints.begin() + 377);
    std::ranges::reverse(other_endpoints.begin() + 100, other_endpoints.end());
    EXPECT_EQ(owners(other_nodes, other_endpoints, cap), expected) << cap;
  }
}

TEST(RendezvousTest, OneNodeHasAllAndNothingIsNothing) {
  EXPECT_EQ(most(owners(nodes_of({"only"}), numbered("e", 10), 1)), 10U);
  EXPECT_TRUE(owners(nodes_of({"only"}), {}, 1.05).empty());
}

}  // namespace
}  // namespace holt::rendezvous
