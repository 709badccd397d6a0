// SPDX-License-Identifier: Apache-2.0
#pragma once
// Where a store on Redis is and how to get in: a URL, taken apart and checked before any I/O.
//   redis://[user:password@]host[:port][/database][?option=value&...]
//   rediss://...                              the same with TLS
//   redis+unix:///path/of/socket[?db=N&...]   credentials as above, before the path
//   redis+sentinel://[user:password@]host[:port],host[:port],.../service[/database][?...]
//   rediss+sentinel://...                     the same with TLS, to Sentinels and servers
//   redis+cluster://[user:password@]host[:port],host[:port],...[?...]   rediss+cluster:// with TLS
// Options: place_options.cpp.

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace holt::redis {

struct Endpoint {
  std::string host;
  std::uint16_t port = 0;

  friend bool operator==(Endpoint const&, Endpoint const&) = default;
};

/// `host:port`, with brackets around an IPv6 address.
[[nodiscard]] std::string to_string(Endpoint const& endpoint);

struct Credentials {
  std::string user;      ///< empty: the server's default user
  std::string password;  ///< empty: none
};

/// How a server proves who it is, and we.
struct TlsOptions {
  std::string ca_file;           ///< empty: the authorities that this machine trusts
  std::string certificate_file;  ///< ours; empty: none
  std::string key_file;          ///< of our certificate
  std::string server_name;       ///< what the server's certificate must be for; empty: its host
};

struct Place {
  std::string
      host;  ///< empty: the socket at `path`, the master that `sentinels` name, or `cluster`
  std::uint16_t port = 6379;
  std::string path;
  std::string user;      ///< empty: the server's default user
  std::string password;  ///< empty: none
  int database = 0;
  std::optional<TlsOptions> tls;  ///< nothing: in the clear; to Sentinels too
  std::vector<Endpoint> cluster;  ///< some nodes of one; with a host this is another node of it
  std::vector<Endpoint> sentinels;
  std::string service;  ///< what Sentinels call the master and its replicas
  Credentials sentinel;
  std::chrono::milliseconds connect_timeout{3000};
  int wait_replicas = 0;  ///< so many must confirm a grant, a renewal, a record
  std::chrono::milliseconds wait_timeout{500};
  bool wait_timeout_given = false;
  bool any_role = false;        ///< a replica will do: it is only asked, or listened to
  bool allow_eviction = false;  ///< use a server that may throw away leases when memory is short

  /// For people: canonical, without secrets and without options. Parsed again it leads to the same
  /// server.
  [[nodiscard]] std::string url() const;
};

/// Throws InvalidArgument, whose text has no secret.
[[nodiscard]] Place parse_place(std::string_view url);

}  // namespace holt::redis
