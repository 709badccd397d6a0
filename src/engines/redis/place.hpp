// SPDX-License-Identifier: Apache-2.0
#pragma once
// Where a store on Redis is and how to get in: a URL, taken apart and checked before any I/O.
//   redis://[user:password@]host[:port][/database][?option=value&...]
//   redis+unix:///path/of/socket[?db=N&...]   credentials as above, before the path
// Options: timeout (connecting, ms), password_file, eviction=allow.

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

namespace holt::redis {

struct Place {
  std::string host;  ///< empty: the socket at `path`
  std::uint16_t port = 6379;
  std::string path;
  std::string user;      ///< empty: the server's default user
  std::string password;  ///< empty: none
  int database = 0;
  std::chrono::milliseconds connect_timeout{3000};
  bool allow_eviction = false;  ///< use a server that may throw away leases when memory is short

  /// For people: canonical, without secrets.
  [[nodiscard]] std::string url() const;
};

/// Throws InvalidArgument, whose text has no secret.
[[nodiscard]] Place parse_place(std::string_view url);

}  // namespace holt::redis
