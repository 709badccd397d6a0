// SPDX-License-Identifier: Apache-2.0
// What doctor finds in the keys of an instance, on a server where it is so.

#include "engines/redis/layout.hpp"
#include "redis/store_behind_proxy.hpp"

#include <gmock/gmock.h>

namespace holt::test {
namespace {

using testing::HasSubstr;

Finding finding(RedisCaller& caller, std::string const& id) {
  auto const findings = run(caller.engine().diagnose(5s));
  auto const found = std::ranges::find(findings, id, &Finding::id);
  EXPECT_NE(found, findings.end()) << id;
  return found == findings.end() ? Finding() : *found;
}

TEST(RedisDoctor, TellsHowFarTheFencesAre) {
  RedisServer const server;
  RedisCaller caller(server.url());
  EXPECT_EQ(finding(caller, "fences").detail, "none drawn yet");
  auto const fence = caller.take("x", caller.owner());
  EXPECT_EQ(finding(caller, "fences").detail, "last " + std::to_string(fence.value()));
  (void)run(caller.engine().raise_fence(caller.deadline()));
  EXPECT_THAT(finding(caller, "fences").detail, HasSubstr("ahead of the server's clock"));
  auto const counter = redis::Keys("default").counter(redis::shard_of("x"));
  server.command({"HSET", counter, "n", "many"});
  auto const odd = finding(caller, "fences");
  EXPECT_EQ(odd.status, FindingStatus::fail);
  EXPECT_THAT(odd.detail, HasSubstr(counter));
}

TEST(RedisDoctor, FindsALeaseWithoutAnEnd) {
  RedisServer const server;
  RedisCaller caller(server.url());
  for (int i = 0; i < 300; ++i) caller.take(std::to_string(i), caller.owner());
  EXPECT_EQ(finding(caller, "lease-keys").detail, "300 names, each with an end");
  auto const key = redis::Keys("default").lease("17");
  server.command({"PERSIST", key});
  auto const odd = finding(caller, "lease-keys");
  EXPECT_EQ(odd.status, FindingStatus::warn);
  EXPECT_THAT(odd.detail, HasSubstr("1 of 300 keys without a ttl, as " + key));
  EXPECT_TRUE(caller.acquire("17", caller.owner())) << "it counts as ended";
  EXPECT_EQ(finding(caller, "lease-keys").status, FindingStatus::ok);
}

TEST(RedisDoctor, TellsWhetherAMasterMindsItsReplicas) {
  RedisServer const server;
  RedisCaller caller(server.url());
  EXPECT_EQ(finding(caller, "replication").detail, "master, 0 replicas");
  server.command({"CONFIG", "SET", "min-replicas-to-write", "1"});
  EXPECT_THAT(finding(caller, "replication").detail, HasSubstr("min-replicas-to-write is set"));
}

}  // namespace
}  // namespace holt::test
