// SPDX-License-Identifier: Apache-2.0
#pragma once
// What the embedded engine can tell about its store: the file's settings and tables, what stands
// beside it, the disk, the processes that use it. First what is found (facts), then what it means
// (judgements, which are pure and know no store).
// Changes nothing, and never opens the store's file: closing it would drop SQLite's locks.

#include "contracts/env.hpp"
#include "engines/sqlite/place.hpp"
#include "engines/sqlite/reader.hpp"
#include "engines/sqlite/schema.hpp"
#include "engines/sqlite/writer.hpp"

#include <holt/diagnosis.hpp>

#include <boost/asio/awaitable.hpp>

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace holt::sqlite {

/// All findings of a store that is open. May block. Does not throw EngineError.
[[nodiscard]] asio::awaitable<std::vector<Finding>> diagnose(Env& env, Place place, Writer& writer,
                                                             Reader& reader,
                                                             std::chrono::nanoseconds patience);

// What the store says (diagnose_store.cpp).

/// The settings in force on the connection that writes leases.
struct Settings {
  std::string journal_mode;
  std::int64_t synchronous = 0;
  std::int64_t autocheckpoint = 0;
  std::int64_t secure_delete = 0;
};
[[nodiscard]] Settings read_settings(Connection& store);
[[nodiscard]] std::vector<Finding> settings_findings(Settings const& settings, Sync asked);

/// What is in the file.
struct Content {
  std::optional<Meta> meta;
  std::vector<std::string> missing;         ///< tables and columns
  std::optional<std::int64_t> acquired_ms;  ///< the newest lease's time of day
};
[[nodiscard]] Content read_content(Env& env, Connection& store);
[[nodiscard]] std::vector<Finding> content_findings(Content const& content,
                                                    std::string const& boot_id,
                                                    std::chrono::system_clock::time_point wall);

// What stands on the disk (diagnose_files.cpp).

[[nodiscard]] Finding permissions_finding(Place const& place);
[[nodiscard]] Finding file_system_finding(std::string const& folder, long kind);

struct Space {
  std::uint64_t bytes = 0;
  std::uint64_t inodes = 0;
  bool counts_inodes = true;  ///< some file systems make them as needed
};
[[nodiscard]] Space space_of(std::string const& folder);
[[nodiscard]] Finding space_finding(Space const& space);

[[nodiscard]] Finding log_finding(std::string const& path);
[[nodiscard]] Finding tasks_finding(std::string const& path);
[[nodiscard]] Finding inbox_finding(Env& env, Place const& place);

// Who uses it (diagnose_processes.cpp).

[[nodiscard]] Finding stopped_finding(Place const& place);
[[nodiscard]] Finding programs_finding(Place const& place);

// The machine and the library (diagnose.cpp).

[[nodiscard]] Finding durability_finding(Sync sync);
[[nodiscard]] Finding library_finding();
[[nodiscard]] Finding inotify_finding(std::string const& path);
[[nodiscard]] Finding datagrams_finding(std::optional<int> queue_length);

}  // namespace holt::sqlite
