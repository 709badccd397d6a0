// SPDX-License-Identifier: Apache-2.0
// Who uses the store: processes that are stopped while they hold its locks, and programs that are
// not Holt. All from /proc, by path; the files themselves are not opened.

#include "engines/sqlite/blocker.hpp"
#include "engines/sqlite/diagnose.hpp"

#include <fmt/format.h>

#include <dirent.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <climits>
#include <memory>
#include <set>
#include <string_view>
#include <utility>

namespace holt::sqlite {
namespace {

// Bytes of the -shm file (SQLite's wal-index): who locks one of the first three keeps writers or
// checkpoints out, who locks one of the next five reads.
constexpr int first_lock_byte = 120;
constexpr int first_read_byte = 123;
constexpr int last_read_byte = 127;

using Folder = std::unique_ptr<DIR, int (*)(DIR*)>;

int number_of(std::string const& text) {
  int value = 0;
  auto const* const begin = text.data();
  auto const* const end = begin + text.size();
  auto const read = std::from_chars(begin, end, value);
  return read.ec == std::errc() && read.ptr == end ? value : -1;
}

std::string link_at(int folder, char const* name) {
  std::array<char, PATH_MAX> target{};
  auto const size = ::readlinkat(folder, name, target.data(), target.size());
  return size > 0 ? std::string(target.data(), static_cast<std::size_t>(size)) : std::string();
}

enum class Uses {
  nothing,
  as_holt,     ///< the store and its gate, as every client of Holt does
  as_foreign,  ///< the store alone
  unknown,     ///< we may not look
};

/// By the names of the files it has open: looking at a name never waits for a disk.
Uses use_of(int pid, Place const& place) {
  Folder const files(::opendir(fmt::format("/proc/{}/fd", pid).c_str()), ::closedir);
  if (!files) return errno == EACCES || errno == EPERM ? Uses::unknown : Uses::nothing;
  bool store = false;
  auto const gate = place.gate();
  while (auto const* const entry = ::readdir(files.get())) {
    auto const target = link_at(::dirfd(files.get()), entry->d_name);
    if (target == gate) return Uses::as_holt;
    store = store || target == place.path;
  }
  return store ? Uses::as_foreign : Uses::nothing;
}

std::vector<int> all_processes() {
  std::vector<int> pids;
  Folder const listing(::opendir("/proc"), ::closedir);
  while (auto const* const entry = listing ? ::readdir(listing.get()) : nullptr) {
    if (int const pid = number_of(entry->d_name); pid > 0) pids.push_back(pid);
  }
  return pids;
}

struct Programs {
  std::vector<int> foreign;
  int holt = 0;
  int unknown = 0;
};

Programs programs_of(Place const& place) {
  Programs programs;
  for (int const pid : all_processes()) {
    switch (use_of(pid, place)) {
      case Uses::as_holt:
        ++programs.holt;
        break;
      case Uses::as_foreign:
        programs.foreign.push_back(pid);
        break;
      case Uses::unknown:
        ++programs.unknown;
        break;
      case Uses::nothing:
        break;
    }
  }
  // Looked at twice: a client that is just opening the store has not come to its gate yet.
  std::erase_if(programs.foreign, [&](int pid) { return use_of(pid, place) != Uses::as_foreign; });
  return programs;
}

std::string listed(std::vector<int> const& pids) {
  std::vector<std::string> texts;
  texts.reserve(pids.size());
  for (int const pid : pids) texts.push_back(fmt::format("{} ({})", pid, process(pid).command));
  return fmt::format("{}", fmt::join(texts, ", "));
}

/// Those who are stopped: with a lock that keeps others out, and with one that only reads.
struct Stopped {
  std::set<int> blocking;
  std::set<int> reading;
};

Stopped stopped_on(Place const& place) {
  Stopped stopped;
  for (auto const& lock : locks_on(place.gate())) {
    if (lock.write && process(lock.pid).stopped()) stopped.blocking.insert(lock.pid);
  }
  for (auto const& lock : locks_on(place.path + "-shm")) {
    int const byte = number_of(lock.start);
    if (byte < first_lock_byte || byte > last_read_byte || !process(lock.pid).stopped()) continue;
    bool const reads = byte >= first_read_byte && !lock.write;
    (reads ? stopped.reading : stopped.blocking).insert(lock.pid);
  }
  return stopped;
}

}  // namespace

Finding stopped_finding(Place const& place) {
  auto const stopped = stopped_on(place);
  bool const blocked = !stopped.blocking.empty();
  auto const& pids = blocked ? stopped.blocking : stopped.reading;
  if (pids.empty()) {
    return {"stopped", "Stopped processes", FindingStatus::ok, "none holds the store's locks", {}};
  }
  auto const names = listed({pids.begin(), pids.end()});
  return {
      "stopped", "Stopped processes", blocked ? FindingStatus::fail : FindingStatus::warn,
      blocked ? fmt::format("{} is stopped and keeps everybody from writing", names)
              : fmt::format("{} is stopped while it reads: the log grows until it goes on", names),
      fmt::format("continue it (kill -CONT {0}) or end it (kill -KILL {0})", fmt::join(pids, " "))};
}

Finding programs_finding(Place const& place) {
  auto const programs = programs_of(place);
  auto detail = fmt::format("none has it open; clients of Holt: {}", programs.holt);
  if (programs.unknown > 0) {
    detail +=
        fmt::format("; processes of other users that cannot be looked at: {}", programs.unknown);
  }
  if (programs.foreign.empty()) {
    return {"programs", "Other programs", FindingStatus::ok, std::move(detail), {}};
  }
  return {"programs", "Other programs", FindingStatus::warn,
          fmt::format("{} has the file open and is not Holt: what it writes, or a checkpoint of "
                      "its own, can lose leases",
                      listed(programs.foreign)),
          "close it; to look at the store use sqlite3 -readonly, and not for long"};
}

}  // namespace holt::sqlite
