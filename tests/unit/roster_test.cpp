// SPDX-License-Identifier: Apache-2.0
#include "primitives/roster.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <clocale>
#include <string>
#include <vector>

namespace holt {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;

LeaseInfo lease_of(std::string const& name, std::string note,
                   std::chrono::milliseconds expires_in = 10s) {
  LeaseInfo lease{Name(name), Owner("here", std::string(22, 'x')), Fence(7)};
  lease.note = std::move(note);
  lease.expires_in = expires_in;
  return lease;
}

std::vector<std::string> ids_of(Roster const& roster) {
  std::vector<std::string> ids;
  for (auto const& node : roster.nodes()) ids.push_back(node.id);
  return ids;
}

constexpr Instant asked{1000s};

TEST(NodeNoteTest, SaysWhatItIsTold) {
  NodeNote const note{"online", 2.5, PollWeights::mixed, 1.05};
  EXPECT_EQ(note.text(), "online 2.5 mixed 1.05");
  EXPECT_EQ((NodeNote{"online", 1, PollWeights::compatible, 0}.text()), "online 1 compatible 0");
}

TEST(NodeNoteTest, IsReadAsItWasWritten) {
  for (double const weight : {0.001, 0.1, 1.0, 1.0 / 3, 999.999, 1000.0}) {
    for (double const cap : {0.0, 1.0, 1.05, 10.0}) {
      NodeNote const note{"init", weight, PollWeights::mixed, cap};
      auto const read = NodeNote::parse(note.text());
      EXPECT_EQ(read.status, "init");
      EXPECT_EQ(read.weight, weight) << "to the last bit: all nodes must nominate alike";
      EXPECT_EQ(read.weights, PollWeights::mixed);
      EXPECT_EQ(read.cap, cap);
    }
  }
}

TEST(NodeNoteTest, WhatIsMissingOrWrongIsAsAForeignNodeHasIt) {
  for (auto const* const text :
       {"", "online", "online x y z", "online -1", "online 0", "online 1e9 other 0.5",
        "online nan mixes inf", "online 1.0x compatible 2x", "online 0x10"}) {
    auto const note = NodeNote::parse(text);
    EXPECT_EQ(note.status, "online") << text;
    EXPECT_EQ(note.weight, 1) << text;
    EXPECT_EQ(note.weights, PollWeights::compatible) << text;
    EXPECT_EQ(note.cap, 0) << text;
  }
  EXPECT_EQ(NodeNote::parse("init 3").weight, 3);
}

TEST(NodeNoteTest, IsReadAlikeInEveryLocale) {
  std::string const before = std::setlocale(LC_NUMERIC, nullptr);
  for (auto const* const locale : {"de_DE.UTF-8", "fr_FR.UTF-8", "C"}) {
    std::setlocale(LC_NUMERIC, locale);  // where it is installed
    NodeNote const note{"online", 2.5, PollWeights::mixed, 1.05};
    EXPECT_EQ(note.text(), "online 2.5 mixed 1.05");
    EXPECT_EQ(NodeNote::parse("online 2.5 mixed 1.05").weight, 2.5);
  }
  std::setlocale(LC_NUMERIC, before.c_str());
}

TEST(RosterTest, HasTheNodesThatLiveInOrder) {
  Roster const roster({lease_of("node/g/b", "online 2 mixed 0"), lease_of("node/g/a", "online")},
                      "node/g/", asked);
  EXPECT_THAT(ids_of(roster), ElementsAre("a", "b"));
  EXPECT_EQ(roster.nodes().at(1).share, 2);
  EXPECT_EQ(roster.members().at(1).note.weights, PollWeights::mixed);
  EXPECT_TRUE(roster.has("a"));
  EXPECT_FALSE(roster.has("c"));
  EXPECT_FALSE(roster.has(""));
}

TEST(RosterTest, WhoIsNotReadyLivesAndGetsNothing) {
  Roster const roster({lease_of("node/g/a", "init 1"), lease_of("node/g/b", "online 1")}, "node/g/",
                      asked);
  EXPECT_THAT(ids_of(roster), ElementsAre("b"));
  EXPECT_TRUE(roster.has("a"));
}

TEST(RosterTest, AnOfferIsNoNode) {
  auto offered = lease_of("node/g/a", "online");
  offered.offered = true;
  Roster const roster({offered, lease_of("other/g/b", "online")}, "node/g/", asked);
  EXPECT_THAT(ids_of(roster), ElementsAre());
  EXPECT_FALSE(roster.has("a"));
}

TEST(RosterTest, KnowsWhenTheFirstOfTheOthersEnds) {
  Roster const roster(
      {lease_of("node/g/a", "", 3s), lease_of("node/g/b", "", 5s), lease_of("node/g/c", "", 4s)},
      "node/g/", asked);
  EXPECT_EQ(roster.next_end("b"), asked + 3s);
  EXPECT_EQ(roster.next_end("a"), asked + 4s) << "not our own";
  EXPECT_EQ(Roster({lease_of("node/g/a", "")}, "node/g/", asked).next_end("a"), std::nullopt);
  EXPECT_EQ(Roster().next_end(""), std::nullopt);
}

}  // namespace
}  // namespace holt
