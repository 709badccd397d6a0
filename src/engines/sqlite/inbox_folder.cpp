// SPDX-License-Identifier: Apache-2.0
#include "engines/sqlite/inbox_folder.hpp"

#include "engines/sqlite/errors.hpp"

#include <fmt/format.h>

#include <dirent.h>
#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>

namespace holt::sqlite {
namespace {

constexpr std::size_t max_name = 64;

// A socket is in the folder a moment before it accepts datagrams; only older ones can be stale.
constexpr auto surely_bound = std::chrono::seconds(5);

bool is_inbox_name(std::string_view name) {
  return !name.empty() && name.size() <= max_name && std::ranges::all_of(name, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '-';
  });
}

sockaddr_un address_of(int folder, std::string_view name) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  auto const path = fmt::format("/proc/self/fd/{}/{}", folder, name);
  std::memcpy(address.sun_path, path.data(), std::min(path.size(), sizeof address.sun_path - 1));
  return address;
}

sockaddr const* generic(sockaddr_un const& address) {
  return reinterpret_cast<sockaddr const*>(&address);
}

int make_socket() { return ::socket(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0); }

void close_if_open(int fd) {
  if (fd >= 0) ::close(fd);
}

}  // namespace

InboxFolder::InboxFolder(Env& env, Place const& place)
    : env_(env), path_(place.inbox()), store_(place.path) {}

InboxFolder::~InboxFolder() {
  close_if_open(folder_);
  close_if_open(sender_);
}

int InboxFolder::bind(std::string const& name) {
  std::scoped_lock const lock(mutex_);
  reopen_if_replaced();
  if (folder_ < 0) folder_ = open_folder_beside(path_, store_);
  int const fd = make_socket();
  if (fd < 0) throw system_error(errno, "listen", "cannot make a socket in", path_);
  auto const address = address_of(folder_, name);
  if (::bind(fd, generic(address), sizeof address) != 0) {
    int const number = errno;
    ::close(fd);
    throw system_error(number, "listen", "cannot make a socket in", path_);
  }
  // Who may use the store may send: the umask has no say in it.
  struct stat like{};
  if (::fstat(folder_, &like) == 0) {
    [[maybe_unused]] auto const done = ::fchmodat(folder_, name.c_str(), like.st_mode & 0666U, 0);
  }
  return fd;
}

Delivery InboxFolder::send(std::string_view name, std::string_view message) noexcept {
  if (!is_inbox_name(name)) return Delivery::unknown;
  std::scoped_lock const lock(mutex_);
  int result = send_once(name, message);
  if (result == ENOENT && reopen_if_replaced()) result = send_once(name, message);
  switch (result) {
    case 0:
    case EAGAIN:  // its buffer is full of hints
      return Delivery::sent;
    case ECONNREFUSED:
      remove_if_old(std::string(name));
      return Delivery::dead;
    case ENOENT:
      return Delivery::dead;
    default:
      return Delivery::unknown;
  }
}

/// The errno, or 0.
int InboxFolder::send_once(std::string_view name, std::string_view message) noexcept {
  int const in = folder();
  if (in < 0) return errno;
  int const by = sender();
  if (by < 0) return errno;
  auto const address = address_of(in, name);
  auto const sent = ::sendto(by, message.data(), message.size(), MSG_DONTWAIT | MSG_NOSIGNAL,
                             generic(address), sizeof address);
  return sent < 0 ? errno : 0;
}

int InboxFolder::folder() noexcept {
  if (folder_ < 0) folder_ = ::open(path_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
  return folder_;
}

int InboxFolder::sender() noexcept {
  if (sender_ < 0) sender_ = make_socket();
  return sender_;
}

/// A folder that was deleted under us would make everybody look dead.
bool InboxFolder::reopen_if_replaced() noexcept {
  struct stat opened{};
  if (folder_ < 0 || ::fstat(folder_, &opened) != 0) return false;
  if (FileIdentity::of(path_) == FileIdentity{opened.st_dev, opened.st_ino}) return false;
  ::close(folder_);
  folder_ = -1;
  return true;
}

std::vector<std::string> InboxFolder::names(std::size_t limit) noexcept {
  std::vector<std::string> found;
  std::unique_ptr<DIR, int (*)(DIR*)> const listing(::opendir(path_.c_str()), ::closedir);
  if (!listing) return found;
  while (found.size() < limit) {
    auto const* const entry = ::readdir(listing.get());
    if (entry == nullptr) break;
    if (is_inbox_name(entry->d_name)) found.emplace_back(entry->d_name);
  }
  return found;
}

void InboxFolder::remove(std::string const& name) noexcept {
  std::scoped_lock const lock(mutex_);
  if (folder_ >= 0) ::unlinkat(folder_, name.c_str(), 0);
}

void InboxFolder::remove_if_old(std::string const& name) noexcept {
  struct stat socket{};
  if (folder_ < 0) return;
  if (::fstatat(folder_, name.c_str(), &socket, AT_SYMLINK_NOFOLLOW) != 0) return;
  if (!S_ISSOCK(socket.st_mode)) return;
  auto const made = std::chrono::system_clock::from_time_t(socket.st_ctime);
  if (env_.wall() - made > surely_bound) ::unlinkat(folder_, name.c_str(), 0);
}

/// Nobody holds this socket open any more.
bool InboxFolder::refuses(int probe, std::string_view name) noexcept {
  if (folder() < 0) return false;
  auto const address = address_of(folder_, name);
  return ::connect(probe, generic(address), sizeof address) != 0 && errno == ECONNREFUSED;
}

InboxCount InboxFolder::count(std::size_t limit) noexcept {
  auto const found = names(limit);
  InboxCount count{.sockets = found.size()};
  int const probe = make_socket();
  if (probe < 0) return count;
  std::scoped_lock const lock(mutex_);
  for (auto const& name : found) count.stale += refuses(probe, name) ? 1 : 0;
  ::close(probe);
  return count;
}

void InboxFolder::sweep(std::size_t limit) noexcept {
  auto const found = names(limit);
  int const probe = make_socket();
  if (probe < 0) return;
  std::scoped_lock const lock(mutex_);
  for (auto const& name : found) {
    if (refuses(probe, name)) remove_if_old(name);
  }
  ::close(probe);
}

}  // namespace holt::sqlite
