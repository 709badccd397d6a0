// SPDX-License-Identifier: Apache-2.0
#pragma once
// OpenTransaction: a transaction of somebody else's on a PostgresServer, which has done something
// and is neither committed nor rolled back. Ends with the object, with nothing done.

#include <memory>
#include <string>

struct pg_conn;

namespace holt::test {

class PostgresServer;

class OpenTransaction {
 public:
  /// Throws std::runtime_error with what the server says. `level`: as in BEGIN ISOLATION LEVEL.
  OpenTransaction(PostgresServer const& server, std::string const& statements,
                  std::string const& level = "READ COMMITTED");

  /// Once.
  void commit();

 private:
  void run(std::string const& statements);

  std::unique_ptr<pg_conn, void (*)(pg_conn*)> connection_;
};

}  // namespace holt::test
