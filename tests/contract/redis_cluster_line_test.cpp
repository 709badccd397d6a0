// SPDX-License-Identifier: Apache-2.0
// The line on a Redis Cluster when waiters die. A node does not know who listens to others, so who
// is dead is offered the name once; what that costs, and that nothing stays behind.

#include "contract/engine_test.hpp"
#include "support/redis_stores.hpp"

namespace holt::test {
namespace {

class RedisClusterLine : public testing::Test {
 protected:
  static constexpr auto offer = 1001ms;  // more than an offer of a lease of 60 s lives

  RedisClusterLine() {
    holder_ = client_.owner();
    client_.take("a", holder_);
    for (int i = 0; i < dead; ++i) {
      Client gone(store_);
      gone.wait_for("a", gone.owner());
    }
  }
  [[nodiscard]] static std::size_t keys() {
    std::size_t count = 0;
    for (std::size_t i = 0; i < RedisCluster::size; ++i) {
      auto& node = RedisClusterTestStore::group().node(i);
      count += node.command({"KEYS", "holt:default:*:[lqut]:a"}).items.size();
    }
    return count;
  }

  static constexpr int dead = 3;
  [[maybe_unused]] bool const modules_ = (use_built_modules(), true);
  RedisClusterTestStore store_;
  Client client_{store_};
  Owner holder_;
};

TEST_F(RedisClusterLine, EachDeadWaiterCostsOneOffer) {
  auto const alive = client_.owner();
  EXPECT_EQ(client_.wait_for("a", alive, {.ticket_ttl = 60s}), dead + 1U);
  EXPECT_TRUE(client_.release("a", holder_));
  for (int i = 0; i < dead; ++i) {
    EXPECT_FALSE(client_.acquire("a", alive, {.line = true, .ticket_ttl = 60s})) << i;
    store_.advance(offer);
  }
  client_.take("a", alive);
}

TEST_F(RedisClusterLine, NothingStaysWhenAllWaitersAreGone) {
  EXPECT_TRUE(client_.release("a", holder_));
  auto const next = client_.owner();
  for (int i = 0; i < dead; ++i) {
    EXPECT_FALSE(client_.acquire("a", next)) << i;
    store_.advance(offer);
  }
  EXPECT_FALSE(client_.find("a"));
  client_.take("a", next);
  EXPECT_TRUE(client_.release("a", next));
  EXPECT_EQ(keys(), 0U);
}

/// Their places end by themselves, also while the holder keeps the name.
TEST_F(RedisClusterLine, WhoDoesNotAskAgainLosesItsPlaceInTime) {
  EXPECT_EQ(client_.find("a")->waiting, 3U);
  store_.advance(10'001ms);
  EXPECT_EQ(client_.find("a")->waiting, 0U);
  EXPECT_TRUE(client_.release("a", holder_));
  EXPECT_FALSE(client_.find("a"));
  client_.take("a", client_.owner());
}

}  // namespace
}  // namespace holt::test
