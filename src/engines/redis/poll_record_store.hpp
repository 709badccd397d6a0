// SPDX-License-Identifier: Apache-2.0
#pragma once
// RecordStore in the layout `poll`: the records endpoint/GROUP/ID are the sessions of a fleet, all
// others are in the native store. On Env::executor(). Where the fleet's give less than the
// contract:
// - They are only read: put and erase are refused, as sessions belong to the fleet.
// - The value is `paused` or empty, whatever else the session says. The version is always 1.
// - A session that the fleet has marked as deleted is none, nor is what is no object of JSON.

#include "contracts/record_store.hpp"
#include "engines/redis/connection.hpp"
#include "engines/redis/poll_options.hpp"

#include <string>
#include <vector>

namespace holt::redis {

class PollRecordStore final : public RecordStore {
 public:
  PollRecordStore(Connection& connection, RecordStore& native, PollOptions const& fleet)
      : connection_(connection), native_(native), fleet_(fleet) {}

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
  /// Adds those that are there; `head` is what their keys begin with.
  asio::awaitable<void> look_up(std::string head, std::vector<std::string> ids,
                                std::vector<Record>& into, Instant deadline);
  asio::awaitable<std::vector<Record>> list_sessions(std::string prefix, std::string cursor,
                                                     std::size_t most, Instant deadline);

  Connection& connection_;
  RecordStore& native_;
  PollOptions const& fleet_;
};

}  // namespace holt::redis
