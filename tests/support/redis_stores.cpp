// SPDX-License-Identifier: Apache-2.0
#include "support/redis_stores.hpp"

#include <fstream>

namespace holt::test {
namespace {

ServerClock& tls_clock() {
  static ServerClock clock;
  return clock;
}

ServerClock& sentinel_clock() {
  static ServerClock clock;
  return clock;
}

ServerClock& cluster_clock() {
  static ServerClock clock;
  return clock;
}

ServerClock& guarded_cluster_clock() {
  static ServerClock clock;
  return clock;
}

/// More than any test sets the clock forward by.
constexpr std::chrono::hours long_enough{24 * 10};

}  // namespace

RedisOptions ServerClock::with(RedisOptions options) const {
  auto const environment = clock_.environment();
  options.environment.insert(options.environment.end(), environment.begin(), environment.end());
  // Servers that have not heard of each other for so long part; the clock makes it seem so.
  options.config.emplace_back("repl-timeout 1000000");
  return options;
}

void RedisTestStore::advance(std::chrono::nanoseconds by) {
  env_.advance(by);
  clock_.advance(by);
}

RedisServer& RedisTlsTestStore::server() {
  auto const& clock = tls_clock();
  static RedisServer it(clock.with({.tls = RedisOptions::Tls::mutual}));
  return it;
}

std::string RedisTlsTestStore::url() const {
  auto const& files = server().tls();
  return "rediss://127.0.0.1:" + std::to_string(server().tls_port()) + "?ca_file=" + files.ca() +
         "&certificate_file=" + files.client_certificate() + "&key_file=" + files.client_key();
}

void RedisTlsTestStore::advance(std::chrono::nanoseconds by) {
  env_.advance(by);
  tls_clock().advance(by);
}

std::string RedisAclTestStore::example_line() {
  std::ifstream file(HOLT_REDIS_ACL);
  std::string line;
  if (!std::getline(file, line)) throw std::runtime_error("cannot read " HOLT_REDIS_ACL);
  return line;
}

RedisSentinels& RedisSentinelTestStore::group() {
  auto const& clock = sentinel_clock();
  static RedisSentinels it(clock.with({}));
  return it;
}

void RedisSentinelTestStore::advance(std::chrono::nanoseconds by) {
  env_.advance(by);
  sentinel_clock().advance(by);
}

RedisCluster& RedisClusterTestStore::group() {
  auto const& clock = cluster_clock();
  static RedisCluster it(clock.with({}));
  [[maybe_unused]] static bool const patient = (it.set_node_timeout(long_enough), true);
  return it;
}

void RedisClusterTestStore::advance(std::chrono::nanoseconds by) {
  env_.advance(by);
  cluster_clock().advance(by);
}

RedisCluster& RedisGuardedClusterTestStore::group() {
  auto const& clock = guarded_cluster_clock();
  static RedisCluster it(
      clock.with({.acl = {RedisAclTestStore::example_line()}, .tls = RedisOptions::Tls::mutual}));
  [[maybe_unused]] static bool const patient = (it.set_node_timeout(long_enough), true);
  return it;
}

void RedisGuardedClusterTestStore::advance(std::chrono::nanoseconds by) {
  env_.advance(by);
  guarded_cluster_clock().advance(by);
}

}  // namespace holt::test
