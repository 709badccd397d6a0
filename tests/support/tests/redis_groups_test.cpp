// SPDX-License-Identifier: Apache-2.0
// The fixtures of several servers: Sentinels and a cluster.

#include "process_gone.hpp"
#include "support/servers/redis_cluster.hpp"
#include "support/servers/redis_sentinels.hpp"
#include "support/servers/wait_until.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <vector>

namespace holt::test {
namespace {

using namespace std::chrono_literals;
using testing::StartsWith;

TEST(RedisSentinelsTest, ReplaceAMasterThatIsKilledAndTakeItBackAsAReplica) {
  RedisSentinels group;
  auto& old = group.master();
  EXPECT_EQ(&old, &group.server(0));
  auto client = old.connect();
  client.done({"SET", "k", "v"});
  EXPECT_EQ(client.number({"WAIT", "2", "5000"}), 2);

  auto& now = group.fail_over_by_kill();
  EXPECT_NE(&now, &old);
  EXPECT_EQ(&group.master(), &now);
  EXPECT_EQ(now.connect().text({"GET", "k"}), "v");
  EXPECT_EQ(now.connect().text({"SET", "k", "w"}), "OK");

  group.look_often();
  old.start();
  EXPECT_TRUE(wait_until([&] { return old.command({"ROLE"}).items.at(0).text == "slave"; }, 60s));
  RedisSentinels::await_replicas(now, 2);
  group.flush();
  EXPECT_TRUE(now.connect().ask({"GET", "k"}).is_nil());
}

TEST(RedisSentinelsTest, AreAllGoneAtTheEnd) {
  std::vector<pid_t> pids;
  {
    RedisSentinels group;
    EXPECT_THAT(group.url(), testing::MatchesRegex("redis.sentinel://(127.0.0.1:[0-9]+,){2}"
                                                   "127.0.0.1:[0-9]+/holt"));
    for (std::size_t i = 0; i < 3; ++i) {
      pids.push_back(group.server(i).process().pid());
      pids.push_back(group.sentinel(i).process().pid());
    }
  }
  EXPECT_THAT(pids, testing::Each(testing::Truly(is_gone)));
}

class RedisClusterTest : public testing::Test {
 protected:
  // Takes seconds to make, so the tests share one, each on keys of its own.
  static void SetUpTestSuite() { cluster_ = std::make_unique<RedisCluster>(); }
  static void TearDownTestSuite() {
    std::vector<pid_t> pids;
    for (std::size_t i = 0; i < RedisCluster::size; ++i) {
      if (auto const pid = cluster_->node(i).process().pid()) pids.push_back(pid);
    }
    EXPECT_FALSE(pids.empty());
    cluster_.reset();
    EXPECT_THAT(pids, testing::Each(testing::Truly(is_gone)));
  }

  static inline std::unique_ptr<RedisCluster> cluster_;
};

TEST_F(RedisClusterTest, EachKeyHasItsMaster) {
  EXPECT_EQ(cluster_->slot_of("foo"), 12182);
  EXPECT_EQ(cluster_->slot_of("{foo}x"), 12182);
  auto& master = cluster_->master_for("foo");
  EXPECT_EQ(master.connect().text({"SET", "foo", "1"}), "OK");
  for (std::size_t i = 0; i < RedisCluster::size; ++i) {
    auto& node = cluster_->node(i);
    if (&node == &master) continue;
    EXPECT_EQ(node.connect().ask({"SET", "foo", "1"}).text, "MOVED 12182 " + master.address());
  }
  EXPECT_THAT(cluster_->url(), StartsWith("redis+cluster://127.0.0.1:"));
}

TEST_F(RedisClusterTest, ASlotCanBeMovedWithItsKeys) {
  auto const slot = cluster_->slot_of("moving");
  auto& from = cluster_->master_of(slot);
  from.command({"SET", "moving", "house"});
  auto* to = &cluster_->master_of((slot + 16384 / 3) % 16384);
  ASSERT_NE(to, &from);
  cluster_->move_slot(slot, *to);
  EXPECT_EQ(to->connect().text({"GET", "moving"}), "house");
  EXPECT_THAT(from.connect().ask({"GET", "moving"}).text, StartsWith("MOVED "));
}

TEST_F(RedisClusterTest, ReplacesAMasterThatIsKilled) {
  auto const slot = cluster_->slot_of("survivor");
  auto& old = cluster_->master_of(slot);
  auto client = old.connect();
  client.done({"SET", "survivor", "1"});
  EXPECT_EQ(client.number({"WAIT", "1", "5000"}), 1);
  auto& now = cluster_->fail_over_by_kill(slot);
  EXPECT_NE(&now, &old);
  EXPECT_EQ(now.connect().text({"GET", "survivor"}), "1");
  old.start();
  cluster_->await_ok();
  cluster_->flush();
  EXPECT_TRUE(now.connect().ask({"GET", "survivor"}).is_nil());
}

}  // namespace
}  // namespace holt::test
