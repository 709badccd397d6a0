// SPDX-License-Identifier: Apache-2.0
// Redis Cluster: calls follow their keys when slots move and when masters die.

#include "contract/redis_cluster_store.hpp"
#include "support/servers/wait_until.hpp"

#include <holt/holt.hpp>

#include <gmock/gmock.h>

#include <chrono>
#include <future>
#include <optional>
#include <string>
#include <thread>
#include <vector>

namespace holt::test {
namespace {

using testing::HasSubstr;

/// Its nodes move slots and die.
class RedisClusterInTrouble : public RedisClusterStore {};

TEST_F(RedisClusterInTrouble, AMovedSlotIsFollowed) {
  ClusterStore store(cluster());
  Client client(store);
  Client other(store);
  auto const owner = client.owner();
  auto const before = client.take("moving", owner, {.ttl = 30s});
  ASSERT_TRUE(other.find("moving"));
  auto const slot = slot_of("moving");
  auto& from = cluster().master_of(slot);
  auto& to = other_than(from);
  cluster().move_slot(slot, to);

  EXPECT_TRUE(client.renew("moving", owner, 30s));
  EXPECT_EQ(other.find("moving")->fence, before);
  auto const waiter = other.owner();
  EXPECT_EQ(other.wait_for("moving", waiter), 1U);
  EXPECT_TRUE(client.release("moving", owner));
  EXPECT_TRUE(other.hears(topic::offer, waiter.text()));
  EXPECT_GT(other.take("moving", waiter), before);
  EXPECT_EQ(&cluster().master_of(slot_of("moving")), &to);
  cluster().move_slot(slot, from);
  EXPECT_TRUE(other.release("moving", waiter));
}

TEST_F(RedisClusterInTrouble, WhileASlotMovesHoldersRenewAndOthersWait) {
  ClusterStore store(cluster());
  Client client(store);
  auto const owner = client.owner();
  auto const before = client.take("{s}1", owner, {.ttl = 30s});
  client.take("{s}2", owner, {.ttl = 30s});
  auto const slot = slot_of("{s}1");
  auto& from = cluster().master_of(slot);
  auto& to = other_than(from);
  for (auto* const node : {&from, &to}) node->command({"CONFIG", "RESETSTAT"});
  cluster().begin_move(slot, to);
  cluster().move_keys({key_of("{s}1")}, to);

  // One lease is here and one there.
  std::vector<LeaseRenewal> both;
  both.emplace_back("{s}1", owner, 30s);
  both.emplace_back("{s}2", owner, 30s);
  auto const renewed = run(client.engine().leases().renew(std::move(both), client.deadline()));
  EXPECT_TRUE(renewed.at(0));
  EXPECT_TRUE(renewed.at(1));
  EXPECT_TRUE(was_told(to, "asking"));
  EXPECT_GT(times_refused(from), 0);

  // What needs all keys of a name waits until they are together.
  auto const before_that = times_refused(from);
  auto late = std::async(std::launch::async,
                         [&] { return client.take("{s}3", client.owner(), {.ttl = 30s}); });
  EXPECT_TRUE(wait_until([&] { return times_refused(from) >= before_that + 3; }));
  auto const rest = from.command({"CLUSTER", "GETKEYSINSLOT", std::to_string(slot), "100"});
  std::vector<std::string> keys;
  for (auto const& key : rest.items) keys.push_back(key.text);
  cluster().move_keys(keys, to);
  cluster().end_move(slot, to);
  EXPECT_GT(late.get(), before);
  EXPECT_TRUE(client.release("{s}1", owner));
  EXPECT_TRUE(client.release("{s}2", owner));
  cluster().move_slot(slot, from);
}

TEST_F(RedisClusterInTrouble, ASlotThatStaysBetweenTwoNodesIsNotWaitedForBeyondTheDeadline) {
  ClusterStore store(cluster());
  Client client(store);
  auto const owner = client.owner();
  client.take("{t}1", owner, {.ttl = 30s});
  auto const slot = slot_of("{t}1");
  auto& from = cluster().master_of(slot);
  auto& to = other_than(from);
  cluster().begin_move(slot, to);
  cluster().move_keys({key_of("{t}1")}, to);
  auto const acquire = [&](Nanos patience) {
    LeaseRequest request({Name("{t}2")}, client.owner(), 10s);
    return run(client.engine().leases().acquire(request, store.env().now() + patience));
  };
  auto const started = std::chrono::steady_clock::now();
  auto const said = refusal([&] { static_cast<void>(acquire(2s)); });
  EXPECT_THAT(said, HasSubstr("TRYAGAIN"));
  EXPECT_THAT(said, HasSubstr("the cluster is moving this slot"));
  EXPECT_LT(std::chrono::steady_clock::now() - started, 15s);
  EXPECT_TRUE(client.renew("{t}1", owner)) << "a key alone is found";

  for (auto* const node : {&to, &from}) {
    node->command({"CLUSTER", "SETSLOT", std::to_string(slot), "STABLE"});
  }
}

TEST_F(RedisClusterInTrouble, ADeadMastersPlaceIsTaken) {
  ClusterStore store(cluster());
  Client client(store);
  Client other(store);
  // The node that the other one listens to.
  auto const channel = "holt:default:inbox:" + other.engine().signals().inbox();
  RedisServer* heard_on = nullptr;
  for (auto* const master : masters()) {
    if (master->command({"PUBSUB", "NUMSUB", channel}).items.at(1).integer == 1) heard_on = master;
  }
  ASSERT_NE(heard_on, nullptr);
  auto& old = *heard_on;
  auto const name = name_on(client, old);
  auto const elsewhere = name_on(client, other_than(old));
  auto const owner = client.owner();
  client.take(elsewhere, owner, {.ttl = 60s});
  auto const before = client.take(name, owner, {.ttl = 60s});
  auto const slot = slot_of(name.text());
  RedisCluster::await_replicated(old);

  auto& now = cluster().fail_over_by_kill(slot);
  EXPECT_TRUE(client.renew(elsewhere, owner, 60s));
  // Held in others' eyes too, once the new master is found.
  EXPECT_TRUE(wait_until([&] {
    try {
      auto const found = other.find(name);
      return found && found->owner == owner;
    } catch (EngineError const& error) {
      EXPECT_TRUE(error.retryable()) << error.what();
      return false;
    }
  }));
  EXPECT_EQ(&cluster().master_of(slot), &now);
  EXPECT_TRUE(client.release(name, owner));
  auto const after = take_when_possible(client, name, owner);
  EXPECT_GT(after, before);

  // It listens elsewhere now.
  auto const waiter = other.owner();
  EXPECT_TRUE(wait_until([&] {
    try {
      return other.wait_for(name, waiter) == 1;
    } catch (EngineError const&) {
      return false;
    }
  }));
  EXPECT_TRUE(client.release(name, owner));
  EXPECT_TRUE(other.hears(topic::offer, waiter.text()));
  EXPECT_GT(other.take(name, waiter), after);

  // The old one comes back as a replica, and is not used.
  old.start();
  EXPECT_TRUE(wait_until([&] { return old.command({"ROLE"}).items.at(0).text == "slave"; }));
  EXPECT_TRUE(client.renew(elsewhere, owner, 60s));
  EXPECT_TRUE(other.renew(name, waiter, 60s));
  cluster().await_ok();
}

/// What a promoted replica never heard of was granted all the same: its fences must not come again.
TEST_F(RedisClusterInTrouble, FencesThatTheNewMasterNeverHeardOfAreNotGivenAgain) {
  ClusterStore store(cluster());
  Client client(store);
  auto& old = *masters().at(0);
  auto const name = name_on(client, old);
  auto const first = client.owner();
  client.take(name, first);
  auto const slot = slot_of(name.text());
  ASSERT_TRUE(client.release(name, first));
  auto& replica = replica_of(old);
  RedisCluster::await_replicated(old);
  replica.freeze();
  old.command({"CLIENT", "KILL", "TYPE", "replica"});
  Fence forgotten;
  for (int i = 0; i < 20; ++i) {
    auto const owner = client.owner();
    forgotten = client.take(name, owner);
    ASSERT_TRUE(client.release(name, owner));
  }
  auto const holder = client.owner();
  forgotten = client.take(name, holder);
  old.kill();
  replica.thaw();
  EXPECT_TRUE(wait_until([&] {
    try {
      return &cluster().master_of(slot) == &replica;
    } catch (ServerFailed const&) {
      return false;
    }
  }));
  cluster().await_ok();
  auto const after = take_when_possible(client, name, client.owner());
  EXPECT_GT(after, forgotten);
  EXPECT_FALSE(client.renew(name, holder)) << "its holder is told";
  old.start();
  EXPECT_TRUE(wait_until([&] { return old.command({"ROLE"}).items.at(0).text == "slave"; }));
  cluster().await_ok();
}

/// A client that called nothing meanwhile sees the shard where it always was. The server that had
/// it in between drew numbers and died; its replica had heard neither of them nor of the server.
TEST_F(RedisClusterInTrouble, FencesGrowAlsoWhenASlotWasAwayUnseenAndNumbersAreLost) {
  ClusterStore store(cluster());
  Client idle(store);
  Client busy(store);
  auto& home = *masters().at(0);
  auto& away = other_than(home);
  auto const name = name_on(busy, home);
  auto const first = idle.owner();
  idle.take(name, first);
  auto const slot = slot_of(name.text());
  ASSERT_TRUE(idle.release(name, first));
  auto const last_call = std::chrono::steady_clock::now();

  auto& replica = replica_of(away);
  cluster().move_slot(slot, away);
  auto const number = std::to_string(slot);
  ASSERT_TRUE(wait_until(
      [&] { return replica.command({"CLUSTER", "COUNTKEYSINSLOT", number}).integer > 0; }));
  replica.freeze();
  away.command({"CLIENT", "KILL", "TYPE", "replica"});
  Fence forgotten;
  for (int i = 0; i < 20; ++i) {
    auto const owner = busy.owner();
    forgotten = busy.take(name, owner);
    ASSERT_TRUE(busy.release(name, owner));
  }
  away.kill();
  replica.thaw();
  EXPECT_TRUE(wait_until(
      [&] {
        try {
          return &cluster().master_of(slot) == &replica;
        } catch (ServerFailed const&) {
          return false;
        }
      },
      60s));
  cluster().await_ok();
  cluster().move_slot(slot, home);
  // Sooner the client may still think that it knows the shard: docs/adr/0013-redis-layout.md.
  std::this_thread::sleep_until(last_call + 2s);
  auto const owner = idle.owner();
  auto const after = idle.take(name, owner);
  EXPECT_GT(after, forgotten);
  EXPECT_TRUE(idle.release(name, owner));
  EXPECT_GT(take_when_possible(busy, name, busy.owner()), after);
  away.start();
  EXPECT_TRUE(wait_until([&] { return away.command({"ROLE"}).items.at(0).text == "slave"; }));
  cluster().await_ok();
}

TEST_F(RedisClusterInTrouble, LeasesOnOtherMastersAreRenewedWhileOneIsDead) {
  ClusterStore store(cluster());
  Client client(store);
  auto& dead = *masters().at(0);
  auto const lost = name_on(client, dead);
  auto const kept = name_on(client, other_than(dead));
  auto const owner = client.owner();
  client.take(lost, owner, {.ttl = 30s});
  client.take(kept, owner, {.ttl = 30s});
  dead.freeze();
  std::vector<LeaseRenewal> both;
  both.emplace_back(lost, owner, 60s);
  both.emplace_back(kept, owner, 60s);
  auto const answers =
      run(client.engine().leases().renew(std::move(both), store.env().now() + 500ms));
  ASSERT_FALSE(answers.at(0));
  EXPECT_EQ(answers.at(0).error().reason, LossReason::none) << "nobody knows: ask again";
  EXPECT_THAT(answers.at(0).error().detail, HasSubstr("no answer from"));
  EXPECT_TRUE(answers.at(1));
  EXPECT_GT(client.find(kept)->expires_in, 40s);
  dead.thaw();
}

TEST_F(RedisClusterInTrouble, ALockOnOneMasterIsKeptWhileAnotherIsDead) {
  ClusterStore store(cluster());
  auto& dead = *masters().at(0);
  std::optional<Name> lost;
  std::optional<Name> kept;
  {
    Client client(store);
    lost = name_on(client, dead);
    kept = name_on(client, other_than(dead));
  }
  auto holt = open(store.url());
  auto const on_dead = holt.lock(*lost, {.ttl = 3s});
  auto const on_other = holt.lock(*kept, {.ttl = 3s});
  ASSERT_TRUE(on_dead && on_other);
  cluster().set_node_timeout(30s);  // nobody takes the dead one's place
  dead.freeze();
  EXPECT_TRUE(wait_until([&] { return !on_dead->held() || !on_other->held(); }));
  EXPECT_TRUE(on_other->held()) << "it was renewed meanwhile";
  dead.thaw();
  cluster().set_node_timeout(1s);
  cluster().await_ok();
}

}  // namespace
}  // namespace holt::test
