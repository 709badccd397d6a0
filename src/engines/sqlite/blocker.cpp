// SPDX-License-Identifier: Apache-2.0
#include "engines/sqlite/blocker.hpp"

#include <fmt/format.h>

#include <sys/stat.h>

#include <charconv>
#include <fstream>
#include <iterator>
#include <sstream>
#include <vector>

namespace holt::sqlite {
namespace {

// The byte of the -shm file that SQLite's only writer locks (WAL_WRITE_LOCK, UNIX_SHM_BASE).
constexpr std::string_view write_lock_byte = "120";

std::string read_all(std::string const& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

std::vector<std::string_view> words_of(std::string_view line) {
  std::vector<std::string_view> words;
  while (!line.empty()) {
    auto const end = std::min(line.find(' '), line.size());
    if (end > 0) words.push_back(line.substr(0, end));
    line.remove_prefix(std::min(end + 1, line.size()));
  }
  return words;
}

Blocker describe(int pid) {
  if (pid <= 0) return {};
  auto const found = process(pid);
  switch (found.state) {
    case 'T':
    case 't':
      return {fmt::format("process {} ({}) holds its lock and is stopped ({})", pid, found.command,
                          found.state),
              fmt::format("continue it (kill -CONT {}) or end it (kill -KILL {})", pid, pid)};
    case 'D':
      return {fmt::format("process {} ({}) holds its lock and waits for the disk (D)", pid,
                          found.command),
              "look at the system's log for errors of the disk"};
    default:
      return {fmt::format("process {} ({}) holds its lock", pid, found.command), ""};
  }
}

Blocker holder(std::string const& path, std::string_view kind, std::string_view start) {
  struct stat file{};
  if (::stat(path.c_str(), &file) != 0) return {};
  return describe(find_lock_holder(read_all("/proc/locks"), kind, file.st_ino, start));
}

}  // namespace

/// /proc/PID/stat: pid (command) state ...; the command may contain anything, brackets too.
Process process(int pid) {
  auto const stat = read_all(fmt::format("/proc/{}/stat", pid));
  auto const open = stat.find('(');
  auto const close = stat.rfind(')');
  bool const complete = open != std::string::npos && close != std::string::npos;
  if (!complete || close + 2 >= stat.size()) return {};
  return {stat.substr(open + 1, close - open - 1), stat[close + 2]};
}

// 1: FLOCK  ADVISORY  WRITE 1234 08:02:131077 0 EOF
// 1: -> FLOCK  ADVISORY  WRITE 1235 08:02:131077 0 EOF      one who waits
std::vector<FileLock> parse_locks(std::string_view locks, unsigned long inode) {
  auto const suffix = fmt::format(":{}", inode);
  std::vector<FileLock> found;
  while (!locks.empty()) {
    auto const end = std::min(locks.find('\n'), locks.size());
    auto const words = words_of(locks.substr(0, end));
    locks.remove_prefix(std::min(end + 1, locks.size()));
    if (words.size() < 8 || words[1] == "->" || !words[5].ends_with(suffix)) continue;
    int pid = 0;
    std::from_chars(words[4].data(), words[4].data() + words[4].size(), pid);
    found.push_back({std::string(words[1]), words[3] == "WRITE", pid, std::string(words[6])});
  }
  return found;
}

std::vector<FileLock> locks_on(std::string const& path) {
  struct stat file{};
  if (::stat(path.c_str(), &file) != 0) return {};
  return parse_locks(read_all("/proc/locks"), file.st_ino);
}

int find_lock_holder(std::string_view locks, std::string_view kind, unsigned long inode,
                     std::string_view start) {
  for (auto const& lock : parse_locks(locks, inode)) {
    if (lock.write && lock.kind == kind && lock.start == start) return lock.pid;
  }
  return 0;
}

Blocker gate_blocker(std::string const& gate) { return holder(gate, "FLOCK", "0"); }

Blocker write_blocker(std::string const& path) {
  return holder(path + "-shm", "POSIX", write_lock_byte);
}

}  // namespace holt::sqlite
