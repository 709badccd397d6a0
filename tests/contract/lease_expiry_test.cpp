// SPDX-License-Identifier: Apache-2.0
// The engine's clock decides expiry: a lease is live while until + delay > now.

#include "contract/engine_test.hpp"

namespace holt::test {
namespace {

class LeaseExpiry : public EngineTest {};
HOLT_ON_EVERY_STORE(LeaseExpiry);

TEST_P(LeaseExpiry, AnEndedLeaseIsFreeForOthers) {
  auto const first = client_.take("a", client_.owner(), {.ttl = 500ms});
  outlive(500ms);
  EXPECT_GT(client_.take("a", client_.owner()), first);
}

TEST_P(LeaseExpiry, ALeaseIsBusyUntilItsEnd) {
  client_.take("a", client_.owner(), {.ttl = 10s});
  advance(5s);
  auto const busy = client_.acquire("a", client_.owner());
  ASSERT_FALSE(busy);
  EXPECT_LE(busy.error().expires_in, 5s + store_->tolerance());
}

TEST_P(LeaseExpiry, AnEndedLeaseIsNotFoundAndNotListed) {
  client_.take("a", client_.owner(), {.ttl = 500ms});
  ASSERT_TRUE(client_.find("a"));
  outlive(500ms);
  EXPECT_FALSE(client_.find("a"));
  EXPECT_TRUE(client_.list().leases.empty());
}

TEST_P(LeaseExpiry, TheFormerOwnerGetsANewFence) {
  auto const owner = client_.owner();
  auto const first = client_.take("a", owner, {.ttl = 500ms});
  outlive(500ms);
  EXPECT_GT(client_.take("a", owner), first);
}

TEST_P(LeaseExpiry, ANameRestsForItsDelayAfterTheEnd) {
  client_.take("a", client_.owner(), {.ttl = 500ms, .delay = 1s});
  advance(600ms);
  auto const busy = client_.acquire("a", client_.owner());
  ASSERT_FALSE(busy);
  EXPECT_GT(busy.error().expires_in, 500ms);
  EXPECT_LE(busy.error().expires_in, 900ms);
  advance(1s);
  client_.take("a", client_.owner());
}

TEST_P(LeaseExpiry, ARestingNameIsBusyForItsFormerOwnerToo) {
  auto const owner = client_.owner();
  client_.take("a", owner, {.ttl = 500ms, .delay = 10s});
  advance(600ms);
  EXPECT_FALSE(client_.acquire("a", owner));
}

TEST_P(LeaseExpiry, AReleasedNameDoesNotRest) {
  auto const owner = client_.owner();
  client_.take("a", owner, {.delay = 10s});
  EXPECT_TRUE(client_.release("a", owner));
  client_.take("a", client_.owner());
}

TEST_P(LeaseExpiry, AnEndOfOneNameDoesNotTouchAnother) {
  client_.take("a", client_.owner(), {.ttl = 500ms});
  client_.take("b", client_.owner(), {.ttl = 60s});
  outlive(500ms);
  EXPECT_FALSE(client_.find("a"));
  EXPECT_TRUE(client_.find("b"));
}

}  // namespace
}  // namespace holt::test
