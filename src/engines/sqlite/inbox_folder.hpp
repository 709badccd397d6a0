// SPDX-License-Identifier: Apache-2.0
#pragma once
// InboxFolder: the folder of sockets beside the store, and the system calls on it. Sockets are
// reached through /proc/self/fd/N/name, because a socket's path may have 107 bytes and no more.
// Any thread.

#include "contracts/env.hpp"
#include "contracts/signal_bus.hpp"
#include "engines/sqlite/place.hpp"

#include <mutex>
#include <string>
#include <string_view>
#include <vector>

namespace holt::sqlite {

/// How many sockets there are, and how many of them nobody listens at any more.
struct InboxCount {
  std::size_t sockets = 0;
  std::size_t stale = 0;
};

class InboxFolder {
 public:
  InboxFolder(Env& env, Place const& place);
  ~InboxFolder();
  InboxFolder(InboxFolder const&) = delete;
  InboxFolder& operator=(InboxFolder const&) = delete;

  /// Makes the folder if need be, and in it a non-blocking socket of this name; answers the
  /// descriptor. Throws EngineError.
  [[nodiscard]] int bind(std::string const& name);

  /// Sends one datagram. Does not throw.
  Delivery send(std::string_view name, std::string_view message) noexcept;

  /// The names of all sockets, at most `limit`. Does not throw; an unreadable folder is empty.
  [[nodiscard]] std::vector<std::string> names(std::size_t limit) noexcept;

  void remove(std::string const& name) noexcept;

  /// Counts, looking at no more than `limit`, and removes nothing. Does not throw.
  [[nodiscard]] InboxCount count(std::size_t limit) noexcept;

  /// Removes sockets whose process is gone, looking at no more than `limit`.
  void sweep(std::size_t limit) noexcept;

 private:
  int folder() noexcept;
  int sender() noexcept;
  bool reopen_if_replaced() noexcept;
  void remove_if_old(std::string const& name) noexcept;
  bool refuses(int probe, std::string_view name) noexcept;
  int send_once(std::string_view name, std::string_view message) noexcept;

  Env& env_;
  std::string const path_;
  std::string const store_;
  std::mutex mutex_;
  int folder_ = -1;  // opened when first needed
  int sender_ = -1;
};

}  // namespace holt::sqlite
