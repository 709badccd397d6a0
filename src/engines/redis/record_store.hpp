// SPDX-License-Identifier: Apache-2.0
#pragma once
// RecordStore on Redis: a key per record, "version\nvalue"; versions are drawn as fences are. As
// durable as the server keeps what it has answered. On Env::executor().

#include "contracts/record_store.hpp"
#include "engines/redis/connection.hpp"
#include "engines/redis/durable.hpp"
#include "engines/redis/layout.hpp"

#include <array>
#include <string>

namespace holt::redis {

class RedisRecordStore final : public RecordStore {
 public:
  RedisRecordStore(Connection& connection, DurableWrites& writes, Keys const& keys)
      : connection_(connection), writes_(writes), keys_(keys) {}

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
  asio::awaitable<void> sweep(unsigned shard, Instant deadline);

  Connection& connection_;
  DurableWrites& writes_;
  Keys const& keys_;
  std::array<std::string, shards> sweep_from_;
};

}  // namespace holt::redis
