// SPDX-License-Identifier: Apache-2.0
#pragma once
// RedisServer: a Redis of one test's own, on free ports of 127.0.0.1, with its data in a temporary
// folder. Ready when the constructor returns, gone with the object. Its data survive restart() only
// with `append_only`, as an operator would have it.

#include "support/servers/redis_client.hpp"
#include "support/servers/reserved_port.hpp"
#include "support/servers/server_process.hpp"
#include "support/servers/tls_files.hpp"
#include "support/temporary_folder.hpp"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace holt::test {

struct RedisOptions {
  enum class Tls {
    none,
    server,  ///< clients may show a certificate
    mutual,  ///< clients must show one
  };

  std::string password;          ///< of the default user; empty: none
  std::vector<std::string> acl;  ///< lines of an ACL file ("user worker on >secret ~* +get")
  bool unix_socket = false;      ///< listens on socket_path() too
  Tls tls = Tls::none;           ///< listens on tls_port() too; the plain port stays
  std::shared_ptr<TlsFiles const> certificates;  ///< with `tls`; null: its own
  bool append_only = false;                      ///< keeps its data in a log, synced each second
  std::string max_memory;                        ///< "2mb"; empty: no limit
  std::string eviction = "noeviction";           ///< maxmemory-policy
  std::vector<std::string> config;  ///< more lines of redis.conf; the last one of a name counts
  /// Added to the server's environment: of a ShiftedClock, say.
  std::vector<std::pair<std::string, std::string>> environment;
};

class RedisServer {
 public:
  /// Throws ServerFailed, with the end of its log, when it does not start.
  explicit RedisServer(RedisOptions options = {});
  /// Kills it: a clean end would take it a tenth of a second.
  ~RedisServer() { process_->kill(); }
  RedisServer(RedisServer const&) = delete;
  RedisServer& operator=(RedisServer const&) = delete;

  [[nodiscard]] std::uint16_t port() const { return port_.number(); }
  [[nodiscard]] std::string address() const { return "127.0.0.1:" + std::to_string(port()); }
  /// redis://[:password@]127.0.0.1:PORT
  [[nodiscard]] std::string url() const;
  [[nodiscard]] std::uint16_t tls_port() const { return tls_port_.value().number(); }
  [[nodiscard]] TlsFiles const& tls() const { return *tls_; }
  [[nodiscard]] std::string socket_path() const { return folder_.file("redis.sock"); }
  [[nodiscard]] std::string const& folder() const { return folder_.path(); }

  /// One more connection, on which every command is allowed.
  [[nodiscard]] RedisClient connect() const;
  /// One command on a connection of its own; throws as RedisClient::done.
  RedisReply command(RedisClient::Words const& words) const { return connect().done(words); }

  /// Leaves no key and no script, as if it were new.
  void flush() const;

  /// Stops it in good order and starts it again, with the same ports and folder.
  void restart();
  void stop() { process_->stop(); }
  /// After stop() or kill(): again with the same ports and folder.
  void start();
  void kill() { process_->kill(); }
  void freeze() { process_->freeze(); }
  void thaw() { process_->thaw(); }
  [[nodiscard]] ServerProcess& process() { return *process_; }

 private:
  void reserve_ports();
  [[nodiscard]] std::vector<std::string> config_lines() const;
  [[nodiscard]] bool ready() const;

  RedisOptions options_;
  TemporaryFolder folder_;
  std::shared_ptr<TlsFiles const> tls_;
  ReservedPort port_;
  std::optional<ReservedPort> tls_port_;
  std::unique_ptr<ServerProcess> process_;  // last: gone before its folder
};

}  // namespace holt::test
