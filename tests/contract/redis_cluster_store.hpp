// SPDX-License-Identifier: Apache-2.0
#pragma once
// The fixture of tests of Redis Cluster: one cluster of six nodes for each suite.

#include "contract/engine_test.hpp"
#include "support/servers/redis_cluster.hpp"
#include "support/servers/wait_until.hpp"

#include <holt/error.hpp>

#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace holt::test {

/// A store by its address alone, on the machine's clock.
class TestStoreAt : public TestStore {
 public:
  explicit TestStoreAt(std::string url) : url_(std::move(url)) {}
  [[nodiscard]] std::string url() const override { return url_; }
  [[nodiscard]] Env& env() override { return env_; }
  void advance(std::chrono::nanoseconds by) override { env_.advance(by); }

 private:
  std::string const url_;
  TestEnv env_;
};

/// A cluster on the machine's clock, which replaces dead masters.
class ClusterStore final : public TestStoreAt {
 public:
  explicit ClusterStore(RedisCluster const& cluster, std::string const& options = {},
                        std::string const& credentials = {})
      : TestStoreAt(cluster.url(credentials) + options) {}
};

/// One cluster for all tests, emptied for each.
class RedisClusterStore : public testing::Test {
 protected:
  static void SetUpTestSuite() { start({}); }
  static void start(RedisOptions options) {
    use_built_modules();
    cluster_ = std::make_unique<RedisCluster>(std::move(options));
  }
  static void TearDownTestSuite() { cluster_.reset(); }
  void SetUp() override { cluster_->flush(); }

  static RedisCluster& cluster() { return *cluster_; }

  static std::vector<RedisServer*> masters() {
    std::vector<RedisServer*> found;
    for (std::size_t i = 0; i < RedisCluster::size; ++i) {
      auto& node = cluster().node(i);
      if (!node.process().running()) continue;
      if (node.command({"ROLE"}).items.at(0).text == "master") found.push_back(&node);
    }
    return found;
  }

  /// The key of a lease that is held, wherever it is.
  static std::string key_of(std::string const& name) {
    for (auto* const node : masters()) {
      auto const keys = node->command({"KEYS", "holt:default:*:l:" + name}).items;
      if (!keys.empty()) return keys.at(0).text;
    }
    ADD_FAILURE() << "nobody has a lease of " << name;
    return "?";
  }
  static std::int64_t slot_of(std::string const& name) { return cluster().slot_of(key_of(name)); }
  static RedisServer& other_than(RedisServer const& node) {
    for (auto* const each : masters()) {
      if (each != &node) return *each;
    }
    throw ServerFailed("there is one master only");
  }
  static RedisServer& replica_of(RedisServer const& master) {
    for (std::size_t i = 0; i < RedisCluster::size; ++i) {
      auto const role = cluster().node(i).command({"ROLE"});
      if (role.items.at(0).text != "slave") continue;
      if (role.items.at(2).integer == cluster().port_of(master)) return cluster().node(i);
    }
    throw ServerFailed("it has no replica");
  }
  /// How often a node said TRYAGAIN.
  static int times_refused(RedisServer const& node) {
    auto const stats = node.command({"INFO", "errorstats"}).text;
    auto const count = info_field(stats, "errorstat_TRYAGAIN");  // count=12
    return count.empty() ? 0 : std::stoi(count.substr(count.find('=') + 1));
  }
  static bool was_told(RedisServer const& node, std::string const& command) {
    auto const stats = node.command({"INFO", "commandstats"}).text;
    return stats.find("cmdstat_" + command + ":") != std::string::npos;
  }

  /// A name on this node that nobody holds, by trying, and not in that slot.
  static Name name_on(Client& client, RedisServer const& node,
                      std::optional<std::int64_t> not_in = std::nullopt) {
    for (int i = 0;; ++i) {
      Name const name("on-" + std::to_string(node.port()) + "-" + std::to_string(i));
      auto const owner = client.owner();
      client.take(name, owner);
      auto const slot = slot_of(name.text());
      bool const there = cluster().master_of(slot).port() == node.port() && slot != not_in;
      EXPECT_TRUE(client.release(name, owner));
      if (there) return name;
    }
  }

 private:
  static inline std::unique_ptr<RedisCluster> cluster_;
};

/// Takes the name as soon as that can be done.
inline Fence take_when_possible(Client& client, Name const& name, Owner const& owner) {
  std::optional<Fence> fence;
  EXPECT_TRUE(wait_until([&] {
    try {
      auto const granted = client.acquire(name, owner, {.ttl = 30s});
      if (granted) fence = granted->fences.at(0);
    } catch (EngineError const& error) {
      EXPECT_TRUE(error.retryable()) << error.what();
    }
    return fence.has_value();
  }));
  return fence.value_or(Fence());
}

/// What is said by whatever does not do it.
template <class Work>
std::string refusal(Work&& work) {
  try {
    std::forward<Work>(work)();
  } catch (InvalidArgument const& error) {
    return error.what();
  } catch (EngineError const& error) {
    return std::string(error.what()) + "\nTry: " + error.hint();
  }
  return "it was done";
}

}  // namespace holt::test
