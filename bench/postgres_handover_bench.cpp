// SPDX-License-Identifier: Apache-2.0
// Hand-over on PostgreSQL: after a clean release with 1 and with 500 waiting, and after the holder
// was killed; what clients send for it; and the raw limit, two commits and a notification from one
// process to another over the same server.

#include "figures.hpp"
#include "handover.hpp"
#include "postgres_figures.hpp"
#include "processes.hpp"

#include <fmt/core.h>

#include <libpq-fe.h>
#include <poll.h>

#include <array>
#include <atomic>
#include <memory>
#include <thread>

namespace holt::bench {
namespace {

using namespace std::chrono_literals;

constexpr std::uint64_t samples = 800;
constexpr Crowd one_waits{.processes = 2, .threads = 1};
constexpr Crowd many_wait{.processes = 3, .threads = 167};

// The raw limit. ----------------------------------------------------------------------------------

struct Messages {
  std::atomic<std::int64_t> sent;
  std::atomic<std::uint64_t> count;
  std::atomic<int> listening;
  std::array<std::atomic<std::int64_t>, samples> gaps;
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

/// Writes a row for each message, as a new holder must; 2 ms later another, with a message to the
/// other side. Notes how long it took from before one such write to the end of the other's.
void answer(Messages& board, std::string const& url, std::string const& me,
            std::string const& other) {
  auto const ear = connect(url);
  auto const mouth = connect(url);
  run(ear, "LISTEN " + me);
  ++board.listening;
  while (true) {
    await_message(ear);
    run(mouth, "UPDATE bare SET number = number + 1 WHERE name = 'x'");
    auto const index = board.count++;
    if (index < samples) board.gaps[index] = now() - board.sent;
    std::this_thread::sleep_for(2ms);
    board.sent = now();
    run(mouth,
        "WITH freed AS (UPDATE bare SET number = number + 1 WHERE name = 'x') "
        "SELECT pg_notify('" +
            other + "', 'your turn')");
  }
}

std::vector<double> bare_messages() {
  PostgresAtWork const server;
  server->query(
      "CREATE TABLE bare (name text PRIMARY KEY, number integer NOT NULL); "
      "INSERT INTO bare VALUES ('x', 0)");
  auto& board = make_board<Messages>();
  auto const url = server->url();
  std::vector<pid_t> const children{start([&] { answer(board, url, "a", "b"); }),
                                    start([&] { answer(board, url, "b", "a"); })};
  await("both to listen", [&] { return board.listening >= 2; });
  board.sent = now();
  server->query("NOTIFY a, 'your turn'");
  await("all messages", [&] { return board.count >= samples; });
  kill_all(children);
  std::vector<double> seen;
  for (auto const& gap : board.gaps) seen.push_back(static_cast<double>(gap) * 1e-9);
  return seen;
}

// -------------------------------------------------------------------------------------------------

void clean_rows(Crowd crowd, double bare) {
  PostgresAtWork const server(StatementStats::config());
  StatementStats const stats(server);
  double asked = 0;
  auto const count = [&] {
    asked = stats.of(".acquire(").rows - asked;  // the second time: since the first
    return static_cast<std::uint64_t>(stats.of_all().statements);
  };
  auto const seen = hand_overs(server->url(), crowd, samples, count);
  auto const what = fmt::format("clean release, {} waiting", crowd.waiting());
  gap_rows(what, seen.gaps, "at most 3 ms", "at most 15 ms");
  row(what + ", p50 / bare write, message and write",
      ratio_text(percentile(seen.gaps, 0.5) / bare));
  row(what + ", statements by clients per hand-over", fmt::format("{:.2f}", seen.commands));
  // Who let it go asks once, too: it stands in line again.
  row(what + ", how many asked for it", fmt::format("{:.2f}", asked / seen.counted - 1), "1");
}

void kill_rows() {
  PostgresAtWork const server;
  std::vector<double> late;
  for (int i = 0; i < 40; ++i) late.push_back(after_kill(server->url(), 300ms));
  gap_rows("after SIGKILL, past the rest of the ttl", late, "", "");
}

void measure() {
  auto const bare = bare_messages();
  head("Locks: hand-over between processes, PostgreSQL",
       fmt::format(
           "From the moment before the holder calls `release()` to the moment the next process has "
           "the lock.\nEach holds for 2 ms and stands in line again at once; {} hand-overs. The "
           "bare limit: from before\na statement that updates a row and sends a notification to "
           "the moment a process that listens has\nanswered it with an update of its own. After "
           "SIGKILL: ttl 300 ms, 40 times, counted from the end\nof the dead holder's lease. {}",
           samples, PostgresAtWork().settings()));
  auto const limit = percentile(bare, 0.5);
  row("bare write, message and write, p50", time_text(limit));
  row("bare write, message and write, p99", time_text(percentile(bare, 0.99)));
  for (auto const crowd : {one_waits, many_wait}) clean_rows(crowd, limit);
  kill_rows();
}

}  // namespace
}  // namespace holt::bench

int main() { holt::bench::measure(); }
