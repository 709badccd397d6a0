// SPDX-License-Identifier: Apache-2.0
#include "engines/sqlite/place.hpp"

#include "engines/sqlite/errors.hpp"

#include <fmt/format.h>

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <cstdlib>
#include <vector>

namespace holt::sqlite {
namespace {

constexpr mode_t file_mode = 0600;
constexpr mode_t folder_mode = 0700;
constexpr std::string_view opening = "open";

struct UnsafeFileSystem {
  long kind;
  std::string_view name;
};

// Numbers from linux/magic.h and, where that has none, from the drivers themselves.
constexpr auto unsafe_file_systems = std::to_array<UnsafeFileSystem>({
    {0x6969, "NFS"},
    {0x517B, "SMB"},
    {0xFF534D42, "CIFS"},
    {0xFE534D42, "SMB2"},
    {0x01021997, "9p"},
    {0x65735546, "FUSE"},
    {0x6A656A63, "virtiofs (fakeowner)"},
    {0x00C36400, "Ceph"},
    {0x5346414F, "AFS"},
    {0x6B414653, "AFS"},
    {0x73757245, "Coda"},
    {0x01161970, "GFS2"},
    {0x7461636F, "OCFS2"},
    {0x0BD00BD0, "Lustre"},
    {0x47504653, "GPFS"},
    {0x19830326, "BeeGFS"},
    {0x564C, "NCP"},
    {0x786F4256, "VirtualBox shared folder"},
    {0xBACBACBC, "VMware shared folder"},
    {0x7C7C6673, "Parallels shared folder"},
});

std::string base_of(std::string const& path) { return path.substr(path.rfind('/') + 1); }

std::string resolve(std::string const& path) {
  std::array<char, PATH_MAX> buffer{};
  if (::realpath(path.c_str(), buffer.data()) == nullptr) {
    throw system_error(errno, opening, "cannot resolve", path);
  }
  return buffer.data();
}

/// Makes the last levels that are missing; what exists is left as it is.
void make_folders(std::string const& folder) {
  struct stat there{};
  if (::stat(folder.c_str(), &there) == 0) {
    if (!S_ISDIR(there.st_mode)) throw system_error(ENOTDIR, opening, "cannot use folder", folder);
    return;
  }
  if (errno != ENOENT) throw system_error(errno, opening, "cannot use folder", folder);
  make_folders(folder_of(folder));
  if (::mkdir(folder.c_str(), folder_mode) != 0) {
    if (errno == EEXIST) return;  // somebody else was quicker
    throw system_error(errno, opening, "cannot make folder", folder);
  }
  ::chmod(folder.c_str(), folder_mode);  // whatever the umask left of it
}

/// Only ever opens a file that it makes: closing one that SQLite has open in this process would
/// drop SQLite's locks on it.
void make_file(std::string const& path) {
  int const fd = ::open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, file_mode);
  if (fd < 0) {
    if (errno == EEXIST) return;
    throw system_error(errno, opening, "cannot make", path);
  }
  ::fchmod(fd, file_mode);
  ::close(fd);
}

/// A device or a pipe would block or worse; a folder gives SQLite's error no meaning.
void check_file(std::string const& path) {
  struct stat file{};
  if (::stat(path.c_str(), &file) != 0) throw system_error(errno, opening, "cannot use", path);
  if (S_ISDIR(file.st_mode)) {
    throw InvalidArgument(
        fmt::format("the store {} is a folder: name a file in it, such as "
                    "sqlite://{}/holt.db",
                    path, path));
  }
  if (!S_ISREG(file.st_mode)) {
    throw InvalidArgument(fmt::format("the store {} is not a regular file", path));
  }
  if (::access(path.c_str(), R_OK | W_OK) != 0) {
    throw system_error(errno, opening, "cannot write to", path);
  }
}

/// What is made beside the store's file serves the same people: its mode and its owner.
void make_like(int fd, struct stat const& like, mode_t mode) {
  struct stat made{};
  if (::fstat(fd, &made) != 0 || made.st_uid != ::geteuid()) return;
  if ((made.st_mode & 07777U) != mode) ::fchmod(fd, mode);
  if (made.st_uid != like.st_uid || made.st_gid != like.st_gid) {
    [[maybe_unused]] auto const changed = ::fchown(fd, like.st_uid, like.st_gid);
  }
}

mode_t mode_of(struct stat const& like) { return like.st_mode & 0666U; }

/// Who may read and write the file may enter the folder.
mode_t folder_mode_of(struct stat const& like) {
  auto const mode = mode_of(like);
  return mode | ((mode & 0444U) >> 2U);
}

struct stat stat_of(std::string const& path) {
  struct stat file{};
  if (::stat(path.c_str(), &file) != 0) throw system_error(errno, opening, "cannot use", path);
  return file;
}

}  // namespace

