// SPDX-License-Identifier: Apache-2.0
// What stands on the disk: who may touch it, on what it lies, how much room there is.

#include "engines/sqlite/diagnose.hpp"
#include "engines/sqlite/inbox_folder.hpp"

#include <fmt/format.h>

#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <optional>
#include <string_view>
#include <utility>

namespace holt::sqlite {
namespace {

constexpr std::uint64_t mib = 1024 * 1024;
constexpr std::uint64_t too_little = 16 * mib;  // the log alone may take a few
constexpr std::uint64_t little = 128 * mib;
constexpr std::uint64_t few_inodes = 100;
constexpr std::uint64_t long_log = 32 * mib;  // it starts over after 4, unless somebody reads it
constexpr std::size_t most_inboxes = 10'000;

/// As a word of a command line that a person can paste into a shell.
std::string as_word(std::string const& path) {
  constexpr std::string_view plain =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789/._-+@";
  if (path.find_first_not_of(plain) == std::string::npos) return path;
  std::string word = "'";
  for (char const c : path) word += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return word + "'";
}

std::string as_words(std::vector<std::string> const& paths) {
  std::string words;
  for (auto const& path : paths) words += (words.empty() ? "" : " ") + as_word(path);
  return words;
}

struct Modes {
  std::vector<std::string> writable;  ///< by everybody
  std::vector<std::string> readable;
  bool shared_folder = false;  ///< everybody may put files into it, as into /tmp
};

/// Everything of the store that there is now, the folder first.
std::vector<std::string> parts_of(Place const& place) {
  auto const tasks = place.tasks();
  return {folder_of(place.path), place.path,    place.path + "-wal", place.path + "-shm",
          place.gate(),          place.inbox(), tasks.path,          tasks.path + "-wal",
          tasks.path + "-shm",   tasks.gate()};
}

Modes modes_of(Place const& place) {
  Modes modes;
  for (auto const& path : parts_of(place)) {
    struct stat there{};
    if (::stat(path.c_str(), &there) != 0) continue;
    bool const writable = (there.st_mode & S_IWOTH) != 0;
    bool const folder = S_ISDIR(there.st_mode);
    if (writable && folder && (there.st_mode & S_ISVTX) != 0) {
      modes.shared_folder = true;
    } else if (writable) {
      modes.writable.push_back(path);
    } else if (!folder && (there.st_mode & S_IROTH) != 0) {
      modes.readable.push_back(path);
    }
  }
  return modes;
}

std::string mode_text(std::string const& path) {
  struct stat there{};
  if (::stat(path.c_str(), &there) != 0) return "?";
  return fmt::format("{:04o}", there.st_mode & 07777U);
}

struct KnownFileSystem {
  long kind;
  std::string_view name;
};

// Numbers from linux/magic.h.
constexpr auto good_file_systems = std::to_array<KnownFileSystem>({
    {0xEF53, "ext2, ext3 or ext4"},
    {0x58465342, "XFS"},
    {0x9123683E, "Btrfs"},
    {0x2FC12FC1, "ZFS"},
    {0xF2F52010, "F2FS"},
    {0xCA451A4E, "bcachefs"},
});
constexpr long tmpfs = 0x01021994;
constexpr long ramfs = 0x858458F6;
constexpr long overlay = 0x794C7630;

}  // namespace

Finding permissions_finding(Place const& place) {
  std::string const id = "permissions";
  std::string const title = "Permissions";
  auto const modes = modes_of(place);
  if (!modes.writable.empty()) {
    return {id, title, FindingStatus::fail,
            fmt::format("everybody may write to {}", fmt::join(modes.writable, ", ")),
            "chmod o-w " + as_words(modes.writable)};
  }
  if (modes.shared_folder) {
    return {id, title, FindingStatus::warn,
            fmt::format("everybody may put files into {}, in the place of the store's own",
                        folder_of(place.path)),
            "keep the store in a folder of its own, such as ~/.local/state/holt"};
  }
  if (!modes.readable.empty()) {
    return {id, title, FindingStatus::warn,
            fmt::format("everybody may read {}: names, notes, and the owners that release a lock",
                        fmt::join(modes.readable, ", ")),
            "chmod o-r " + as_words(modes.readable)};
  }
  return {
      id,
      title,
      FindingStatus::ok,
      fmt::format("file {}, folder {}", mode_text(place.path), mode_text(folder_of(place.path))),
      {}};
}

Finding file_system_finding(std::string const& folder, long kind) {
  std::string const id = "file-system";
  std::string const title = "File system";
  auto const unsafe = unsafe_file_system(kind);
  if (!unsafe.empty()) {
    return {id, title, FindingStatus::fail,
            fmt::format("{} is on {}: locks and shared memory do not work there between machines",
                        folder, unsafe),
            "use a local disk: --store sqlite:///local/path/holt.db"};
  }
  if (kind == overlay) {
    return {id, title, FindingStatus::warn,
            fmt::format("{} is on overlay: a container's own layer, which goes with the container",
                        folder),
            "mount a volume, and keep the store's whole folder on it"};
  }
  if (kind == tmpfs || kind == ramfs) {
    return {id,
            title,
            FindingStatus::info,
            "in memory (tmpfs): gone after a reboot, as all leases are; records too",
            {}};
  }
  auto const good = std::ranges::find(good_file_systems, kind, &KnownFileSystem::kind);
  if (good != good_file_systems.end()) {
    return {id, title, FindingStatus::ok, std::string(good->name), {}};
  }
  return {id,
          title,
          FindingStatus::info,
          fmt::format("of kind {:#x}, which Holt does not know; it must be a local disk", kind),
          {}};
}

Space space_of(std::string const& folder) {
  struct statvfs answer{};
  if (::statvfs(folder.c_str(), &answer) != 0) return {};
  return {.bytes = std::uint64_t{answer.f_bavail} * answer.f_frsize,
          .inodes = answer.f_favail,
          .counts_inodes = answer.f_files != 0};
}

Finding space_finding(Space const& space) {
  bool const no_inodes = space.counts_inodes && space.inodes < few_inodes;
  auto status = FindingStatus::ok;
  if (space.bytes < little || no_inodes) status = FindingStatus::warn;
  if (space.bytes < too_little || (no_inodes && space.inodes == 0)) status = FindingStatus::fail;
  auto detail = fmt::format("{} MiB free", space.bytes / mib);
  if (space.counts_inodes) detail += fmt::format(", room for {} more files", space.inodes);
  return {"space", "Free space", status, std::move(detail),
          status == FindingStatus::ok
              ? ""
              : "make room on the store's disk: nothing can be locked when it is full"};
}

Finding log_finding(std::string const& path) {
  struct stat log{};
  auto const bytes =
      ::stat((path + "-wal").c_str(), &log) == 0 ? static_cast<std::uint64_t>(log.st_size) : 0;
  auto detail = fmt::format("{:.1f} MiB", static_cast<double>(bytes) / static_cast<double>(mib));
  if (bytes < long_log) return {"log", "Log", FindingStatus::ok, std::move(detail), {}};
  return {"log", "Log", FindingStatus::warn,
          detail + ": somebody who reads keeps it from starting over, or did for a long time",
          "continue or end whoever is stopped (finding \"stopped\") or has the file open (finding "
          "\"programs\"); the log is cut when the last one closes the store"};
}

Finding tasks_finding(std::string const& path) {
  auto const size = [](std::string const& file) -> std::optional<std::uint64_t> {
    struct stat there{};
    if (::stat(file.c_str(), &there) != 0) return std::nullopt;
    return static_cast<std::uint64_t>(there.st_size);
  };
  auto const tasks = size(path);
  std::string detail = "none: no queue has been used";
  if (tasks) {
    detail = fmt::format(
        "{} MiB in a file of their own, {} MiB in its log; every commit is on "
        "the disk before it is answered",
        *tasks / mib, size(path + "-wal").value_or(0) / mib);
  }
  return {"tasks", "Tasks", FindingStatus::ok, std::move(detail), {}};
}

Finding inbox_finding(Env& env, Place const& place) {
  std::string const id = "inbox";
  std::string const title = "Inboxes";
  auto const path = place.inbox();
  if (::access(path.c_str(), F_OK) != 0) {
    return {id, title, FindingStatus::ok, "none: nobody waits or has waited", {}};
  }
  if (::access(path.c_str(), R_OK | W_OK | X_OK) != 0) {
    return {
        id, title, FindingStatus::fail,
        fmt::format("{} cannot be used: whoever waits for a lock needs a socket there", path),
        fmt::format("make {} a folder of the store's owner: chmod 0700 if it is one, else remove "
                    "it",
                    path)};
  }
  auto const count = InboxFolder(env, place).count(most_inboxes);
  auto detail = fmt::format("{} in use, {} left behind", count.sockets - count.stale, count.stale);
  if (count.stale == 0) return {id, title, FindingStatus::ok, std::move(detail), {}};
  return {id, title, FindingStatus::info, std::move(detail),
          "nothing has to be done: whoever waits next removes what is left behind"};
}

}  // namespace holt::sqlite
