// SPDX-License-Identifier: Apache-2.0
#include "support/servers/pgbouncer.hpp"

#include <libpq-fe.h>

#include <fstream>

namespace holt::test {

PgBouncer::PgBouncer(PostgresServer const& server) {
  if (!postgres_user().empty()) give_to(postgres_user(), folder_.path());
  on_free_ports([&] { start(server); });
}

void PgBouncer::start(PostgresServer const& server) {
  port_ = ReservedPort();
  {
    std::ofstream config(folder_.file("pgbouncer.ini"));
    config << "[databases]\npostgres = host=127.0.0.1 port=" << server.port()
           << " dbname=postgres user=postgres\n"
           << "[pgbouncer]\nlisten_addr = 127.0.0.1\nlisten_port = " << port_.number()
           << "\nunix_socket_dir =\nauth_type = any\npool_mode = transaction\n"
           << "default_pool_size = 4\nmax_client_conn = 200\n";
  }
  SpawnPlan plan;
  plan.command = {"/usr/sbin/pgbouncer", folder_.file("pgbouncer.ini")};
  plan.folder = folder_.path();
  plan.log = folder_.file("pgbouncer.log");
  plan.user = postgres_user();
  process_ = std::make_unique<ServerProcess>("pgbouncer", std::move(plan));
  process_->start();
  process_->await("takes connections", [this] {
    std::unique_ptr<PGconn, decltype(&PQfinish)> const connection(
        PQconnectdb((url() + "?gssencmode=disable&sslmode=disable").c_str()), PQfinish);
    return PQstatus(connection.get()) == CONNECTION_OK;
  });
}

std::string PgBouncer::url() const {
  return "postgres://postgres@127.0.0.1:" + std::to_string(port_.number()) + "/postgres";
}

}  // namespace holt::test
