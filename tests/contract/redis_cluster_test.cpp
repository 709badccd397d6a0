// SPDX-License-Identifier: Apache-2.0
// Redis Cluster: what only a cluster does while it is well. The contract suites run on one too.

#include "contract/redis_cluster_store.hpp"
#include "support/servers/wait_until.hpp"

#include <gmock/gmock.h>

#include <algorithm>
#include <set>
#include <string>
#include <vector>

namespace holt::test {
namespace {

using testing::AllOf;
using testing::HasSubstr;

TEST_F(RedisClusterStore, NamesOfSeveralShardsAreNotTakenTogether) {
  ClusterStore store(cluster());
  Client client(store);
  auto const said =
      refusal([&] { static_cast<void>(client.acquire_all({"x", "deploy"}, client.owner())); });
  EXPECT_THAT(said, HasSubstr("\"x\" and \"deploy\" cannot be taken together on a Redis Cluster"));
  EXPECT_THAT(said, HasSubstr("{deploy}:eu"));
  EXPECT_TRUE(client.acquire_all({"{x}a", "{x}b"}, client.owner()));
}

TEST_F(RedisClusterStore, AListingAsksEveryShard) {
  ClusterStore store(cluster());
  Client client(store);
  std::set<std::string> expected;
  for (int i = 0; i < 150; ++i) {
    auto const name = "name-" + std::to_string(1000 + i);
    client.take(Name(name), client.owner());
    expected.insert(name);
  }
  for (auto* const master : masters()) {
    EXPECT_FALSE(master->command({"KEYS", "holt:default:*:l:*"}).items.empty());
  }
  std::vector<std::string> listed;
  std::string cursor;
  do {
    auto const page = client.list("name-", cursor, 40);
    for (auto const& lease : page.leases) listed.push_back(lease.name.text());
    cursor = page.next;
  } while (!cursor.empty());
  EXPECT_EQ(listed, std::vector<std::string>(expected.begin(), expected.end()));
}

TEST_F(RedisClusterStore, FencesAreRaisedInEveryShard) {
  ClusterStore store(cluster());
  Client client(store);
  constexpr std::uint64_t jump = std::uint64_t{1} << 32U;
  auto const none = run(client.engine().raise_fence(client.deadline()));
  EXPECT_EQ(none.before, Fence());
  Fence highest;
  for (int i = 0; i < 20; ++i) {
    auto const fence = client.take(Name("x" + std::to_string(i)), client.owner());
    EXPECT_GT(fence, none.after);
    highest = std::max(highest, fence);
  }
  auto const raised = run(client.engine().raise_fence(client.deadline()));
  EXPECT_GE(raised.before, highest);
  EXPECT_EQ(raised.after.value(), raised.before.value() + jump);
  for (int i = 0; i < 20; ++i) {
    EXPECT_GT(client.take(Name("y" + std::to_string(i)), client.owner()), raised.after);
  }
}

TEST_F(RedisClusterStore, DoctorLooksAtEveryMaster) {
  ClusterStore store(cluster());
  Client client(store);
  auto const findings = run(client.engine().diagnose(5s));
  std::set<std::string> ids;
  for (auto const& finding : findings) {
    EXPECT_TRUE(ids.insert(finding.id).second) << finding.id << " is there twice";
    EXPECT_LE(finding.status, FindingStatus::info) << finding.id << ": " << finding.detail;
  }
  for (auto const* const id :
       {"cluster", "server-version", "replication", "eviction", "persistence", "durability"}) {
    EXPECT_TRUE(ids.contains(id)) << id;
  }
  auto const& all = *std::ranges::find(findings, "cluster", &Finding::id);
  EXPECT_EQ(all.detail, "3 masters, all 16384 slots served");
  auto const& replicas = *std::ranges::find(findings, "replication", &Finding::id);
  EXPECT_EQ(replicas.detail, "master, 1 replica, no min-replicas-to-write");

  auto& odd = *masters().at(1);
  odd.command({"CONFIG", "SET", "maxmemory-policy", "allkeys-lru"});
  auto const worse = run(client.engine().diagnose(5s));
  odd.command({"CONFIG", "SET", "maxmemory-policy", "noeviction"});
  auto const& eviction = *std::ranges::find(worse, "eviction", &Finding::id);
  EXPECT_EQ(eviction.status, FindingStatus::fail);
  EXPECT_THAT(eviction.detail, HasSubstr(odd.address() + ": maxmemory-policy allkeys-lru"));
  EXPECT_THAT(eviction.fix, HasSubstr("noeviction"));
}

TEST_F(RedisClusterStore, WhatDoesNotFitIsSaid) {
  RealEnv env;
  auto const open = [&](std::string const& url) {
    return refusal([&] { static_cast<void>(open_engine(env, {url, "default"})); });
  };
  EXPECT_THAT(open(cluster().url() + "?layout=syncguard"),
              HasSubstr("a Redis Cluster is not possible with layout=syncguard"));
  RedisServer const alone;
  auto const no_cluster = open("redis+cluster://" + alone.address());
  EXPECT_THAT(no_cluster, HasSubstr("this server is no part of a cluster"));
  EXPECT_THAT(no_cluster, HasSubstr("use redis:// for a single server"));
  auto const nobody = open("redis+cluster://127.0.0.1:1,127.0.0.1:2");
  EXPECT_THAT(nobody, HasSubstr("no node of the cluster can be asked (127.0.0.1:"));
  EXPECT_THAT(nobody, HasSubstr("Connection refused"));

  // The wrong address at a node: a single server's counter is in another slot than the name.
  auto const engine = open_engine(env, {cluster().node(0).url(), "default"});
  LeaseRequest const request({Name("x")}, Owner(engine->signals().inbox(), std::string(22, 'a')),
                             10s);
  auto const said =
      refusal([&] { static_cast<void>(run(engine->leases().acquire(request, env.now() + 5s))); });
  EXPECT_THAT(said, AllOf(HasSubstr("CROSSSLOT"), HasSubstr("write redis+cluster://")));
}

/// What a node says to who takes it for a single server: that nothing can be taken is above.
TEST_F(RedisClusterStore, ANodeIsNoSingleServer) {
  ClusterStore store(cluster());
  Client client(store);
  auto const owner = client.owner();
  client.take("{t}1", owner);
  auto const slot = slot_of("{t}1");
  auto& from = cluster().master_of(slot);
  auto& to = other_than(from);
  TestStoreAt alone(from.url());
  Client wrong(alone);
  cluster().begin_move(slot, to);
  EXPECT_THAT(refusal([&] { static_cast<void>(wrong.find("{t}1")); }), HasSubstr("TRYAGAIN"));
  cluster().move_keys({key_of("{t}1")}, to);
  EXPECT_THAT(refusal([&] { static_cast<void>(wrong.renew("{t}1", owner)); }),
              AllOf(HasSubstr("ASK "), HasSubstr("write redis+cluster://")));
  cluster().move_rest(slot, to);
  EXPECT_THAT(refusal([&] { static_cast<void>(wrong.find("{t}1")); }),
              AllOf(HasSubstr("MOVED"), HasSubstr("write redis+cluster://")));
  cluster().move_slot(slot, from);
}

TEST_F(RedisClusterStore, AnyNodeIsEnoughToFindTheRest) {
  RealEnv env;
  for (std::size_t i = 0; i < RedisCluster::size; ++i) {
    auto const url = "redis+cluster://127.0.0.1:1," + cluster().node(i).address();
    auto const engine = open_engine(env, {url, "default"});
    for (int n = 0; n < 5; ++n) {
      LeaseRequest request({Name("n" + std::to_string(n))},
                           Owner(engine->signals().inbox(), std::string(22, 'a')), 10s);
      EXPECT_NO_THROW(static_cast<void>(run(engine->leases().acquire(request, env.now() + 5s))));
    }
  }
}

TEST_F(RedisClusterStore, ReplicasConfirmWhatIsGranted) {
  ClusterStore store(cluster(), "?wait_replicas=1&wait_timeout=2000");
  Client client(store);
  EXPECT_EQ(client.engine().capabilities().durability, Durability::redis_wait);
  std::vector<Name> names;
  for (auto* const master : masters()) {
    master->command({"CONFIG", "RESETSTAT"});
    names.push_back(name_on(client, *master));
    EXPECT_TRUE(was_told(*master, "wait"));
  }
  auto const owner = client.owner();
  for (auto const& name : names) client.take(name, owner, {.ttl = 30s});
  for (auto const& name : names) EXPECT_TRUE(client.renew(name, owner, 30s));
  auto const put = run(client.engine().records().put(RecordWrite("key", "v"), client.deadline()));
  EXPECT_TRUE(put);

  // One master whose replica has gone away: its names are not granted, the others' are.
  auto& lonely = *masters().at(0);
  auto& replica = replica_of(lonely);
  replica.freeze();
  auto const said = refusal([&] { static_cast<void>(client.renew(names.at(0), owner, 30s)); });
  EXPECT_THAT(said, HasSubstr("0 of 1 replicas confirmed it within 2000 ms"));
  EXPECT_TRUE(client.renew(names.at(1), owner, 30s));
  replica.thaw();
  EXPECT_TRUE(wait_until([&] {
    try {
      return client.renew(names.at(0), owner, 30s).has_value();
    } catch (EngineError const&) {
      return false;
    }
  }));
}

}  // namespace
}  // namespace holt::test
