// SPDX-License-Identifier: Apache-2.0
#include "postgres_figures.hpp"

#include <fmt/core.h>

#include <cstdlib>
#include <utility>

namespace holt::bench {
namespace {

/// Where the server's user may work too, which the folder of the build need not be; unlike /tmp it
/// is on a disk everywhere.
constexpr auto disk = "/var/tmp";

test::PostgresOptions options_in(Folder const& folder, std::vector<std::string> config) {
  if (!test::postgres_user().empty()) test::give_to(test::postgres_user(), folder.path().string());
  return {.durable = true,
          .data_folder = (folder.path() / "data").string(),
          .config = std::move(config)};
}

}  // namespace

PostgresAtWork::PostgresAtWork(std::vector<std::string> config)
    : folder_(disk), server_(options_in(folder_, std::move(config))) {}

std::string PostgresAtWork::settings() const {
  return fmt::format("PostgreSQL {} on 127.0.0.1, default settings, fsync {}; Linux {}.",
                     server_.query("SELECT split_part(current_setting('server_version'), ' ', 1)"),
                     server_.query("SELECT current_setting('fsync')"), kernel_text());
}

std::vector<std::string> StatementStats::config() {
  return {"shared_preload_libraries = 'pg_stat_statements'"};
}

StatementStats::StatementStats(PostgresAtWork const& server) : server_(*server) {
  server_.query("CREATE EXTENSION IF NOT EXISTS pg_stat_statements");
}

StatementStats::Calls StatementStats::of(std::string const& part) const {
  return sum("strpos(query, '" + part + "') > 0");
}

StatementStats::Calls StatementStats::by(std::string const& role) const {
  return sum("userid = '" + role + "'::regrole");
}

StatementStats::Calls StatementStats::sum(std::string const& condition) const {
  auto const text = server_.query(
      "SELECT format('%s %s %s', coalesce(sum(calls), 0), coalesce(sum(rows), 0), "
      "coalesce(sum(total_exec_time), 0)) FROM pg_stat_statements "
      "WHERE strpos(query, 'pg_stat_statements') = 0 AND " +
      condition);
  char* at = nullptr;
  Calls calls;
  calls.statements = std::strtod(text.c_str(), &at);
  calls.rows = std::strtod(at, &at);
  calls.seconds = std::strtod(at, &at) * 1e-3;
  return calls;
}

}  // namespace holt::bench
