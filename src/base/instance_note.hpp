// SPDX-License-Identifier: Apache-2.0
#pragma once
// What an instance says of itself in the store, as JSON: in the record of the register (docs/adr/
// 0019-instances.md) and, with the instance's name and the replica's id, in the notes of its
// leases.

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace holt {

struct InstanceNote {
  std::string instance;  ///< its name; not in the record, whose key it is
  std::string replica;   ///< id of who wrote it; not in the record
  std::string run_id;
  std::string workspace_path;
  std::string started_at;  ///< ISO 8601, UTC
  std::int64_t orchestrator_pid = 0;
  std::string hostname;
  std::string address;

  /// For a lease.
  [[nodiscard]] std::string note() const;
  /// For the record: fields and their order are part of what other programs read.
  [[nodiscard]] std::string metadata() const;
};

/// Reads either; what is missing stays empty. Nothing: it has no run_id, so it is not ours.
[[nodiscard]] std::optional<InstanceNote> read_instance_note(std::string_view text);

/// `2025-10-05T12:34:56Z`.
[[nodiscard]] std::string iso_time(std::chrono::system_clock::time_point when);
/// The epoch for what is no such time.
[[nodiscard]] std::chrono::system_clock::time_point read_iso_time(std::string_view text);

/// A UUID of version 4 from 128 random bits.
[[nodiscard]] std::string uuid_of(std::uint64_t high, std::uint64_t low);

}  // namespace holt
