// SPDX-License-Identifier: Apache-2.0
#include "support/redis_stores.hpp"

#include <gtest/gtest.h>

namespace holt::test {
namespace {

using namespace std::chrono_literals;

/// Sets a key that lives for a minute and advances past its end, twice.
void keys_end_by(TestStore& store, RedisServer& server, std::string const& key) {
  for (int i = 0; i < 2; ++i) {
    auto const before = store.env().now();
    server.command({"SET", key, "v", "PX", "60000"});
    store.advance(50s);
    EXPECT_EQ(server.connect().text({"GET", key}), "v");
    store.advance(11s);
    EXPECT_TRUE(server.connect().ask({"GET", key}).is_nil());
    EXPECT_GE(store.env().now() - before, 61s);
  }
}

TEST(RedisStoresTest, OneServerIsNewForEachStore) {
  {
    RedisTestStore store;
    keys_end_by(store, store.server(), "k");
    store.server().command({"SET", "left", "behind"});
  }
  RedisTestStore store;
  EXPECT_EQ(store.url(), store.server().url());
  EXPECT_TRUE(store.server().connect().ask({"GET", "left"}).is_nil());
}

TEST(RedisStoresTest, SentinelsAreEmptiedForEachStoreAndDoNotMindTheClock) {
  auto& master = RedisSentinelTestStore::group().master();
  {
    RedisSentinelTestStore store;
    keys_end_by(store, master, "k");
    master.command({"SET", "left", "behind"});
  }
  RedisSentinelTestStore store;
  store.advance(1h);
  EXPECT_EQ(&RedisSentinelTestStore::group().master(), &master);
  EXPECT_TRUE(master.connect().ask({"GET", "left"}).is_nil());
  EXPECT_EQ(master.command({"WAIT", "2", "5000"}).integer, 2);
}

TEST(RedisStoresTest, AClusterIsEmptiedForEachStoreAndDoesNotMindTheClock) {
  auto& cluster = RedisClusterTestStore::group();
  auto& master = cluster.master_for("k");
  {
    RedisClusterTestStore store;
    keys_end_by(store, master, "k");
    master.command({"SET", "{k}left", "behind"});
  }
  RedisClusterTestStore store;
  store.advance(1h);
  cluster.await_ok();
  EXPECT_EQ(&cluster.master_for("k"), &master);
  EXPECT_TRUE(master.connect().ask({"GET", "{k}left"}).is_nil());
  EXPECT_EQ(master.command({"WAIT", "1", "5000"}).integer, 1);
}

}  // namespace
}  // namespace holt::test
