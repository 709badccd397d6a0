// SPDX-License-Identifier: Apache-2.0
#pragma once
// RecordStore on Redis: a key per record, "version\nvalue"; versions are drawn as fences are. As
// durable as the server keeps what it has answered. On Env::executor().

#include "contracts/record_store.hpp"
#include "engines/redis/chunks.hpp"
#include "engines/redis/durable.hpp"
#include "engines/redis/layout.hpp"
#include "engines/redis/servers.hpp"

#include <array>
#include <string>

namespace holt::redis {

class RedisRecordStore final : public RecordStore {
 public:
  RedisRecordStore(Servers& servers, DurableWrites& writes, Keys const& keys)
      : servers_(servers), writes_(writes), keys_(keys) {}

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
  asio::awaitable<void> get_some(std::vector<std::string> const& keys, Chunk const& which,
                                 std::vector<std::optional<Record>>& records, Instant deadline);
  /// In the order of the keys; nothing for those that have ended.
  asio::awaitable<std::vector<std::optional<Record>>> get_all(std::vector<std::string> keys,
                                                              Instant deadline);

  Servers& servers_;
  DurableWrites& writes_;
  Keys const& keys_;
  std::array<std::string, shards> sweep_from_;
};

}  // namespace holt::redis
