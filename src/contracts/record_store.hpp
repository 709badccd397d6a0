// SPDX-License-Identifier: Apache-2.0
#pragma once
// RecordStore: small versioned values with compare-and-set, optional expiry, ordered listing, and
// counters. Instances, workspaces, the blackboard, sessions and keys stand on it.
// The rules for all methods are those of LeaseStore: one instance, one atomic step, a deadline,
// EngineError with a truthful outcome. Records are durable: an answer means it survives a power
// cut (on the embedded engine; elsewhere as the store's durability level says).
// Keys are Names' rules without the blank check left to callers: 1 to 512 bytes.

#include <holt/clock.hpp>
#include <holt/lease.hpp>

#include <boost/asio/awaitable.hpp>

#include <cstdint>
#include <expected>
#include <optional>
#include <string>
#include <vector>

namespace holt {

namespace asio = boost::asio;

struct Record {
  std::string key;
  std::string value;          ///< at most 64 KiB, any bytes
  std::uint64_t version = 0;  ///< grows with every write of this key, never repeats
};

struct RecordPage {
  std::vector<Record> records;
  std::string next;  ///< cursor of the next page; empty at the end
};

/// The value was not as expected: what there is now, or nothing.
struct Conflict {
  std::optional<Record> current;
};

struct RecordWrite {
  RecordWrite(std::string for_key, std::string new_value)
      : key(std::move(for_key)), value(std::move(new_value)) {}
  std::string key;
  std::string value;
  /// Nothing: write whatever is there. 0: only if there is no record. Else: only this version.
  std::optional<std::uint64_t> expected;
  std::chrono::nanoseconds ttl{};  ///< 0: for ever. By the engine's clock; a reboot may end it.
};

class RecordStore {
 public:
  static constexpr std::size_t max_value_bytes = 64 * 1024;

  virtual ~RecordStore() = default;

  /// The live record of this key.
  virtual asio::awaitable<std::optional<Record>> get(std::string key, Instant deadline) = 0;

  /// Writes if the expectation holds and answers the new version, else Conflict and no change.
  virtual asio::awaitable<std::expected<std::uint64_t, Conflict>> put(RecordWrite write,
                                                                      Instant deadline) = 0;

  /// Removes if the expectation holds (nothing: any version). Answers whether a record was there.
  virtual asio::awaitable<std::expected<bool, Conflict>> erase(
      std::string key, std::optional<std::uint64_t> expected, Instant deadline) = 0;

  /// Live records whose key starts with `prefix`, in byte order of the key after `cursor`.
  virtual asio::awaitable<RecordPage> list(std::string prefix, std::string cursor,
                                           std::uint32_t limit, Instant deadline) = 0;

  /// Adds `step` to a counter (which starts at 0 and has its own key space) and answers the new
  /// value; concurrent adders each get their own.
  virtual asio::awaitable<std::int64_t> add(std::string counter, std::int64_t step,
                                            Instant deadline) = 0;
};

}  // namespace holt
