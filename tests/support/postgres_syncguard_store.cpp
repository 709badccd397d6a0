// SPDX-License-Identifier: Apache-2.0
#include "support/postgres_syncguard_store.hpp"

#include <fmt/format.h>

#include <utility>

namespace holt::test {

PostgresSyncguardTestStore::PostgresSyncguardTestStore(std::string options)
    : options_(std::move(options)) {
  server().query(fmt::format(
      "CREATE TABLE {0} (key text PRIMARY KEY, lock_id text NOT NULL, expires_at_ms bigint NOT "
      "NULL, acquired_at_ms bigint NOT NULL, fence text NOT NULL, user_key text NOT NULL);"
      "CREATE UNIQUE INDEX idx_{0}_lock_id ON {0} (lock_id);"
      "CREATE INDEX idx_{0}_expires ON {0} (expires_at_ms);"
      "CREATE TABLE {1} (fence_key text PRIMARY KEY, fence bigint NOT NULL DEFAULT 0, key_debug "
      "text)",
      locks(), counters()));
}

std::string PostgresSyncguardTestStore::url() const {
  return fmt::format("{}&layout=syncguard&table_name={}&fence_table_name={}{}",
                     PostgresTestStore::url(), locks(), counters(), options_);
}

}  // namespace holt::test
