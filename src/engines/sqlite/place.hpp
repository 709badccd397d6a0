// SPDX-License-Identifier: Apache-2.0
#pragma once
// Where the embedded store is: from the URL to a file that exists, with the right permissions, on a
// file system whose locks and shared memory can be trusted.
// Beside the file <path> stand <path>-wal, <path>-shm (SQLite's), <path>.gate (the order of
// writers), <path>.inbox/ (the sockets of those who listen) and <path>-tasks (a second file, with
// the same beside it but for the inbox).

#include <sys/types.h>

#include <functional>
#include <string>
#include <string_view>

namespace holt::sqlite {

/// When a lease counts as stored: `normal` survives a crash of the process, `full` a power cut too.
/// (A power cut ends every holder anyway, and the next boot voids all leases.)
enum class Sync { normal, full };

struct Place {
  std::string path;  ///< absolute; after prepare() without symbolic links
  Sync sync = Sync::normal;
  bool migrate = true;  ///< false: a store that is not there or too old is refused

  [[nodiscard]] std::string gate() const { return path + ".gate"; }
  [[nodiscard]] std::string inbox() const { return path + ".inbox"; }
  /// Where the tasks of this store are: always on the disk before they are answered.
  [[nodiscard]] Place tasks() const { return {path + "-tasks", Sync::full, migrate}; }
  /// Canonical, for people: `sqlite:///path?sync=full`.
  [[nodiscard]] std::string url() const;
};

/// Understands `sqlite:///absolute`, `sqlite:relative`, `sqlite:~/in-home`, `sqlite:` (the default
/// place), each with `?sync=normal|full` and `migrate=no`, and a plain path. Throws InvalidArgument
/// that says what would be right.
[[nodiscard]] Place parse_place(std::string_view url);

/// The kind of file system a folder is on, as statfs(2) answers it in f_type.
using FileSystemKind = std::function<long(std::string const& folder)>;

/// The kind as the system tells it; throws EngineError when it does not.
[[nodiscard]] long file_system_kind(std::string const& folder);

/// What an unsafe kind is called, empty for others: shared between machines or served by a program.
[[nodiscard]] std::string_view unsafe_file_system(long kind);

/// Throws InvalidArgument when `folder` is on a file system shared between machines or served by a
/// program: file locks and shared memory do not work there as SQLite needs them.
void check_file_system(std::string const& folder, FileSystemKind const& kind);

/// Makes the folders that are missing (0700) and the file (0600), whatever the umask, and checks
/// what is there. Answers the place without symbolic links: all who open the same file must agree
/// on where its gate and inboxes are. Throws InvalidArgument or EngineError.
[[nodiscard]] Place prepare(Place place, FileSystemKind const& kind = file_system_kind);

/// Opens `path`, making it with the permissions and the owner of the store's file `like` when it is
/// not there. The descriptor is closed on exec. Throws EngineError.
[[nodiscard]] int open_beside(std::string const& path, std::string const& like);

/// Makes the file `path` with the permissions and the owner of the store's file `like`, if it is
/// not there; one that is there is not touched. Throws EngineError.
void make_beside(std::string const& path, std::string const& like);

/// Makes the folder `path` for those who may use the store's file `like`, if it is not there, and
/// opens it. Throws EngineError.
[[nodiscard]] int open_folder_beside(std::string const& path, std::string const& like);

/// The folder that `path` is in.
[[nodiscard]] std::string folder_of(std::string const& path);

/// Which file a path leads to now.
struct FileIdentity {
  dev_t device = 0;
  ino_t inode = 0;  ///< 0: there is none

  [[nodiscard]] static FileIdentity of(std::string const& path);
  friend bool operator==(FileIdentity const&, FileIdentity const&) = default;
};

}  // namespace holt::sqlite
