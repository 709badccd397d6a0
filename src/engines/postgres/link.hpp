// SPDX-License-Identifier: Apache-2.0
#pragma once
// Link: one connection to the server, used by blocking calls: to open it, to migrate, to diagnose.
// libpq resolves names and hashes passwords while it connects, which takes time that the loop does
// not have, so connections are made here, on Env::blocking(), and handed to a Session afterwards.

#include "contracts/env.hpp"
#include "engines/postgres/answer.hpp"
#include "engines/postgres/parameters.hpp"
#include "engines/postgres/place.hpp"

#include <holt/error.hpp>

#include <memory>
#include <string>
#include <string_view>

namespace holt::postgres {

/// Whom we are connected to; read on connecting.
struct Server {
  int version = 0;          ///< 150018 for 15.18
  bool recovering = false;  ///< a standby
  std::string host;         ///< "host:port"
  std::string durable;      ///< synchronous_commit
  std::string standbys;     ///< synchronous_standby_names
  bool pooled = false;      ///< each transaction may be on another connection of a pooler's
  [[nodiscard]] bool waits_for_standby() const {
    return !standbys.empty() && (durable == "on" || durable == "remote_apply");
  }
};

class Link {
 public:
  struct Finish {
    void operator()(PGconn* connection) const { PQfinish(connection); }
  };
  using Connection = std::unique_ptr<PGconn, Finish>;

  /// Connects and looks at the server. Throws EngineError with outcome not_applied.
  Link(Env& env, Settings const& settings);

  /// Runs one statement, answers in binary. Throws EngineError: what the server refuses, too.
  Answer ask(std::string_view operation, std::string const& statement, Parameters const& parameters,
             Instant deadline);
  /// Runs a script of several statements, which answer nothing.
  void run(std::string_view operation, std::string const& script, Instant deadline);

  [[nodiscard]] Server const& server() const { return server_; }
  /// Whom we are connected as.
  [[nodiscard]] std::string user() const { return PQuser(connection_.get()); }
  /// The connection itself, for whoever goes on with it; the link is empty then.
  [[nodiscard]] Connection take() { return std::move(connection_); }

 private:
  /// Waits for the last result of what was sent.
  Answer finish(std::string_view operation, Instant deadline);
  void wait(std::string_view operation, bool to_write, Instant deadline);
  void look();

  Env& env_;
  Connection connection_;
  Server server_;
};

}  // namespace holt::postgres
