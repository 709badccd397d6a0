// SPDX-License-Identifier: Apache-2.0
// Hints of change on a Redis Cluster: every master that has shards is heard, wherever they move.
// The contract of hints is tried on a cluster too (watch_test.cpp).

#include "contract/redis_cluster_store.hpp"
#include "support/servers/wait_until.hpp"

#include <holt/holt.hpp>

#include <algorithm>
#include <atomic>
#include <string>

namespace holt::test {
namespace {

class RedisClusterChanges : public RedisClusterStore {
 protected:
  static int listeners(RedisServer const& node) {
    return std::stoi(info_field(node.command({"INFO", "clients"}).text, "tracking_clients"));
  }
  static bool each_master_has(int count) {
    return std::ranges::all_of(masters(),
                               [&](auto const* node) { return listeners(*node) == count; });
  }
  /// Whether one more hint comes of this.
  template <class Work>
  bool hints_at(Work&& change) {
    auto const before = hints_.load();
    std::forward<Work>(change)();
    return wait_until([&] { return hints_ > before; });
  }
  std::unique_ptr<ChangeWatch> watch(Client& client) {
    return client.engine().watch([this] { ++hints_; });
  }

  ClusterStore store_{cluster()};
  std::atomic<int> hints_ = 0;
};

TEST_F(RedisClusterChanges, ComeFromEveryMasterWhileSomebodyWatches) {
  Client watcher(store_);
  Client other(store_);
  EXPECT_TRUE(each_master_has(0));
  {
    auto const watching = watch(watcher);
    ASSERT_TRUE(watching);
    EXPECT_TRUE(each_master_has(1));
    auto const owner = other.owner();
    for (auto const* const master : masters()) {
      auto const name = name_on(other, *master);
      EXPECT_TRUE(hints_at([&] { other.take(name, owner); })) << master->address();
    }
  }
  EXPECT_TRUE(wait_until([] { return each_master_has(0); }));
}

TEST_F(RedisClusterChanges, ComeFromWhereASlotHasMovedTo) {
  Client watcher(store_);
  Client other(store_);
  auto const watching = watch(watcher);
  ASSERT_TRUE(watching);
  auto const owner = other.owner();
  other.take("moving", owner, {.ttl = 30s});
  auto const slot = slot_of("moving");
  auto& from = cluster().master_of(slot);
  cluster().move_slot(slot, other_than(from));
  ASSERT_TRUE(other.find("moving")) << "it knows where that is";
  EXPECT_TRUE(hints_at([&] { EXPECT_TRUE(other.renew("moving", owner, 40s)); }));
  cluster().move_slot(slot, from);
  EXPECT_TRUE(hints_at([&] { EXPECT_TRUE(other.release("moving", owner)); }));
}

/// Nobody calls anything on the watching client meanwhile.
TEST_F(RedisClusterChanges, ComeFromTheMasterThatTookTheDeadOnesPlace) {
  Client watcher(store_);
  Client other(store_);
  auto& old = *masters().at(0);
  auto const name = name_on(other, old);
  auto const watching = watch(watcher);
  ASSERT_TRUE(watching);
  auto& replica = replica_of(old);
  EXPECT_TRUE(hints_at([&] { old.kill(); })) << "something may be missed from now on";
  EXPECT_TRUE(wait_until(
      [&] {
        return replica.command({"ROLE"}).items.at(0).text == "master" && listeners(replica) == 1;
      },
      60s));
  EXPECT_TRUE(hints_at([&] { take_when_possible(other, name, other.owner()); }));
  old.start();
  EXPECT_TRUE(wait_until([&] { return old.command({"ROLE"}).items.at(0).text == "slave"; }));
  cluster().await_ok();
}

/// As `holt lock watch` does; its calls have less time than the cluster takes.
TEST_F(RedisClusterChanges, AWatchWaitsForTheNewMaster) {
  Client other(store_);
  auto& old = *masters().at(0);
  auto const name = name_on(other, old);
  auto client = open(store_.url(), {.timeout = 200ms});
  auto watch = client.watch();
  EXPECT_TRUE(watch.next().empty());
  old.kill();
  auto const owner = other.owner();
  take_when_possible(other, name, owner);
  std::vector<LeaseEvent> events;
  EXPECT_TRUE(wait_until([&] { return !(events = watch.next(1s)).empty(); }, 30s));
  ASSERT_EQ(events.size(), 1U);
  EXPECT_EQ(events.at(0).lease.name, name);
  EXPECT_EQ(events.at(0).lease.owner, owner);
  old.start();
  EXPECT_TRUE(wait_until([&] { return old.command({"ROLE"}).items.at(0).text == "slave"; }));
  cluster().await_ok();
}

}  // namespace
}  // namespace holt::test
