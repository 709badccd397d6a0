// SPDX-License-Identifier: Apache-2.0
#include "support/servers/open_transaction.hpp"

#include "support/servers/postgres_server.hpp"

#include <libpq-fe.h>

#include <stdexcept>

namespace holt::test {

OpenTransaction::OpenTransaction(PostgresServer const& server, std::string const& statements,
                                 std::string const& level)
    : connection_(PQconnectdb((server.url() + "?sslmode=disable&gssencmode=disable").c_str()),
                  PQfinish) {
  if (PQstatus(connection_.get()) != CONNECTION_OK) {
    throw std::runtime_error(PQerrorMessage(connection_.get()));
  }
  run("BEGIN ISOLATION LEVEL " + level);
  run(statements);
}

void OpenTransaction::commit() { run("COMMIT"); }

void OpenTransaction::run(std::string const& statements) {
  std::unique_ptr<PGresult, decltype(&PQclear)> const result(
      PQexec(connection_.get(), statements.c_str()), PQclear);
  auto const status = PQresultStatus(result.get());
  if (status == PGRES_TUPLES_OK || status == PGRES_COMMAND_OK) return;
  throw std::runtime_error(statements + ": " + PQerrorMessage(connection_.get()));
}

}  // namespace holt::test
