// SPDX-License-Identifier: Apache-2.0
#include "postgres_bare.hpp"

#include "figures.hpp"
#include "postgres_figures.hpp"
#include "processes.hpp"

#include <libpq-fe.h>
#include <poll.h>

#include <array>
#include <atomic>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>

namespace holt::bench {
namespace {

constexpr std::uint64_t most_samples = 1000;

struct Messages {
  std::atomic<std::int64_t> sent;
  std::atomic<std::uint64_t> count;
  std::atomic<int> listening;
  std::array<std::atomic<std::int64_t>, most_samples> gaps;
};

using Connection = std::unique_ptr<PGconn, decltype(&PQfinish)>;

Connection connect(std::string const& url) {
  Connection connection(PQconnectdb(url.c_str()), PQfinish);
  if (PQstatus(connection.get()) != CONNECTION_OK) {
    throw std::runtime_error(PQerrorMessage(connection.get()));
  }
  return connection;
}

void run(Connection const& connection, std::string const& statement) {
  std::unique_ptr<PGresult, decltype(&PQclear)> const result(
      PQexec(connection.get(), statement.c_str()), PQclear);
  auto const status = PQresultStatus(result.get());
  if (status != PGRES_COMMAND_OK && status != PGRES_TUPLES_OK) {
    throw std::runtime_error(PQerrorMessage(connection.get()));
  }
}

void await_message(Connection const& connection) {
  while (true) {
    std::unique_ptr<PGnotify, decltype(&PQfreemem)> const said(PQnotifies(connection.get()),
                                                               PQfreemem);
    if (said) return;
    pollfd entry{PQsocket(connection.get()), POLLIN, 0};
    ::poll(&entry, 1, -1);
    PQconsumeInput(connection.get());
  }
}

/// Writes a row for each message, as a new holder must; after a pause another, with a message to
/// the other side. Notes how long it took from before one such write to the end of the other's.
void answer(Messages& board, std::string const& url, std::string const& me,
            std::string const& other, std::chrono::milliseconds pause) {
  auto const ear = connect(url);
  auto const mouth = connect(url);
  run(ear, "LISTEN " + me);
  ++board.listening;
  while (true) {
    await_message(ear);
    run(mouth, "UPDATE bare SET number = number + 1 WHERE name = 'x'");
    auto const index = board.count++;
    if (index < most_samples) board.gaps[index] = now() - board.sent;
    std::this_thread::sleep_for(pause);
    board.sent = now();
    run(mouth,
        "WITH freed AS (UPDATE bare SET number = number + 1 WHERE name = 'x') "
        "SELECT pg_notify('" +
            other + "', 'your turn')");
  }
}

}  // namespace

std::vector<double> bare_messages(std::uint64_t samples, std::chrono::milliseconds pause) {
  PostgresAtWork const server;
  server->query(
      "CREATE TABLE bare (name text PRIMARY KEY, number integer NOT NULL); "
      "INSERT INTO bare VALUES ('x', 0)");
  auto& board = make_board<Messages>();
  auto const url = server->url();
  std::vector<pid_t> const children{start([&] { answer(board, url, "a", "b", pause); }),
                                    start([&] { answer(board, url, "b", "a", pause); })};
  await("both to listen", [&] { return board.listening >= 2; });
  board.sent = now();
  server->query("NOTIFY a, 'your turn'");
  await("all messages", [&] { return board.count >= samples; });
  kill_all(children);
  std::vector<double> seen;
  for (std::uint64_t i = 0; i < samples; ++i) {
    seen.push_back(static_cast<double>(board.gaps.at(i)) * 1e-9);
  }
  return seen;
}

}  // namespace holt::bench
