// SPDX-License-Identifier: Apache-2.0
// The line of waiters: first come, first served by priority; no barging; the dead are skipped.

#include "contract/engine_test.hpp"

#include <array>

namespace holt::test {
namespace {

class LeaseLine : public EngineTest {};
HOLT_ON_EVERY_STORE(LeaseLine);

TEST_P(LeaseLine, PlacesAreGivenInOrder) {
  client_.take("a", client_.owner(), {.ttl = 60s});
  for (std::uint32_t place = 1; place <= 5; ++place) {
    EXPECT_EQ(client_.wait_for("a", client_.owner()), place);
  }
  EXPECT_EQ(client_.find("a")->waiting, 5U);
}

TEST_P(LeaseLine, AskingAgainKeepsThePlace) {
  client_.take("a", client_.owner(), {.ttl = 60s});
  auto const first = client_.owner();
  auto const second = client_.owner();
  EXPECT_EQ(client_.wait_for("a", first), 1U);
  EXPECT_EQ(client_.wait_for("a", second), 2U);
  EXPECT_EQ(client_.wait_for("a", first), 1U);
  EXPECT_EQ(client_.wait_for("a", second), 2U);
}

TEST_P(LeaseLine, AReleaseOffersTheNameToTheFirstAndSignalsIt) {
  auto const holder = client_.owner();
  Client other(*store_);
  auto const first = other.owner();
  auto const second = client_.owner();
  client_.take("a", holder);
  other.wait_for("a", first);
  client_.wait_for("a", second);
  EXPECT_TRUE(client_.release("a", holder));
  EXPECT_TRUE(other.hears(topic::offer, first.text()));
  EXPECT_FALSE(client_.heard(topic::offer, second.text()));
  auto const found = client_.find("a");
  ASSERT_TRUE(found);
  EXPECT_TRUE(found->offered);
  EXPECT_EQ(found->owner, first);
  EXPECT_EQ(found->waiting, 1U);
  other.take("a", first);
  EXPECT_FALSE(client_.find("a")->offered);
}

TEST_P(LeaseLine, ServesAllInTurn) {
  auto holder = client_.owner();
  client_.take("a", holder);
  std::vector<Owner> waiters;
  for (int i = 0; i < 10; ++i) {
    waiters.push_back(client_.owner());
    client_.wait_for("a", waiters.back());
  }
  for (auto const& next : waiters) {
    EXPECT_TRUE(client_.release("a", holder));
    ASSERT_EQ(client_.find("a")->owner, next);
    client_.take("a", next);
    holder = next;
  }
  EXPECT_TRUE(client_.release("a", holder));
  EXPECT_FALSE(client_.find("a"));
}

TEST_P(LeaseLine, PlacesAreCountedUpToAHundred) {
  client_.take("a", client_.owner(), {.ttl = 60s});
  for (std::uint32_t place = 1; place <= 99; ++place) client_.wait_for("a", client_.owner());
  EXPECT_EQ(client_.wait_for("a", client_.owner()), LeaseStore::max_place);
  EXPECT_EQ(client_.wait_for("a", client_.owner()), LeaseStore::max_place);
  EXPECT_EQ(client_.find("a")->waiting, 101U);
}

TEST_P(LeaseLine, PriorityComesBeforeArrival) {
  auto const holder = client_.owner();
  auto const usual = client_.owner();
  auto const urgent = client_.owner();
  auto const lazy = client_.owner();
  client_.take("a", holder, {.ttl = 60s});
  EXPECT_EQ(client_.wait_for("a", lazy, {.priority = 10}), 1U);
  EXPECT_EQ(client_.wait_for("a", usual, {.priority = 5}), 1U);
  EXPECT_EQ(client_.wait_for("a", urgent, {.priority = 1}), 1U);
  EXPECT_EQ(client_.wait_for("a", lazy, {.priority = 10}), 3U);
  EXPECT_TRUE(client_.release("a", holder));
  EXPECT_EQ(client_.find("a")->owner, urgent);
}

TEST_P(LeaseLine, WhoBecomesThirdIsSignalledToAskAgainSoon) {
  auto const holder = client_.owner();
  client_.take("a", holder);
  std::vector<Owner> waiters;
  for (int i = 0; i < 5; ++i) {
    waiters.push_back(client_.owner());
    client_.wait_for("a", waiters.back());
  }
  EXPECT_TRUE(client_.release("a", waiters[0]));
  EXPECT_TRUE(client_.hears(topic::near, waiters[3].text()));
  EXPECT_FALSE(client_.heard(topic::near, waiters[4].text()));
}

TEST_P(LeaseLine, WhoComesToBeFirstWhenTheNameIsOfferedIsSignalledToAskAgainSoon) {
  auto const holder = client_.owner();
  std::array<Owner, 3> const waiters{client_.owner(), client_.owner(), client_.owner()};
  client_.take("a", holder, {.ttl = 60s});
  for (auto const& waiter : waiters) client_.wait_for("a", waiter, {.ttl = 2s});
  EXPECT_TRUE(client_.release("a", holder));
  EXPECT_TRUE(client_.hears(topic::near, waiters[1].text()));
  EXPECT_FALSE(client_.heard(topic::near, waiters[2].text()));
  auto const busy = client_.acquire("a", waiters[1], {.ttl = 2s});
  ASSERT_FALSE(busy);
  EXPECT_LE(busy.error().expires_in, 200ms) << "the offer's end, not that of the last lease";
}

TEST_P(LeaseLine, WhoStandsBehindAnOfferThatNobodyTakesIsSignalledAlsoWhereAllWantTheSame) {
  auto const holder = client_.owner();
  std::array<Owner, 3> const waiters{client_.owner(), client_.owner(), client_.owner()};
  client_.take("a", holder, {.ttl = 5s});
  for (auto const& waiter : waiters) client_.wait_for("a", waiter, {.ttl = 5s});
  EXPECT_TRUE(client_.release("a", holder));
  EXPECT_TRUE(client_.hears(topic::near, waiters[1].text()));
  // Who comes now finds the offer too.
  EXPECT_EQ(client_.wait_for("a", client_.owner(), {.ttl = 5s}), 3U);
}

TEST_P(LeaseLine, ABrokenHolderDoesNotWaitForItself) {
  auto const holder = client_.owner();
  client_.take("a", holder, {.ttl = 60s});
  client_.break_lease("a", "stop");
  EXPECT_EQ(client_.wait_for("a", holder), 0U);
  EXPECT_EQ(client_.find("a")->waiting, 0U);
}

TEST_P(LeaseLine, NobodyBargesInOnAnOffer) {
  auto const holder = client_.owner();
  auto const waiter = client_.owner();
  client_.take("a", holder);
  client_.wait_for("a", waiter);
  EXPECT_TRUE(client_.release("a", holder));
  auto const busy = client_.acquire("a", client_.owner());
  ASSERT_FALSE(busy);
  EXPECT_EQ(busy.error().holder, waiter);
  EXPECT_FALSE(client_.acquire("a", holder));
}

TEST_P(LeaseLine, NobodyBargesInOnAnEndedLeaseWithWaiters) {
  auto const waiter = client_.owner();
  client_.take("a", client_.owner(), {.ttl = 500ms});
  client_.wait_for("a", waiter);
  advance(501ms);
  auto const busy = client_.acquire("a", client_.owner());
  ASSERT_FALSE(busy);
  EXPECT_EQ(busy.error().holder, waiter);
  EXPECT_TRUE(client_.hears(topic::offer, waiter.text()));
  client_.take("a", waiter);
}

TEST_P(LeaseLine, TheFirstInLineTakesAnEndedLeaseItself) {
  auto const waiter = client_.owner();
  client_.take("a", client_.owner(), {.ttl = 500ms});
  client_.wait_for("a", waiter);
  advance(501ms);
  client_.take("a", waiter);
  EXPECT_EQ(client_.find("a")->waiting, 0U);
}

TEST_P(LeaseLine, TheSecondInLineFindsAnEndedLeaseForTheFirst) {
  auto const first = client_.owner();
  auto const second = client_.owner();
  client_.take("a", client_.owner(), {.ttl = 500ms});
  client_.wait_for("a", first);
  client_.wait_for("a", second);
  advance(501ms);
  EXPECT_EQ(client_.wait_for("a", second), 1U);
  EXPECT_TRUE(client_.hears(topic::offer, first.text()));
  client_.take("a", first);
}

TEST_P(LeaseLine, AnOfferThatIsNotConfirmedGoesToTheNext) {
  auto const holder = client_.owner();
  auto const first = client_.owner();
  auto const second = client_.owner();
  client_.take("a", holder);
  client_.wait_for("a", first, {.ttl = 1s});
  client_.wait_for("a", second, {.ttl = 1s});
  EXPECT_TRUE(client_.release("a", holder));
  advance(101ms);
  client_.take("a", second);
  EXPECT_EQ(client_.wait_for("a", first), 1U);
}

TEST_P(LeaseLine, AnOfferLivesATenthOfTheTtlWithinBounds) {
  struct Case {
    Nanos ttl;
    std::chrono::milliseconds offer;
  };
  for (auto const [ttl, offer] : {Case{100ms, 100ms}, Case{5s, 500ms}, Case{60s, 1000ms}}) {
    auto const holder = client_.owner();
    auto const waiter = client_.owner();
    client_.take("a", holder, {.ttl = 60s});
    client_.wait_for("a", waiter, {.ttl = ttl});
    auto const before = store_->env().now();
    EXPECT_TRUE(client_.release("a", holder));
    auto const found = client_.find("a");
    auto const took = store_->env().now() - before;
    if (took < offer) {
      ASSERT_TRUE(found);
      EXPECT_LE(found->expires_in, offer);
      EXPECT_GE(found->expires_in, offer - took - 1ms);  // a store may count in milliseconds
    }
    client_.release("a", waiter);  // it may have ended by itself
  }
}

TEST_P(LeaseLine, AWaiterWhoDoesNotAskAgainLosesItsPlace) {
  auto const holder = client_.owner();
  auto const gone = client_.owner();
  auto const alive = client_.owner();
  client_.take("a", holder, {.ttl = 60s});
  client_.wait_for("a", gone, {.ticket_ttl = 500ms});
  EXPECT_EQ(client_.wait_for("a", alive, {.ticket_ttl = 60s}), 2U);
  advance(501ms);
  EXPECT_EQ(client_.find("a")->waiting, 1U);
  EXPECT_EQ(client_.wait_for("a", alive, {.ticket_ttl = 60s}), 1U);
  EXPECT_TRUE(client_.release("a", holder));
  EXPECT_EQ(client_.find("a")->owner, alive);
}

TEST_P(LeaseLine, AWaiterWhoseProcessIsGoneIsSkippedAtOnce) {
  auto const holder = client_.owner();
  auto const alive = client_.owner();
  client_.take("a", holder);
  for (int i = 0; i < 3; ++i) {
    Client dead(*store_);
    dead.wait_for("a", dead.owner());
  }
  store_->notice_departures();
  EXPECT_EQ(client_.wait_for("a", alive), 4U);
  EXPECT_TRUE(client_.release("a", holder));
  EXPECT_TRUE(client_.hears(topic::offer, alive.text()));
  client_.take("a", alive);
}

TEST_P(LeaseLine, NothingStaysWhenAllWaitersAreGone) {
  auto const holder = client_.owner();
  client_.take("a", holder);
  for (int i = 0; i < 3; ++i) {
    Client dead(*store_);
    dead.wait_for("a", dead.owner());
  }
  store_->notice_departures();
  EXPECT_TRUE(client_.release("a", holder));
  EXPECT_FALSE(client_.find("a"));
  client_.take("a", client_.owner());
}

TEST_P(LeaseLine, WhoWasNotAskedToWaitHasNoPlace) {
  client_.take("a", client_.owner(), {.ttl = 60s});
  EXPECT_FALSE(client_.acquire("a", client_.owner()));
  EXPECT_EQ(client_.find("a")->waiting, 0U);
}

TEST_P(LeaseLine, AnOfferIsConfirmedWhateverDelayItsLeaseWillHave) {
  auto const holder = client_.owner();
  auto const waiter = client_.owner();
  client_.take("a", holder);
  client_.wait_for("a", waiter, {.delay = 60s});
  EXPECT_TRUE(client_.release("a", holder));
  EXPECT_GT(client_.find("a")->expires_in, 0ms);
  auto const offered = client_.find("a")->fence;
  EXPECT_EQ(client_.take("a", waiter, {.delay = 60s}), offered);
  EXPECT_TRUE(client_.renew("a", waiter));
}

TEST_P(LeaseLine, AnOfferWithADelayIsGivenBackAsAnyOther) {
  auto const holder = client_.owner();
  auto const waiter = client_.owner();
  client_.take("a", holder);
  client_.wait_for("a", waiter, {.delay = 60s});
  EXPECT_TRUE(client_.release("a", holder));
  EXPECT_TRUE(client_.release("a", waiter)) << "it had not ended";
  client_.take("a", holder);
  client_.wait_for("a", waiter, {.delay = 60s});
  EXPECT_TRUE(client_.release("a", holder));
  EXPECT_EQ(client_.break_lease("a", "stop"), BreakResult::freed);
}

TEST_P(LeaseLine, AConfirmedOfferLivesItsFullTtl) {
  auto const holder = client_.owner();
  auto const waiter = client_.owner();
  client_.take("a", holder);
  client_.wait_for("a", waiter, {.ttl = 20s});
  EXPECT_TRUE(client_.release("a", holder));
  client_.take("a", waiter, {.ttl = 20s});
  EXPECT_GT(client_.find("a")->expires_in, 10s);
}

}  // namespace
}  // namespace holt::test
