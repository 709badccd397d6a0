// SPDX-License-Identifier: Apache-2.0
#pragma once
// Redis as stores for the contract tests, one TestStore per way of running it: alone, with TLS, for
// a user with few rights, behind Sentinels, as a cluster. Their servers run on a clock that
// advance() sets forward, so that no test of an expiry waits for it.
//
// A server alone is new for each store. Certificates take a while to make and a group takes
// seconds, so the stores of one test program share one such and empty it: one such store at a time.

#include "support/engines.hpp"
#include "support/servers/redis_cluster.hpp"
#include "support/servers/redis_sentinels.hpp"
#include "support/servers/redis_server.hpp"
#include "support/servers/shifted_clock.hpp"

#include <chrono>
#include <string>

namespace holt::test {

/// The clock of a store's servers, which only goes forward.
class ServerClock {
 public:
  void advance(std::chrono::nanoseconds by) { clock_.set(shift_ += by); }
  /// These, on this clock.
  [[nodiscard]] RedisOptions with(RedisOptions options) const;

 private:
  TemporaryFolder folder_;
  ShiftedClock clock_{folder_.file("shift")};
  std::chrono::nanoseconds shift_{};
};

class RedisTestStore : public TestStore {
 public:
  explicit RedisTestStore(RedisOptions const& options = {}) : server_(clock_.with(options)) {}

  [[nodiscard]] std::string url() const override { return server_.url(); }
  [[nodiscard]] Env& env() override { return env_; }
  void advance(std::chrono::nanoseconds by) override;
  [[nodiscard]] RedisServer& server() { return server_; }

 protected:
  [[nodiscard]] RedisServer const& server() const { return server_; }

 private:
  ServerClock clock_;
  RedisServer server_;
  TestEnv env_;
};

/// Over TLS, where each side shows a certificate.
class RedisTlsTestStore final : public TestStore {
 public:
  RedisTlsTestStore() { server().flush(); }

  [[nodiscard]] std::string url() const override;
  [[nodiscard]] Env& env() override { return env_; }
  void advance(std::chrono::nanoseconds by) override;
  /// Shared by the stores of this kind; made when it is first asked for.
  [[nodiscard]] static RedisServer& server();

 private:
  TestEnv env_;
};

/// For the user of src/engines/redis/acl.example.
class RedisAclTestStore : public RedisTestStore {
 public:
  RedisAclTestStore() : RedisTestStore({.acl = {example_line()}}) {}

  [[nodiscard]] std::string url() const override {
    return "redis://holt:change-me@" + server().address();
  }
  /// What is in that file.
  [[nodiscard]] static std::string example_line();
};

class RedisSentinelTestStore final : public TestStore {
 public:
  RedisSentinelTestStore() { group().flush(); }

  [[nodiscard]] std::string url() const override { return group().url(); }
  [[nodiscard]] Env& env() override { return env_; }
  void advance(std::chrono::nanoseconds by) override;
  /// Shared by the stores of this kind; made when it is first asked for.
  [[nodiscard]] static RedisSentinels& group();

 private:
  TestEnv env_;
};

class RedisClusterTestStore : public TestStore {
 public:
  RedisClusterTestStore() { group().flush(); }

  [[nodiscard]] std::string url() const override { return group().url(); }
  [[nodiscard]] Env& env() override { return env_; }
  void advance(std::chrono::nanoseconds by) override;
  /// Shared by the stores of this kind; made when it is first asked for. It replaces no dead
  /// master: its nodes would take a clock that is set forward for the death of the others.
  [[nodiscard]] static RedisCluster& group();

 private:
  TestEnv env_;
};

/// The same over TLS, where each side shows a certificate, for the user of acl.example.
class RedisGuardedClusterTestStore final : public TestStore {
 public:
  RedisGuardedClusterTestStore() { group().flush(); }

  [[nodiscard]] std::string url() const override { return group().url("holt:change-me"); }
  [[nodiscard]] Env& env() override { return env_; }
  void advance(std::chrono::nanoseconds by) override;
  [[nodiscard]] static RedisCluster& group();

 private:
  TestEnv env_;
};

}  // namespace holt::test