std::string folder_of(std::string const& path) {
  auto const slash = path.rfind('/');
  return slash == 0 ? "/" : path.substr(0, slash);
}

long file_system_kind(std::string const& folder) {
  struct statfs answer{};
  if (::statfs(folder.c_str(), &answer) != 0) {
    throw system_error(errno, opening, "cannot look at the file system of", folder);
  }
  return static_cast<long>(static_cast<unsigned int>(answer.f_type));
}

std::string_view unsafe_file_system(long kind) {
  auto const unsafe = std::ranges::find(unsafe_file_systems, kind, &UnsafeFileSystem::kind);
  return unsafe == unsafe_file_systems.end() ? std::string_view() : unsafe->name;
}

void check_file_system(std::string const& folder, FileSystemKind const& kind) {
  auto const unsafe = unsafe_file_system(kind(folder));
  if (unsafe.empty()) return;
  throw InvalidArgument(fmt::format(
      "the store's folder {} is on {}: file locks and shared memory do not work there between "
      "machines, and two holders could be granted the same name. Use a local disk: "
      "--store sqlite:///local/path/holt.db",
      folder, unsafe));
}

Place prepare(Place place, FileSystemKind const& kind) {
  make_folders(folder_of(place.path));
  auto const folder = resolve(folder_of(place.path));
  check_file_system(folder, kind);
  place.path = (folder == "/" ? "" : folder) + "/" + base_of(place.path);
  make_file(place.path);
  check_file(place.path);
  auto const target = resolve(place.path);
  if (target != place.path) {
    check_file_system(folder_of(target), kind);
    place.path = target;
  }
  return place;
}

int open_beside(std::string const& path, std::string const& like) {
  auto const store = stat_of(like);
  int const fd = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, file_mode);
  if (fd < 0) throw system_error(errno, opening, "cannot open", path);
  make_like(fd, store, mode_of(store));
  return fd;
}

/// As make_file().
void make_beside(std::string const& path, std::string const& like) {
  auto const store = stat_of(like);
  int const fd =
      ::open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, file_mode);
  if (fd < 0) {
    if (errno == EEXIST) return;
    throw system_error(errno, opening, "cannot make", path);
  }
  make_like(fd, store, mode_of(store));
  ::close(fd);
}

int open_folder_beside(std::string const& path, std::string const& like) {
  auto const store = stat_of(like);
  bool const made = ::mkdir(path.c_str(), folder_mode) == 0;
  if (!made && errno != EEXIST) throw system_error(errno, "listen", "cannot make folder", path);
  if (made) ::chmod(path.c_str(), folder_mode);  // whatever the umask left of it
  int const fd = ::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
  if (fd < 0) throw system_error(errno, "listen", "cannot open folder", path);
  if (made) make_like(fd, store, folder_mode_of(store));
  return fd;
}

FileIdentity FileIdentity::of(std::string const& path) {
  struct stat file{};
  if (::stat(path.c_str(), &file) != 0) return {};
  return {file.st_dev, file.st_ino};
}

}  // namespace holt::sqlite
