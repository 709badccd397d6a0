// SPDX-License-Identifier: Apache-2.0
#pragma once
// PostgresServer: a PostgreSQL of one test's own, on a free port of 127.0.0.1 and on a socket, with
// its data in a temporary folder. Ready when the constructor returns, gone with the object. It does
// not run as root, which it refuses: as the user `postgres` then. Whoever connects is believed.

#include "support/servers/reserved_port.hpp"
#include "support/servers/server_process.hpp"
#include "support/servers/tls_files.hpp"
#include "support/temporary_folder.hpp"

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace holt::test {

struct PostgresOptions {
  bool durable = false;     ///< fsync on, as an operator would have it
  bool tls = false;         ///< takes TLS connections too, with tls()'s certificate
  std::string data_folder;  ///< where its data are; empty: in its own folder
  std::vector<std::string>
      config;  ///< more lines of postgresql.conf; the last one of a name counts
  std::vector<std::string> access;  ///< lines of pg_hba.conf before the one that trusts everybody
  /// Added to the server's environment: of a ShiftedClock, say.
  std::vector<std::pair<std::string, std::string>> environment;
};

/// The folder that the newest installed server's programs are in. Throws ServerFailed: there is
/// none.
[[nodiscard]] std::string postgres_programs();
/// Whom servers run as: empty unless we are root.
[[nodiscard]] std::string postgres_user();

class PostgresServer {
 public:
  /// Throws ServerFailed, with the end of its log, when it does not start.
  explicit PostgresServer(PostgresOptions options = {});
  /// A copy of `primary` that follows it, as a standby with this name.
  PostgresServer(PostgresServer const& primary, std::string const& name,
                 PostgresOptions options = {});
  /// Ends it at once.
  ~PostgresServer();
  PostgresServer(PostgresServer const&) = delete;
  PostgresServer& operator=(PostgresServer const&) = delete;

  [[nodiscard]] std::uint16_t port() const { return port_.number(); }
  [[nodiscard]] std::string address() const { return "127.0.0.1:" + std::to_string(port()); }
  /// postgres://postgres@127.0.0.1:PORT/postgres
  [[nodiscard]] std::string url() const;
  [[nodiscard]] std::string const& folder() const { return folder_.path(); }
  [[nodiscard]] TlsFiles const& tls() const { return *tls_; }

  /// Runs statements as superuser on a connection of its own; the first value of the last one's
  /// first row, as text. Throws std::runtime_error with what the server says.
  std::string query(std::string const& statements) const;

  /// After stop() or kill(): again with the same port and folder.
  void start();
  /// In good order: connections are ended.
  void stop();
  /// As a crash: nothing is said, nothing is written. Its children follow it.
  void kill();
  void freeze() { process_->freeze(); }
  void thaw() { process_->thaw(); }
  /// A standby becomes a primary; waits until it takes writes.
  void promote() const;
  [[nodiscard]] ServerProcess& process() { return *process_; }

 private:
  void write_config();
  void run_on_free_port();
  [[nodiscard]] std::string data() const;
  void run_tool(std::vector<std::string> command) const;
  [[nodiscard]] bool ready() const;

  PostgresOptions options_;
  bool standby_ = false;
  TemporaryFolder folder_;
  std::unique_ptr<TlsFiles> tls_;
  ReservedPort port_;
  std::unique_ptr<ServerProcess> process_;  // last: gone before its folder
};

}  // namespace holt::test
