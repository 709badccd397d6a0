// SPDX-License-Identifier: Apache-2.0
#pragma once
// For tests of the layout syncguard on PostgreSQL: a client of two tables, and the fleet that runs
// SyncGuard 2.5, played with plain SQL, in the steps and with the clock that it has.

#include "base/random_text.hpp"
#include "contract/engine_test.hpp"
#include "support/postgres_syncguard_store.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>
#include <string_view>

namespace holt::test {

class PostgresSyncguard : public testing::Test {
 protected:
  static constexpr char const* name_ = "resource:123";
  static constexpr std::string_view now_ms = "floor(extract(epoch FROM now()) * 1000)::bigint";

  explicit PostgresSyncguard(std::string options = {}) : store_(std::move(options)) {}

  static std::string id_of(Owner const& owner) {
    return owner.text().substr(owner.text().find('.') + 1);
  }
  /// {locks}, {counters}, {now} and {name} in the text stand for what they are.
  std::string sql(std::string_view text, std::string_view of = name_) {
    using namespace fmt::literals;
    return PostgresTestStore::server().query(
        fmt::format(fmt::runtime(text), "locks"_a = store_.locks(),
                    "counters"_a = store_.counters(), "now"_a = now_ms, "name"_a = of));
  }
  std::string lock(std::string_view column, std::string_view of = name_) {
    return sql(fmt::format("SELECT {} FROM {{locks}} WHERE key = '{{name}}'", column), of);
  }
  bool exists(std::string_view of = name_) { return !lock("key", of).empty(); }
  std::string counter(std::string_view of = name_) {
    return sql("SELECT fence FROM {counters} WHERE fence_key = 'fence:{name}'", of);
  }
  void set_counter(std::string const& value) {
    sql("INSERT INTO {counters} VALUES ('fence:{name}', " + value +
        ", '{name}') ON CONFLICT (fence_key) DO UPDATE SET fence = excluded.fence");
  }
  std::int64_t server_ms() { return std::stoll(sql("SELECT {now}")); }
  std::string new_id() {
    return random_token([this] { return store_.env().random(); });
  }

  /// As somebody of the fleet takes it; its fence, or nothing when it is locked.
  std::string fleet_acquire(std::string const& id, int ttl_ms = 30'000,
                            std::string_view of = name_) {
    return sql(
        fmt::format(
            "BEGIN;"
            "SELECT pg_advisory_xact_lock(hashtext('{{name}}'));"
            "INSERT INTO {{counters}} (fence_key, fence, key_debug) VALUES ('fence:{{name}}', 0, "
            "'{{name}}') ON CONFLICT (fence_key) DO NOTHING;"
            "WITH drawn AS (UPDATE {{counters}} SET fence = fence + 1"
            " WHERE fence_key = 'fence:{{name}}' AND NOT EXISTS"
            " (SELECT FROM {{locks}} WHERE key = '{{name}}' AND expires_at_ms > {{now}} - 1000)"
            " RETURNING fence)"
            "INSERT INTO {{locks}} (key, lock_id, expires_at_ms, acquired_at_ms, fence, user_key)"
            " SELECT '{{name}}', '{0}', {{now}} + {1}, {{now}}, lpad(fence::text, 15, '0'),"
            " '{{name}}' FROM drawn "
            "ON CONFLICT (key) DO UPDATE SET lock_id = excluded.lock_id,"
            " expires_at_ms = excluded.expires_at_ms, acquired_at_ms = excluded.acquired_at_ms,"
            " fence = excluded.fence, user_key = excluded.user_key;"
            "COMMIT;"
            "SELECT fence FROM {{locks}} WHERE key = '{{name}}' AND lock_id = '{0}'",
            id, ttl_ms),
        of);
  }
  /// A lock of the fleet that ends, by what it says, in `left` ms; its lock id.
  std::string foreign(std::int64_t left = 30'000, std::string_view of = name_) {
    auto const id = new_id();
    EXPECT_NE(fleet_acquire(id, 30'000, of), "");
    sql(fmt::format("UPDATE {{locks}} SET expires_at_ms = {{now}} + {}, acquired_at_ms = {{now}} + "
                    "{} - 30000 WHERE key = '{{name}}'",
                    left, left),
        of);
    return id;
  }
  bool fleet_is_locked() {
    return sql("SELECT expires_at_ms > {now} - 1000 FROM {locks} WHERE key = '{name}'") == "t";
  }
  bool fleet_release(std::string const& id) {
    return !sql(fmt::format(
                    "DELETE FROM {{locks}} WHERE lock_id = '{}' AND expires_at_ms > {{now}} "
                    "- 1000 RETURNING key",
                    id))
                .empty();
  }
  bool fleet_extend(std::string const& id, int ttl_ms) {
    return !sql(fmt::format(
                    "UPDATE {{locks}} SET expires_at_ms = {{now}} + {} WHERE lock_id = '{}' "
                    "AND expires_at_ms > {{now}} - 1000 RETURNING key",
                    ttl_ms, id))
                .empty();
  }

  PostgresSyncguardTestStore store_;
  Client client_{store_};
};

/// What `call` throws.
template <class Error, class Call>
Error thrown_in(Call const& call) {
  try {
    call();
  } catch (Error const& error) {
    return error;
  }
  throw std::logic_error("nothing was thrown");
}

}  // namespace holt::test
