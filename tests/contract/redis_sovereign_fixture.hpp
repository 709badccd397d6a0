// SPDX-License-Identifier: Apache-2.0
#pragma once
// For tests of the layout sovereign: a server, a client of it, and processes of the fleet that run
// the original library, played with the commands that it sends.

#include "contract/engine_test.hpp"
#include "support/redis_stores.hpp"

#include <holt/holt.hpp>

#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <string>
#include <utility>

namespace holt::test {

inline char const* const leader_key = "sovereign:leader";
inline char const* const election = "sovereign:leader";
inline char const* const lease_name = "election/sovereign:leader";
inline std::string heartbeat_of(std::string const& id) { return "sovereign:heartbeat:" + id; }

class SovereignStore final : public RedisTestStore {
 public:
  [[nodiscard]] std::string url() const override { return server().url() + "?layout=sovereign"; }
};

/// A process of the fleet, on a connection of its own.
class Original {
 public:
  Original(RedisServer const& server, std::string id, int ttl_s)
      : redis_(server.connect()), id_(std::move(id)), ttl_s_(ttl_s) {}

  /// What its election task does, all of it.
  void cycle() {
    auto const leader = redis_.ask({"GET", leader_key});
    if (leader.is_nil()) {
      try_to_lead();
    } else if (leader.text == id_) {
      leads_ = redis_.number({"EXPIRE", leader_key, std::to_string(ttl_s_)}) == 1;
    } else {
      leads_ = false;
      auto const beat = redis_.ask({"GET", heartbeat_of(leader.text)});
      sees_stale_leader_ = beat.is_nil() || is_older(beat.text, ttl_s_ + 5);
      if (sees_stale_leader_) try_to_lead();
    }
  }
  /// What its heartbeat task does.
  void beat() {
    if (!leads_) return;
    redis_.done({"SETEX", heartbeat_of(id_), std::to_string(ttl_s_ + 5), std::to_string(now_ms())});
  }
  void stop() {
    auto const leader = redis_.ask({"GET", leader_key});
    if (!leader.is_nil() && leader.text == id_) redis_.done({"DEL", leader_key, heartbeat_of(id_)});
    leads_ = false;
  }
  [[nodiscard]] bool leads() const { return leads_; }
  /// At the last cycle: then the library logs a takeover, which fails.
  [[nodiscard]] bool sees_stale_leader() const { return sees_stale_leader_; }

 private:
  std::int64_t now_ms() {
    auto const time = redis_.done({"TIME"});
    return std::stoll(time.items[0].text) * 1000 + std::stoll(time.items[1].text) / 1000;
  }
  bool is_older(std::string const& beat, int seconds) {
    return now_ms() - std::stoll(beat) > seconds * 1000;
  }
  void try_to_lead() {
    auto const set = redis_.ask({"SET", leader_key, id_, "NX", "EX", std::to_string(ttl_s_)});
    if (set.is_nil()) return;
    leads_ = redis_.text({"GET", leader_key}) == id_;
    auto const beats = redis_.done({"KEYS", heartbeat_of("*")});
    for (auto const& key : beats.items) {
      auto const beat = redis_.ask({"GET", key.text});
      if (!beat.is_nil() && is_older(beat.text, ttl_s_ + 10)) redis_.done({"DEL", key.text});
    }
  }

  RedisClient redis_;
  std::string id_;
  int ttl_s_;
  bool leads_ = false;
  bool sees_stale_leader_ = false;
};

class Sovereign : public testing::Test {
 protected:
  std::string get(std::string const& key) { return redis_.text({"GET", key}); }
  bool exists(std::string const& key) { return redis_.number({"EXISTS", key}) == 1; }
  std::int64_t pttl(std::string const& key) { return redis_.number({"PTTL", key}); }
  std::int64_t server_ms() {
    auto const time = redis_.done({"TIME"});
    return std::stoll(time.items[0].text) * 1000 + std::stoll(time.items[1].text) / 1000;
  }
  /// How often the server was told so since the last CONFIG RESETSTAT.
  std::int64_t calls_of(std::string const& command) {
    auto const stats = redis_.text({"INFO", "commandstats"});
    auto const field = info_field(stats, "cmdstat_" + command);
    return field.empty() ? 0 : std::stoll(field.substr(field.find('=') + 1));
  }
  Original original(std::string id, int ttl_s = 60) {
    return {store_.server(), std::move(id), ttl_s};
  }
  Holt open_client() { return open(store_.url(), {.instance = "default"}); }

  /// At the level of the store: leads as `id`.
  Fence lead(Owner const& owner, std::string const& id, Nanos ttl = 60s) {
    return client_.take(lease_name, owner, {.ttl = ttl, .note = id});
  }

  SovereignStore store_;
  RedisClient redis_{store_.server().connect()};
  Client client_{store_};
};

inline bool comes_to_lead(Election const& candidate) {
  return comes_true([&] { return candidate.is_leader(); });
}

}  // namespace holt::test
