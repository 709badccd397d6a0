// SPDX-License-Identifier: Apache-2.0
#pragma once
// PgBouncer: a connection pooler before a PostgresServer, in transaction mode, on a free port of
// 127.0.0.1. Ready when the constructor returns, gone with the object.

#include "support/servers/postgres_server.hpp"

#include <memory>
#include <string>

namespace holt::test {

class PgBouncer {
 public:
  /// Throws ServerFailed, with the end of its log, when it does not start.
  explicit PgBouncer(PostgresServer const& server);

  /// postgres://postgres@127.0.0.1:PORT/postgres
  [[nodiscard]] std::string url() const;

 private:
  void start(PostgresServer const& server);

  TemporaryFolder folder_;
  ReservedPort port_;
  std::unique_ptr<ServerProcess> process_;  // last: gone before its folder
};

}  // namespace holt::test
