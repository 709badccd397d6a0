// SPDX-License-Identifier: Apache-2.0
#pragma once
// Who keeps a file locked: read from /proc, for the text of an error. A process that was stopped
// inside a transaction blocks the whole store, and only a person can continue or end it.
// Looks at paths only. Opening and closing the file itself would drop SQLite's locks on it.

#include <string>
#include <string_view>
#include <vector>

namespace holt::sqlite {

/// What to tell a person about the one who is in the way.
struct Blocker {
  std::string who;   ///< "process 1234 (holt) is stopped"
  std::string hint;  ///< "continue it (kill -CONT 1234) or end it"; may be empty
};

/// Who has the gate file locked; empty when it cannot be told.
[[nodiscard]] Blocker gate_blocker(std::string const& gate);

/// Who has SQLite's write lock on the store `path`; empty when it cannot be told.
[[nodiscard]] Blocker write_blocker(std::string const& path);

/// What is known of a process.
struct Process {
  std::string command;
  char state = '?';  ///< R, S, T and so on

  [[nodiscard]] bool stopped() const noexcept { return state == 'T' || state == 't'; }
};
[[nodiscard]] Process process(int pid);

/// A lock that somebody has on a file.
struct FileLock {
  std::string kind;  ///< FLOCK or POSIX
  bool write = false;
  int pid = 0;
  std::string start;  ///< the first byte locked
};

/// All locks on the file `path`, as /proc/locks tells them; those who only wait are left out.
[[nodiscard]] std::vector<FileLock> locks_on(std::string const& path);
[[nodiscard]] std::vector<FileLock> parse_locks(std::string_view locks, unsigned long inode);

/// The same from the text of /proc/locks: `kind` is FLOCK or POSIX, `start` the first byte locked.
[[nodiscard]] int find_lock_holder(std::string_view locks, std::string_view kind,
                                   unsigned long inode, std::string_view start);

}  // namespace holt::sqlite
