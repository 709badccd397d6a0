// SPDX-License-Identifier: Apache-2.0
// A Redis Cluster over TLS, for the user of acl.example: redirects lead to the ports that speak
// TLS, and whatever a cluster needs is in that line. Contract suites run on such a cluster too.

#include "contract/redis_cluster_store.hpp"
#include "support/redis_stores.hpp"
#include "support/servers/wait_until.hpp"

#include <gmock/gmock.h>

#include <string>
#include <vector>

namespace holt::test {
namespace {

using testing::HasSubstr;

class RedisGuardedCluster : public RedisClusterStore {
 protected:
  static constexpr auto credentials = "holt:change-me";

  static void SetUpTestSuite() {
    start({.acl = {RedisAclTestStore::example_line()}, .tls = RedisOptions::Tls::mutual});
  }

  ClusterStore store_{cluster(), "", credentials};
};

TEST_F(RedisGuardedCluster, IsNotEnteredWithoutCertificateOrPassword) {
  RealEnv env;
  auto const open = [&](std::string const& url) {
    return refusal([&] { static_cast<void>(open_engine(env, {url, "default"})); });
  };
  auto const nodes = "127.0.0.1:" + std::to_string(cluster().node(0).tls_port());
  auto const& files = cluster().node(0).tls();
  EXPECT_THAT(open("rediss+cluster://holt:change-me@" + nodes + "?ca_file=" + files.ca()),
              HasSubstr("the server wants a certificate from us"));
  EXPECT_THAT(open(cluster().url("holt:wrong")), HasSubstr("WRONGPASS"));
  EXPECT_THAT(open("redis+cluster://holt:change-me@" + nodes), HasSubstr("rediss://"));
}

TEST_F(RedisGuardedCluster, AMovedSlotIsFollowed) {
  Client client(store_);
  Client other(store_);
  auto const owner = client.owner();
  auto const before = client.take("moving", owner, {.ttl = 30s});
  ASSERT_TRUE(other.find("moving"));
  auto const slot = slot_of("moving");
  auto& from = cluster().master_of(slot);
  auto& to = other_than(from);
  to.command({"CONFIG", "RESETSTAT"});
  cluster().begin_move(slot, to);
  cluster().move_keys({key_of("moving")}, to);
  EXPECT_TRUE(client.renew("moving", owner, 30s)) << "a key alone is found";
  EXPECT_TRUE(was_told(to, "asking"));
  cluster().move_rest(slot, to);

  auto const waiter = other.owner();
  EXPECT_EQ(other.wait_for("moving", waiter), 1U);
  EXPECT_TRUE(client.release("moving", owner));
  EXPECT_TRUE(other.hears(topic::offer, waiter.text()));
  EXPECT_GT(other.take("moving", waiter), before);
  EXPECT_EQ(&cluster().master_of(slot_of("moving")), &to);
  EXPECT_TRUE(other.release("moving", waiter));
}

TEST_F(RedisGuardedCluster, ADeadMastersPlaceIsTaken) {
  Client client(store_);
  auto& old = *masters().at(0);
  auto const name = name_on(client, old);
  auto const owner = client.owner();
  auto const before = client.take(name, owner, {.ttl = 60s});
  auto const slot = slot_of(name.text());
  RedisCluster::await_replicated(old);
  auto& now = cluster().fail_over_by_kill(slot);
  EXPECT_NE(&now, &old);
  EXPECT_TRUE(wait_until([&] {
    try {
      return client.release(name, owner).has_value();
    } catch (EngineError const& error) {
      EXPECT_TRUE(error.retryable()) << error.what();
      return false;
    }
  }));
  EXPECT_GT(take_when_possible(client, name, client.owner()), before);
  old.start();
  cluster().await_ok();
}

TEST_F(RedisGuardedCluster, ReplicasConfirmAndDoctorSeesAll) {
  ClusterStore store(cluster(), "&wait_replicas=1&wait_timeout=2000", credentials);
  Client client(store);
  EXPECT_NE(client.take("x", client.owner()), Fence());
  auto const raised = run(client.engine().raise_fence(client.deadline()));
  EXPECT_GT(raised.after, raised.before);
  for (auto const& finding : run(client.engine().diagnose(5s))) {
    EXPECT_LE(finding.status, FindingStatus::info) << finding.id << ": " << finding.detail;
  }
}

}  // namespace
}  // namespace holt::test
