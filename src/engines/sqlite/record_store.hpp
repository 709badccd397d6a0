// SPDX-License-Identifier: Apache-2.0
#pragma once
// RecordStore on SQLite. Writes go through a writer of their own, whose commits reach the disk
// before they are answered.

#include "contracts/env.hpp"
#include "contracts/record_store.hpp"
#include "engines/sqlite/reader.hpp"
#include "engines/sqlite/writer.hpp"

#include <functional>
#include <string>

namespace holt::sqlite {

class SqliteRecordStore final : public RecordStore {
 public:
  /// `writer` is asked for when something is written; all must outlive the store.
  SqliteRecordStore(Env& env, std::function<Writer&()> writer, Reader& reader,
                    std::string instance);

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
  Env& env_;
  std::function<Writer&()> writer_;
  Reader& reader_;
  std::string const instance_;
};

}  // namespace holt::sqlite
