// SPDX-License-Identifier: Apache-2.0
#pragma once
// For tests of the layout poll: a server, a client of it, and nodes of the fleet that run the
// original, played with the commands and scripts that it sends.

#include "contract/engine_test.hpp"
#include "support/redis_stores.hpp"

#include <holt/error.hpp>

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <utility>

namespace holt::test {

inline std::string lease_key(std::string const& endpoint) { return "poll:lease:" + endpoint; }
inline std::string node_key(std::string const& id) { return "poll:node:" + id; }

class PollStore final : public RedisTestStore {
 public:
  explicit PollStore(std::string options) : options_(std::move(options)) {}
  [[nodiscard]] std::string url() const override {
    return server().url() + "?layout=poll" + options_;
  }

 private:
  std::string const options_;
};

/// A node of the fleet as it is today, on a connection of its own.
class OriginalNode {
 public:
  OriginalNode(RedisServer const& server, std::string id, int ttl_ms)
      : redis_(server.connect()), id_(std::move(id)), ttl_ms_(std::to_string(ttl_ms)) {}

  bool acquire(std::string const& endpoint) {
    return !redis_.ask({"SET", lease_key(endpoint), value(), "NX", "PX", ttl_ms_}).is_nil();
  }
  /// False also where the script fails, as it does on the older form.
  bool renew(std::string const& endpoint) {
    return script(
        "local v = redis.call('GET', KEYS[1]) if not v then return 0 end "
        "if cjson.decode(v).owner_id == ARGV[1] then "
        "redis.call('SET', KEYS[1], ARGV[2]) "
        "return redis.call('PEXPIRE', KEYS[1], ARGV[3]) else return 0 end",
        endpoint);
  }
  bool release(std::string const& endpoint) {
    return script(
        "local v = redis.call('GET', KEYS[1]) if not v then return 0 end "
        "if cjson.decode(v).owner_id == ARGV[1] then "
        "return redis.call('DEL', KEYS[1]) else return 0 end",
        endpoint);
  }
  void beat(std::string const& status) {
    redis_.done({"SET", node_key(id_),
                 R"({"status":")" + status + R"(","startup_time":"2026-01-18T11:12:13.5+01:00"})",
                 "PX", ttl_ms_});
  }
  [[nodiscard]] std::string value() const {
    return R"({"owner_id":")" + id_ +
           R"(","acquired_at":"2026-01-18T11:12:13.123456789+01:00",)"
           R"("last_renewed_at":"2026-01-18T11:12:33.123456789+01:00"})";
  }

 private:
  bool script(std::string const& text, std::string const& endpoint) {
    auto const answer = redis_.ask({"EVAL", text, "1", lease_key(endpoint), id_, value(), ttl_ms_});
    return answer.integer == 1;
  }

  RedisClient redis_;
  std::string id_;
  std::string ttl_ms_;
};

class Poll : public testing::Test {
 protected:
  explicit Poll(std::string options = {}) : store_(std::move(options)) {}

  std::string get(std::string const& key) { return redis_.text({"GET", key}); }
  bool exists(std::string const& key) { return redis_.number({"EXISTS", key}) == 1; }
  std::int64_t pttl(std::string const& key) { return redis_.number({"PTTL", key}); }
  void set(std::string const& key, std::string const& value) { redis_.done({"SET", key, value}); }
  /// How often the server was told so since the last CONFIG RESETSTAT.
  std::int64_t calls_of(std::string const& command) {
    auto const stats = redis_.text({"INFO", "commandstats"});
    auto const field = info_field(stats, "cmdstat_" + command);
    return field.empty() ? 0 : std::stoll(field.substr(field.find('=') + 1));
  }
  OriginalNode original(std::string id, int ttl_ms = 60'000) {
    return {store_.server(), std::move(id), ttl_ms};
  }
  Owner owner() { return client_.owner(); }
  /// At the level of the store: node `id` takes the endpoint.
  Fence take(std::string const& endpoint, Owner const& owner, std::string const& id,
             Nanos ttl = 30s) {
    return client_.take("poll/g/" + endpoint, owner, {.ttl = ttl, .note = id});
  }
  Fence announce(std::string const& id, Owner const& owner, std::string const& note,
                 Nanos ttl = 30s) {
    return client_.take("node/g/" + id, owner, {.ttl = ttl, .note = note});
  }

  PollStore store_;
  RedisClient redis_{store_.server().connect()};
  Client client_{store_};
};

class PollPlain : public Poll {
 protected:
  PollPlain() : Poll("&value=plain") {}
};

}  // namespace holt::test
