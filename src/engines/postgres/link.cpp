// SPDX-License-Identifier: Apache-2.0
#include "engines/postgres/link.hpp"

#include "engines/postgres/errors.hpp"
#include "postgres_sql.hpp"

#include <fmt/format.h>

#include <fcntl.h>
#include <poll.h>

#include <algorithm>
#include <vector>

namespace holt::postgres {
namespace {

constexpr std::chrono::seconds look_patience{5};
constexpr int oldest_version = 130000;

Link::Connection connect(Settings const& settings) {
  std::vector<char const*> keywords;
  std::vector<char const*> values;
  for (auto const& [keyword, value] : settings) {
    keywords.push_back(keyword.c_str());
    values.push_back(value.c_str());
  }
  keywords.push_back(nullptr);
  values.push_back(nullptr);
  return Link::Connection(PQconnectdbParams(keywords.data(), values.data(), 0));
}

/// libpq tells no SQLSTATE of a connection that was refused: what the text is known by.
struct Refused {
  std::string_view part;
  std::string_view state;
};
constexpr auto refusals = std::to_array<Refused>({
    {"password authentication failed", "28P01"},
    {"no password supplied", "28P01"},
    {"no pg_hba.conf entry", "28000"},
    {"authentication failed", "28000"},
    {"too many clients", "53300"},
    {"too many connections", "53300"},
    {"remaining connection slots", "53300"},
    {"the database system is starting up", "57P03"},
    {"the database system is shutting down", "57P03"},
    {"the database system is in recovery mode", "57P03"},
    {"session is read-only", "25006"},
    {"server is in hot standby mode", "25006"},
    {"role \"", "28000"},
    {"database \"", "3D000"},
    {"certificate", "28000"},
});

/// What went wrong at each of several hosts.
std::string all_lines(PGconn const* connection) {
  std::string text = PQerrorMessage(connection);
  while (text.ends_with('\n')) text.pop_back();
  for (auto at = text.find('\n'); at != std::string::npos; at = text.find('\n', at)) {
    text.replace(at, text.find_first_not_of("\n\t ", at) - at, "; ");
  }
  return text;
}

EngineError cannot_connect(PGconn const* connection) {
  auto const text = all_lines(connection);
  auto const* const known = std::ranges::find_if(
      refusals, [&](auto const& row) { return text.find(row.part) != std::string::npos; });
  if (known == refusals.end()) {
    bool const late = text.find("timeout expired") != std::string::npos;
    return failed(late ? ErrorCode::network_timeout : ErrorCode::service_unavailable,
                  Outcome::not_applied, "connect", text,
                  "is the server up, the address right, and no firewall in the way?");
  }
  auto const& row = refusal_of(known->state);
  bool const certificate = known->part == "certificate";
  return failed(row.code, Outcome::not_applied, "connect", text,
                certificate ? "servers elsewhere must prove who they are: sslrootcert= names the "
                              "authority's file, sslmode= what is asked of them"
                            : row.hint);
}

std::string address_of(PGconn const* connection) {
  char const* const host = PQhost(connection);
  char const* const port = PQport(connection);
  return fmt::format("{}:{}", host == nullptr ? "" : host, port == nullptr ? "" : port);
}

}  // namespace

Link::Link(Env& env, Settings const& settings) : env_(env), connection_(connect(settings)) {
  if (!connection_) {
    throw failed(ErrorCode::internal, Outcome::not_applied, "connect", "out of memory");
  }
  if (PQstatus(connection_.get()) != CONNECTION_OK) throw cannot_connect(connection_.get());
  ::fcntl(PQsocket(connection_.get()), F_SETFD, FD_CLOEXEC);
  // Nobody reads what a server says beside its answers here.
  PQsetNoticeProcessor(connection_.get(), [](void*, char const*) {}, nullptr);
  PQsetnonblocking(connection_.get(), 1);
  look();
}

void Link::look() {
  auto const answer =
      ask("connect", std::string(sql::greeting), Parameters(), env_.now() + look_patience);
  server_ = {.version = static_cast<int>(answer.integer(0, 0)),
             .recovering = answer.flag(0, 1),
             .host = address_of(connection_.get()),
             .durable = std::string(answer.text(0, 4)),
             .standbys = std::string(answer.text(0, 5)),
             // Who answers is not who greeted us: a pooler makes up the process that it names.
             .pooled = answer.integer(0, 6) != PQbackendPID(connection_.get())};
  if (server_.version < oldest_version) {
    throw failed(ErrorCode::invalid_argument, Outcome::not_applied, "connect",
                 fmt::format("the server is PostgreSQL {}, and 13 or newer is needed",
                             server_.version / 10000));
  }
  if (answer.text(0, 2) != "read committed") {
    throw failed(
        ErrorCode::invalid_argument, Outcome::not_applied, "connect",
        fmt::format("default_transaction_isolation is {}, and decisions need read committed",
                    answer.text(0, 2)),
        "ALTER ROLE … SET default_transaction_isolation = 'read committed'");
  }
  if (answer.text(0, 3) != "UTF8") {
    throw failed(
        ErrorCode::invalid_argument, Outcome::not_applied, "connect",
        fmt::format("the database's encoding is {}, and names are UTF-8", answer.text(0, 3)),
        "CREATE DATABASE … ENCODING 'UTF8' TEMPLATE template0, and name that one");
  }
}

Answer Link::ask(std::string_view operation, std::string const& statement,
                 Parameters const& parameters, Instant deadline) {
  auto const pointers = parameters.pointers();
  auto const lengths = parameters.lengths();
  auto const formats = parameters.formats();
  int const sent = PQsendQueryParams(connection_.get(), statement.c_str(), parameters.count(),
                                     parameters.types().data(), pointers.data(), lengths.data(),
                                     formats.data(), 1);
  if (sent == 0) {
    throw failed(ErrorCode::service_unavailable, Outcome::not_applied, operation,
                 trouble_of(connection_.get()));
  }
  return finish(operation, deadline);
}

void Link::run(std::string_view operation, std::string const& script, Instant deadline) {
  if (PQsendQuery(connection_.get(), script.c_str()) == 0) {
    throw failed(ErrorCode::service_unavailable, Outcome::not_applied, operation,
                 trouble_of(connection_.get()));
  }
  finish(operation, deadline);
}

Answer Link::finish(std::string_view operation, Instant deadline) {
  while (PQflush(connection_.get()) == 1) wait(operation, true, deadline);
  Answer last;
  while (true) {
    while (PQisBusy(connection_.get()) != 0) {
      wait(operation, false, deadline);
      if (PQconsumeInput(connection_.get()) == 0) {
        throw failed(ErrorCode::service_unavailable, Outcome::unknown, operation,
                     trouble_of(connection_.get()));
      }
    }
    Answer next(PQgetResult(connection_.get()));
    if (!next) break;
    // The first error counts; libpq goes on to the end of what was sent.
    if (!last || last.status() != PGRES_FATAL_ERROR) last = std::move(next);
  }
  if (last && last.status() == PGRES_FATAL_ERROR) {
    throw refused(operation, last.state(), last.severity(), last.message());
  }
  return last;
}

void Link::wait(std::string_view operation, bool to_write, Instant deadline) {
  auto const left = std::chrono::ceil<std::chrono::milliseconds>(deadline - env_.now()).count();
  pollfd entry{PQsocket(connection_.get()),
               static_cast<short>(to_write ? POLLOUT | POLLIN : POLLIN), 0};
  if (left <= 0 || ::poll(&entry, 1, static_cast<int>(std::min<std::int64_t>(left, 60'000))) == 0) {
    if (env_.now() >= deadline) {
      throw failed(ErrorCode::network_timeout, Outcome::unknown, operation,
                   "no answer from " + address_of(connection_.get()) + " in time");
    }
  }
}

}  // namespace holt::postgres
