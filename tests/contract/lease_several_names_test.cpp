// SPDX-License-Identifier: Apache-2.0
// LeaseStore::acquire of several names: all or none.

#include "contract/engine_test.hpp"

namespace holt::test {
namespace {

class LeaseSeveralNames : public EngineTest {};
HOLT_ON_EVERY_STORE(LeaseSeveralNames);

TEST_P(LeaseSeveralNames, GrantsAllInTheOrderAsked) {
  auto const owner = client_.owner();
  auto const granted = client_.acquire_all({"b", "a", "c"}, owner);
  ASSERT_TRUE(granted);
  ASSERT_EQ(granted->fences.size(), 3U);
  EXPECT_EQ(client_.find("b")->fence, granted->fences[0]);
  EXPECT_EQ(client_.find("a")->fence, granted->fences[1]);
  EXPECT_EQ(client_.find("c")->fence, granted->fences[2]);
  EXPECT_NE(granted->fences[0], granted->fences[1]);
}

TEST_P(LeaseSeveralNames, GrantsUpToEight) {
  EXPECT_TRUE(client_.acquire_all({"1", "2", "3", "4", "5", "6", "7", "8"}, client_.owner()));
}

TEST_P(LeaseSeveralNames, GrantsNoneWhenOneIsBusyAndSaysWhich) {
  auto const holder = client_.owner();
  auto const fence = client_.take("b", holder);
  auto const answer = client_.acquire_all({"a", "b", "c"}, client_.owner());
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().holder, holder);
  EXPECT_EQ(answer.error().fence, fence);
  EXPECT_FALSE(client_.find("a"));
  EXPECT_FALSE(client_.find("c"));
}

TEST_P(LeaseSeveralNames, AnswersAboutTheFirstThatIsBusy) {
  auto const first = client_.owner();
  client_.take("b", first);
  client_.take("c", client_.owner());
  auto const answer = client_.acquire_all({"a", "b", "c"}, client_.owner());
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().holder, first);
}

TEST_P(LeaseSeveralNames, AskingAgainGivesTheSameFences) {
  auto const owner = client_.owner();
  auto const first = client_.acquire_all({"a", "b"}, owner);
  auto const again = client_.acquire_all({"a", "b"}, owner);
  ASSERT_TRUE(first);
  ASSERT_TRUE(again);
  EXPECT_EQ(first->fences, again->fences);
}

TEST_P(LeaseSeveralNames, WhatIsHeldAlreadyStaysHeldWhenAnotherIsBusy) {
  auto const owner = client_.owner();
  client_.take("a", owner, {.ttl = 60s});
  client_.take("b", client_.owner(), {.ttl = 60s});
  EXPECT_FALSE(client_.acquire_all({"a", "b"}, owner, {.line = true}));
  EXPECT_EQ(client_.find("a")->owner, owner);
  EXPECT_FALSE(client_.find("a")->offered);
}

TEST_P(LeaseSeveralNames, StandsInTheLineOfTheBusyNameOnly) {
  auto const owner = client_.owner();
  auto const holder = client_.owner();
  client_.take("a", holder, {.ttl = 60s});
  client_.take("b", holder, {.ttl = 60s});
  EXPECT_FALSE(client_.acquire_all({"a", "b"}, owner, {.line = true}));
  EXPECT_EQ(client_.find("a")->waiting, 1U);
  EXPECT_EQ(client_.find("b")->waiting, 0U);
  EXPECT_TRUE(client_.release("a", holder));
  EXPECT_TRUE(client_.hears(topic::offer, owner.text()));
  EXPECT_FALSE(client_.acquire_all({"a", "b"}, owner, {.line = true}));
  EXPECT_EQ(client_.find("b")->waiting, 1U);
}

TEST_P(LeaseSeveralNames, AnOfferIsPassedOnWhenAnotherNameIsBusy) {
  auto const holder = client_.owner();
  auto const both = client_.owner();
  auto const next = client_.owner();
  client_.take("a", holder, {.ttl = 60s});
  client_.take("b", client_.owner(), {.ttl = 60s});
  EXPECT_FALSE(client_.acquire_all({"a", "b"}, both, {.line = true}));
  client_.wait_for("a", next);
  EXPECT_TRUE(client_.release("a", holder));
  EXPECT_EQ(client_.find("a")->owner, both);
  EXPECT_FALSE(client_.acquire_all({"a", "b"}, both, {.line = true}));
  EXPECT_TRUE(client_.hears(topic::offer, next.text()));
  client_.take("a", next);
}

TEST_P(LeaseSeveralNames, AnOfferNobodyElseWantsIsGivenBack) {
  auto const holder = client_.owner();
  auto const both = client_.owner();
  client_.take("a", holder, {.ttl = 60s});
  client_.take("b", client_.owner(), {.ttl = 60s});
  EXPECT_FALSE(client_.acquire_all({"a", "b"}, both, {.line = true}));
  EXPECT_TRUE(client_.release("a", holder));
  EXPECT_FALSE(client_.acquire_all({"a", "b"}, both, {.line = true}));
  EXPECT_FALSE(client_.find("a"));
}

TEST_P(LeaseSeveralNames, TheConfirmingCallTakesTheOfferAndTheRest) {
  auto const holder = client_.owner();
  auto const both = client_.owner();
  client_.take("a", holder);
  EXPECT_FALSE(client_.acquire_all({"a", "b"}, both, {.line = true}));
  EXPECT_TRUE(client_.release("a", holder));
  EXPECT_TRUE(client_.acquire_all({"a", "b"}, both, {.line = true}));
  EXPECT_EQ(client_.find("a")->owner, both);
  EXPECT_EQ(client_.find("b")->owner, both);
  EXPECT_FALSE(client_.find("a")->offered);
}

TEST_P(LeaseSeveralNames, LeavingALineOfAFreeNamePassesItOn) {
  auto const both = client_.owner();
  auto const next = client_.owner();
  auto const other = client_.owner();
  client_.take("a", client_.owner(), {.ttl = 500ms});
  EXPECT_FALSE(client_.acquire_all({"a", "b"}, both, {.line = true}));
  client_.wait_for("a", next);
  client_.take("b", other, {.ttl = 60s});
  advance(501ms);
  EXPECT_FALSE(client_.acquire_all({"a", "b"}, both, {.line = true}));
  EXPECT_TRUE(client_.hears(topic::offer, next.text()));
  client_.take("a", next);
}

}  // namespace
}  // namespace holt::test
