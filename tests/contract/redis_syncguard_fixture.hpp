// SPDX-License-Identifier: Apache-2.0
#pragma once
// For tests of the layout syncguard: a server, a client of it, and the fleet that runs
// SyncGuard 2.5, played with plain commands.

#include "base/random_text.hpp"
#include "contract/engine_test.hpp"
#include "support/redis_stores.hpp"

#include <boost/json/object.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <gtest/gtest.h>

#include <string>
#include <string_view>

namespace holt::test {

namespace json = boost::json;

inline constexpr std::string_view lock_key = "syncguard:resource:123";
inline constexpr std::string_view counter_key = "syncguard:fence:syncguard:resource:123";
inline constexpr char const* name = "resource:123";

/// A server, on a clock to set, and a client of it with the options given.
class FleetStore final : public RedisTestStore {
 public:
  explicit FleetStore(std::string options, RedisOptions const& server = {})
      : RedisTestStore(server), options_(std::move(options)) {}
  [[nodiscard]] std::string url() const override { return server().url() + "?" + options_; }

 private:
  std::string options_;
};

class Syncguard : public testing::Test {
 protected:
  explicit Syncguard(std::string options = "layout=syncguard") : store_(std::move(options)) {}

  static std::string id_of(Owner const& owner) {
    return owner.text().substr(owner.text().find('.') + 1);
  }
  static std::string index_of(std::string const& id) { return "syncguard:id:" + id; }

  RedisReply ask(RedisClient::Words const& words) { return redis_.done(words); }
  std::string get(std::string_view key) { return redis_.text({"GET", std::string(key)}); }
  bool exists(std::string_view key) { return redis_.number({"EXISTS", std::string(key)}) == 1; }
  std::int64_t pttl(std::string_view key) { return redis_.number({"PTTL", std::string(key)}); }
  json::object lock_in(std::string_view key) { return json::parse(get(key)).as_object(); }
  std::int64_t server_ms() {
    auto const time = ask({"TIME"});
    return std::stoll(time.items[0].text) * 1000 + std::stoll(time.items[1].text) / 1000;
  }

  std::string new_id() {
    return random_token([this] { return store_.env().random(); });
  }

  /// Somebody of the fleet writes a lock that ends in `left` ms; with `px` 0 its keys stay.
  std::string foreign(std::int64_t left = 30'000, std::int64_t px = 30'000,
                      std::string const& of = name) {
    auto const id = new_id();
    auto const now = server_ms();
    auto digits = std::to_string(redis_.number({"INCR", "syncguard:fence:syncguard:" + of}));
    digits.insert(0, 15 - digits.size(), '0');
    json::object const lock{{"expiresAtMs", now + left},
                            {"fence", digits},
                            {"lockId", id},
                            {"key", of},
                            {"acquiredAtMs", now}};
    put("syncguard:" + of, json::serialize(lock), px);
    put(index_of(id), "syncguard:" + of, px);
    return id;
  }
  void put(std::string const& key, std::string const& value, std::int64_t px) {
    RedisClient::Words words{"SET", key, value};
    if (px > 0) words.insert(words.end(), {"PX", std::to_string(px)});
    ask(words);
  }
  /// As the fleet does it: by the index.
  bool foreign_release(std::string const& id) {
    auto const found = redis_.ask({"GET", index_of(id)});
    if (found.is_nil() || lock_in(found.text).at("lockId").as_string() != id) return false;
    return redis_.number({"DEL", found.text, index_of(id)}) == 2;
  }

  FleetStore store_;
  RedisClient redis_{store_.server().connect()};
  Client client_{store_};
};

/// What `call` throws.
template <class Error, class Call>
Error thrown_by(Call const& call) {
  try {
    call();
  } catch (Error const& error) {
    return error;
  }
  throw std::logic_error("nothing was thrown");
}

}  // namespace holt::test
