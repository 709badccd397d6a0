// SPDX-License-Identifier: Apache-2.0
#pragma once
// RecordStore on PostgreSQL: a statement per call. On Env::executor().

#include "contracts/record_store.hpp"
#include "engines/postgres/place.hpp"
#include "engines/postgres/pool.hpp"

#include <string>

namespace holt::postgres {

class PostgresRecordStore final : public RecordStore {
 public:
  PostgresRecordStore(Env& env, Pool& pool, Place const& place, std::string instance);

  asio::awaitable<std::optional<Record>> get(std::string key, Instant deadline) override;
  asio::awaitable<std::expected<std::uint64_t, Conflict>> put(RecordWrite write,
                                                              Instant deadline) override;
  asio::awaitable<std::expected<bool, Conflict>> erase(std::string key,
                                                       std::optional<std::uint64_t> expected,
                                                       Instant deadline) override;
  asio::awaitable<RecordPage> list(std::string prefix, std::string cursor, std::uint32_t limit,
                                   Instant deadline) override;
  asio::awaitable<std::int64_t> add(std::string counter, std::int64_t step,
                                    Instant deadline) override;

 private:
  [[nodiscard]] Parameters change(std::string const& key, Instant deadline) const;

  Env& env_;
  Pool& pool_;
  std::string const instance_;
  Statement const get_;
  Statement const change_;
  Statement const list_;
  Statement const add_;
};

}  // namespace holt::postgres
