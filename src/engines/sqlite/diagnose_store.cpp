// SPDX-License-Identifier: Apache-2.0
// What the store says of itself: its settings, its format, its tables, its clocks.

#include "engines/sqlite/diagnose.hpp"
#include "sqlite_sql.hpp"

#include <fmt/format.h>

#include <utility>

namespace holt::sqlite {
namespace {

using std::chrono::milliseconds;
using std::chrono::system_clock;

constexpr std::string_view damaged_fix =
    "move the file and its -wal and -shm away: a new store is made at the next call, and its "
    "fences start above the old ones";

constexpr auto plausible_from = std::chrono::sys_days(std::chrono::year(2020) / 1 / 1);
constexpr auto much_later = std::chrono::hours(24);

Finding judged(std::string id, std::string title, bool good, FindingStatus otherwise,
               std::string detail, std::string fix) {
  return {std::move(id), std::move(title), good ? FindingStatus::ok : otherwise, std::move(detail),
          good ? std::string() : std::move(fix)};
}

Finding format_finding(std::optional<Meta> const& meta) {
  if (!meta) {
    return {"format", "File format", FindingStatus::fail, "the store's own table is missing",
            std::string(damaged_fix)};
  }
  return judged("format", "File format", meta->version <= known_format(), FindingStatus::warn,
                fmt::format("version {}, readable from {} on; this Holt knows up to {}",
                            meta->version, meta->min_reader, known_format()),
                "a newer Holt uses this store: upgrade this one");
}

Finding schema_finding(std::vector<std::string> const& missing) {
  return judged("schema", "Tables", missing.empty(), FindingStatus::fail,
                missing.empty() ? "complete" : fmt::format("missing: {}", fmt::join(missing, ", ")),
                std::string(damaged_fix));
}

Finding boot_finding(std::optional<Meta> const& meta, std::string const& boot_id) {
  bool const same = meta && meta->boot_id == boot_id;
  return judged("boot", "Boot", same, FindingStatus::fail,
                same ? "the store's leases are of this boot of this machine"
                     : "the store is in use under another boot id: by another machine, or through "
                       "a copy",
                "one machine per file: give each its own store, and end the others' use of this "
                "one");
}

Finding clock_finding(system_clock::time_point wall, std::optional<std::int64_t> acquired_ms) {
  std::string const fix =
      "set the clock (timedatectl set-ntp true); leases do not depend on it, "
      "times shown to people and the first fence of a new store do";
  if (wall < plausible_from) {
    return {"clock", "Wall clock", FindingStatus::warn, "it is before 2020", fix};
  }
  auto const newest = acquired_ms ? system_clock::time_point(milliseconds(*acquired_ms)) : wall;
  bool const behind = newest - wall > much_later;
  return judged("clock", "Wall clock", !behind, FindingStatus::warn,
                behind ? fmt::format("it is {} h behind the newest lease of the store",
                                     std::chrono::floor<std::chrono::hours>(newest - wall).count())
                       : "plausible; expiry is by the time since boot",
                fix);
}

std::int64_t number(Connection& store, std::string_view query) {
  Query row(store, query);
  return row.next() ? row.integer(0) : -1;
}

std::string_view synchronous_name(std::int64_t level) {
  switch (level) {
    case 0:
      return "off";
    case 1:
      return "normal";
    case 2:
      return "full";
    default:
      return "extra";
  }
}

}  // namespace

Settings read_settings(Connection& store) {
  constexpr std::string_view journal_query = "PRAGMA journal_mode";
  constexpr std::string_view synchronous_query = "PRAGMA synchronous";
  constexpr std::string_view autocheckpoint_query = "PRAGMA wal_autocheckpoint";
  constexpr std::string_view secure_delete_query = "PRAGMA secure_delete";
  Settings settings;
  {
    Query row(store, journal_query);
    if (row.next()) settings.journal_mode = row.text(0);
  }
  settings.synchronous = number(store, synchronous_query);
  settings.autocheckpoint = number(store, autocheckpoint_query);
  settings.secure_delete = number(store, secure_delete_query);
  return settings;
}

std::vector<Finding> settings_findings(Settings const& settings, Sync asked) {
  std::string const reopen =
      "end the programs that use the store, then run holt doctor again: "
      "Holt sets it when it opens the file";
  std::int64_t const wanted = asked == Sync::full ? 2 : 1;
  return {
      judged("journal-mode", "Journal", settings.journal_mode == "wal", FindingStatus::fail,
             settings.journal_mode, reopen),
      judged("synchronous", "Synchronous", settings.synchronous >= wanted, FindingStatus::fail,
             fmt::format("{} for leases, full for records", synchronous_name(settings.synchronous)),
             reopen),
      judged("autocheckpoint", "Checkpoints", settings.autocheckpoint == 0, FindingStatus::fail,
             settings.autocheckpoint == 0 ? "only Holt's own"
                                          : fmt::format("SQLite's own, every {} pages: commits can "
                                                        "get lost",
                                                        settings.autocheckpoint),
             "use the holt binary or library as it was built: it switches them off"),
      judged("secure-delete", "Secure delete", settings.secure_delete == 0, FindingStatus::warn,
             settings.secure_delete == 0 ? "off" : "on: each release writes twice as much",
             "use the holt binary or library as it was built: it switches it off"),
  };
}

Content read_content(Env& env, Connection& store) {
  Content content;
  content.meta = read_meta(store);
  content.missing = missing_parts(env, store);
  if (!content.missing.empty()) return content;
  Query row(store, sql::lease_newest);
  if (row.next() && !row.null(0)) content.acquired_ms = row.integer(0);
  return content;
}

std::vector<Finding> content_findings(Content const& content, std::string const& boot_id,
                                      system_clock::time_point wall) {
  return {format_finding(content.meta), schema_finding(content.missing),
          boot_finding(content.meta, boot_id), clock_finding(wall, content.acquired_ms)};
}

}  // namespace holt::sqlite
