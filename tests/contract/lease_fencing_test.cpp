// SPDX-License-Identifier: Apache-2.0
// Fences only ever grow, over all names of an instance, whatever happened in between.

#include "contract/engine_test.hpp"

namespace holt::test {
namespace {

class LeaseFencing : public EngineTest {};
HOLT_ON_EVERY_STORE(LeaseFencing);

TEST_P(LeaseFencing, GrowsWithEveryGrantOfAName) {
  Fence last;
  for (int i = 0; i < 20; ++i) {
    auto const owner = client_.owner();
    auto const fence = client_.take("a", owner);
    EXPECT_GT(fence, last);
    last = fence;
    EXPECT_TRUE(client_.release("a", owner));
  }
}

TEST_P(LeaseFencing, GrowsAcrossNames) {
  Fence last;
  for (auto const* name : {"a", "b", "c"}) {
    auto const fence = client_.take(name, client_.owner());
    EXPECT_GT(fence, last);
    last = fence;
  }
}

TEST_P(LeaseFencing, GrowsAcrossClients) {
  auto const first = client_.take("a", client_.owner());
  Client other(*store_);
  EXPECT_GT(other.take("b", other.owner()), first);
}

TEST_P(LeaseFencing, GrowsAfterAllClientsWereClosed) {
  auto const url = store_->url();
  Fence last;
  for (int i = 0; i < 3; ++i) {
    Client fresh(*store_);
    auto const owner = fresh.owner();
    auto const fence = fresh.take("again", owner);
    EXPECT_GT(fence, last);
    last = fence;
    EXPECT_TRUE(fresh.release("again", owner));
  }
}

TEST_P(LeaseFencing, StartsAtTheClockSoThatALostCounterDoesNotRepeat) {
  auto const fence = client_.take("a", client_.owner());
  constexpr std::uint64_t microseconds_of_2020 = 1'577'836'800'000'000;
  EXPECT_GT(fence.value(), microseconds_of_2020);
  EXPECT_LT(fence.value(), std::uint64_t{1} << 53U);
}

TEST_P(LeaseFencing, AnOfferHasAFenceAboveTheLastHoldersAndKeepsItWhenConfirmed) {
  auto const holder = client_.owner();
  auto const waiter = client_.owner();
  auto const first = client_.take("a", holder);
  client_.wait_for("a", waiter);
  EXPECT_TRUE(client_.release("a", holder));
  auto const offered = client_.find("a");
  ASSERT_TRUE(offered);
  EXPECT_TRUE(offered->offered);
  EXPECT_GT(offered->fence, first);
  EXPECT_EQ(client_.take("a", waiter), offered->fence);
}

}  // namespace
}  // namespace holt::test
