// SPDX-License-Identifier: Apache-2.0
#include "support/servers/postgres_server.hpp"

#include "support/servers/wait_until.hpp"

#include <libpq-fe.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

namespace holt::test {
namespace {

namespace fs = std::filesystem;

void append_lines(std::string const& path, std::vector<std::string> const& lines,
                  std::ios::openmode mode = std::ios::app) {
  std::ofstream file(path, mode);
  for (auto const& line : lines) file << line << '\n';
  if (!file.flush()) throw std::runtime_error("cannot write " + path);
}

}  // namespace

std::string postgres_programs() {
  std::vector<std::string> found;
  std::error_code ignored;
  for (auto const& entry : fs::directory_iterator("/usr/lib/postgresql", ignored)) {
    if (fs::exists(entry.path() / "bin/postgres")) found.push_back(entry.path() / "bin");
  }
  if (found.empty()) throw ServerFailed("there is no server in /usr/lib/postgresql");
  return *std::ranges::max_element(found);
}

std::string postgres_user() { return ::geteuid() == 0 ? "postgres" : ""; }

PostgresServer::PostgresServer(PostgresOptions options) : options_(std::move(options)) {
  if (!postgres_user().empty()) give_to(postgres_user(), folder_.path());
  run_tool({postgres_programs() + "/initdb", "--pgdata=" + data(), "--username=postgres",
            "--auth=trust", "--encoding=UTF8", "--locale=C", "--no-sync"});
  if (options_.tls) tls_ = std::make_unique<TlsFiles>(options_.environment);
  run_on_free_port();
}

PostgresServer::PostgresServer(PostgresServer const& primary, std::string const& name,
                               PostgresOptions options)
    : options_(std::move(options)), standby_(true) {
  if (!postgres_user().empty()) give_to(postgres_user(), folder_.path());
  auto const source = "host=127.0.0.1 port=" + std::to_string(primary.port()) +
                      " user=postgres application_name=" + name;
  run_tool({postgres_programs() + "/pg_basebackup", "--pgdata=" + data(), "--dbname=" + source,
            "--write-recovery-conf", "--checkpoint=fast", "--no-sync"});
  run_on_free_port();
}

PostgresServer::~PostgresServer() {
  process_->thaw();
  process_->stop(std::chrono::seconds(10), SIGQUIT);
}

std::string PostgresServer::data() const {
  return options_.data_folder.empty() ? folder_.file("data") : options_.data_folder;
}

void PostgresServer::run_tool(std::vector<std::string> command) const {
  SpawnPlan plan;
  auto const name = command.front();
  plan.command = std::move(command);
  plan.folder = folder_.path();
  plan.log = folder_.file("tools.log");
  plan.user = postgres_user();
  run_program(name, std::move(plan));
}

void PostgresServer::write_config() {
  std::vector<std::string> lines{"listen_addresses = '127.0.0.1'",
                                 "port = " + std::to_string(port()),
                                 "unix_socket_directories = '" + folder_.path() + "'",
                                 std::string("fsync = ") + (options_.durable ? "on" : "off"),
                                 "max_wal_senders = 4",
                                 "wal_keep_size = 64MB",
                                 "log_min_messages = warning"};
  if (tls_) {
    // The server wants a key of its own that nobody else can read.
    for (auto const* const name : {"server.crt", "server.key", "ca.crt"}) {
      auto const from = fs::path(tls_->ca()).parent_path() / name;
      fs::copy_file(from, folder_.file(name), fs::copy_options::overwrite_existing);
      fs::permissions(folder_.file(name), fs::perms::owner_read);
    }
    if (!postgres_user().empty()) give_to(postgres_user(), folder_.path());
    lines.insert(lines.end(), {"ssl = on", "ssl_cert_file = '" + folder_.file("server.crt") + "'",
                               "ssl_key_file = '" + folder_.file("server.key") + "'",
                               "ssl_ca_file = '" + folder_.file("ca.crt") + "'"});
  }
  lines.insert(lines.end(), options_.config.begin(), options_.config.end());
  append_lines(data() + "/postgresql.conf", lines);
  if (options_.access.empty()) return;
  auto access = options_.access;
  access.insert(access.end(), {"local all all trust", "host all all 127.0.0.1/32 trust",
                               "host replication all 127.0.0.1/32 trust"});
  append_lines(data() + "/pg_hba.conf", access, std::ios::trunc);
}

void PostgresServer::run_on_free_port() {
  on_free_ports([this] {
    port_ = ReservedPort();
    write_config();
    SpawnPlan plan;
    plan.command = {postgres_programs() + "/postgres", "-D", data()};
    plan.environment = options_.environment;
    plan.folder = folder_.path();
    plan.log = folder_.file("postgres.log");
    plan.user = postgres_user();
    plan.death_signal = SIGQUIT;  // its shared memory would stay behind otherwise
    process_ = std::make_unique<ServerProcess>("postgres at " + address(), std::move(plan));
    start();
  });
}

void PostgresServer::start() {
  process_->start();
  process_->await("answers a query", [this] { return ready(); });
}

void PostgresServer::stop() { process_->stop(std::chrono::seconds(20), SIGINT); }

void PostgresServer::kill() { process_->stop(std::chrono::seconds(10), SIGQUIT); }

bool PostgresServer::ready() const {
  try {
    return query("SELECT 1") == "1";
  } catch (std::runtime_error const&) {
    return false;
  }
}

void PostgresServer::promote() const {
  query("SELECT pg_promote(true, 60)");
  bool const writable = wait_until([this] { return query("SELECT pg_is_in_recovery()") == "f"; });
  if (!writable) throw ServerFailed("the standby at " + address() + " was not promoted in time");
}

std::string PostgresServer::url() const { return "postgres://postgres@" + address() + "/postgres"; }

std::string PostgresServer::query(std::string const& statements) const {
  auto const where =
      "host=127.0.0.1 port=" + std::to_string(port()) +
      " user=postgres dbname=postgres connect_timeout=5 sslmode=disable gssencmode=disable";
  std::unique_ptr<PGconn, decltype(&PQfinish)> const connection(PQconnectdb(where.c_str()),
                                                                PQfinish);
  if (PQstatus(connection.get()) != CONNECTION_OK) {
    throw std::runtime_error(PQerrorMessage(connection.get()));
  }
  std::unique_ptr<PGresult, decltype(&PQclear)> const result(
      PQexec(connection.get(), statements.c_str()), PQclear);
  auto const status = PQresultStatus(result.get());
  if (status != PGRES_TUPLES_OK && status != PGRES_COMMAND_OK) {
    throw std::runtime_error(statements + ": " + PQerrorMessage(connection.get()));
  }
  if (PQntuples(result.get()) == 0 || PQnfields(result.get()) == 0) return {};
  return PQgetvalue(result.get(), 0, 0);
}

}  // namespace holt::test
