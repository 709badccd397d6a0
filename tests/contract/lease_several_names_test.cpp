// SPDX-License-Identifier: Apache-2.0
// LeaseStore::acquire of several names: all or none.

#include "contract/engine_test.hpp"

namespace holt::test {
namespace {

class LeaseSeveralNames : public EngineTest {
 protected:
  /// A name that can be taken together with the others: on a cluster they must be in one shard.
  [[nodiscard]] static Name n(std::string const& name) {
    return GetParam().name == "redis_cluster" ? "{n}" + name : name;
  }
};
HOLT_ON_EVERY_STORE(LeaseSeveralNames);

TEST_P(LeaseSeveralNames, GrantsAllInTheOrderAsked) {
  auto const owner = client_.owner();
  auto const granted = client_.acquire_all({n("b"), n("a"), n("c")}, owner);
  ASSERT_TRUE(granted);
  ASSERT_EQ(granted->fences.size(), 3U);
  EXPECT_EQ(client_.find(n("b"))->fence, granted->fences[0]);
  EXPECT_EQ(client_.find(n("a"))->fence, granted->fences[1]);
  EXPECT_EQ(client_.find(n("c"))->fence, granted->fences[2]);
  EXPECT_NE(granted->fences[0], granted->fences[1]);
}

TEST_P(LeaseSeveralNames, GrantsUpToEight) {
  EXPECT_TRUE(client_.acquire_all({n("1"), n("2"), n("3"), n("4"), n("5"), n("6"), n("7"), n("8")},
                                  client_.owner()));
}

TEST_P(LeaseSeveralNames, GrantsNoneWhenOneIsBusyAndSaysWhich) {
  auto const holder = client_.owner();
  auto const fence = client_.take(n("b"), holder);
  auto const answer = client_.acquire_all({n("a"), n("b"), n("c")}, client_.owner());
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().holder, holder);
  EXPECT_EQ(answer.error().fence, fence);
  EXPECT_FALSE(client_.find(n("a")));
  EXPECT_FALSE(client_.find(n("c")));
}

TEST_P(LeaseSeveralNames, AnswersAboutTheFirstThatIsBusy) {
  auto const first = client_.owner();
  client_.take(n("b"), first);
  client_.take(n("c"), client_.owner());
  auto const answer = client_.acquire_all({n("a"), n("b"), n("c")}, client_.owner());
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().holder, first);
}

TEST_P(LeaseSeveralNames, AskingAgainGivesTheSameFences) {
  auto const owner = client_.owner();
  auto const first = client_.acquire_all({n("a"), n("b")}, owner);
  auto const again = client_.acquire_all({n("a"), n("b")}, owner);
  ASSERT_TRUE(first);
  ASSERT_TRUE(again);
  EXPECT_EQ(first->fences, again->fences);
}

TEST_P(LeaseSeveralNames, WhatIsHeldAlreadyStaysHeldWhenAnotherIsBusy) {
  auto const owner = client_.owner();
  client_.take(n("a"), owner, {.ttl = 60s});
  client_.take(n("b"), client_.owner(), {.ttl = 60s});
  EXPECT_FALSE(client_.acquire_all({n("a"), n("b")}, owner, {.line = true}));
  EXPECT_EQ(client_.find(n("a"))->owner, owner);
  EXPECT_FALSE(client_.find(n("a"))->offered);
}

TEST_P(LeaseSeveralNames, StandsInTheLineOfTheBusyNameOnly) {
  auto const owner = client_.owner();
  auto const holder = client_.owner();
  client_.take(n("a"), holder, {.ttl = 60s});
  client_.take(n("b"), holder, {.ttl = 60s});
  EXPECT_FALSE(client_.acquire_all({n("a"), n("b")}, owner, {.line = true}));
  EXPECT_EQ(client_.find(n("a"))->waiting, 1U);
  EXPECT_EQ(client_.find(n("b"))->waiting, 0U);
  EXPECT_TRUE(client_.release(n("a"), holder));
  EXPECT_TRUE(client_.hears(topic::offer, owner.text()));
  EXPECT_FALSE(client_.acquire_all({n("a"), n("b")}, owner, {.line = true}));
  EXPECT_EQ(client_.find(n("b"))->waiting, 1U);
}

TEST_P(LeaseSeveralNames, AnOfferIsPassedOnWhenAnotherNameIsBusy) {
  auto const holder = client_.owner();
  auto const both = client_.owner();
  auto const next = client_.owner();
  client_.take(n("a"), holder, {.ttl = 60s});
  client_.take(n("b"), client_.owner(), {.ttl = 60s});
  EXPECT_FALSE(client_.acquire_all({n("a"), n("b")}, both, {.line = true}));
  client_.wait_for(n("a"), next);
  EXPECT_TRUE(client_.release(n("a"), holder));
  EXPECT_EQ(client_.find(n("a"))->owner, both);
  EXPECT_FALSE(client_.acquire_all({n("a"), n("b")}, both, {.line = true}));
  EXPECT_TRUE(client_.hears(topic::offer, next.text()));
  client_.take(n("a"), next);
}

TEST_P(LeaseSeveralNames, AnOfferNobodyElseWantsIsGivenBack) {
  auto const holder = client_.owner();
  auto const both = client_.owner();
  client_.take(n("a"), holder, {.ttl = 60s});
  client_.take(n("b"), client_.owner(), {.ttl = 60s});
  EXPECT_FALSE(client_.acquire_all({n("a"), n("b")}, both, {.line = true}));
  EXPECT_TRUE(client_.release(n("a"), holder));
  EXPECT_FALSE(client_.acquire_all({n("a"), n("b")}, both, {.line = true}));
  EXPECT_FALSE(client_.find(n("a")));
}

TEST_P(LeaseSeveralNames, TheConfirmingCallTakesTheOfferAndTheRest) {
  auto const holder = client_.owner();
  auto const both = client_.owner();
  client_.take(n("a"), holder);
  EXPECT_FALSE(client_.acquire_all({n("a"), n("b")}, both, {.line = true}));
  EXPECT_TRUE(client_.release(n("a"), holder));
  EXPECT_TRUE(client_.acquire_all({n("a"), n("b")}, both, {.line = true}));
  EXPECT_EQ(client_.find(n("a"))->owner, both);
  EXPECT_EQ(client_.find(n("b"))->owner, both);
  EXPECT_FALSE(client_.find(n("a"))->offered);
}

TEST_P(LeaseSeveralNames, LeavingALineOfAFreeNamePassesItOn) {
  auto const both = client_.owner();
  auto const next = client_.owner();
  auto const other = client_.owner();
  client_.take(n("a"), client_.owner(), {.ttl = 500ms});
  EXPECT_FALSE(client_.acquire_all({n("a"), n("b")}, both, {.line = true}));
  client_.wait_for(n("a"), next);
  client_.take(n("b"), other, {.ttl = 60s});
  advance(501ms);
  EXPECT_FALSE(client_.acquire_all({n("a"), n("b")}, both, {.line = true}));
  EXPECT_TRUE(client_.hears(topic::offer, next.text()));
  client_.take(n("a"), next);
}

}  // namespace
}  // namespace holt::test
