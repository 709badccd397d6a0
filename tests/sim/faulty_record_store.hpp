// SPDX-License-Identifier: Apache-2.0
#pragma once
// FaultyRecordStore: the real store's records as one node sees them, at the other end of its faulty
// link. What the store has written is shown to the landlord before the way back begins.

#include "contracts/record_store.hpp"
#include "sim/faulty_link.hpp"
#include "sim/landlord.hpp"

#include <cstdint>
#include <optional>
#include <string>

namespace holt::sim {

class FaultyRecordStore final : public RecordStore {
 public:
  FaultyRecordStore(FaultyLink& link, RecordStore& store, Landlord& landlord)
      : link_(link), store_(store), landlord_(landlord) {}

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
  asio::awaitable<std::expected<std::uint64_t, Conflict>> seen_put(RecordWrite write,
                                                                   Instant deadline);
  asio::awaitable<std::expected<bool, Conflict>> seen_erase(std::string key,
                                                            std::optional<std::uint64_t> expected,
                                                            Instant deadline);
  asio::awaitable<std::int64_t> seen_add(std::string counter, std::int64_t step, Instant deadline);

  FaultyLink& link_;
  RecordStore& store_;
  Landlord& landlord_;
};

}  // namespace holt::sim
