// SPDX-License-Identifier: Apache-2.0
#pragma once
// A PostgreSQL for benchmarks, what they say of it, and what they count on it.

#include "figures.hpp"
#include "support/servers/postgres_server.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace holt::bench {

/// A server as an operator would have it: default settings, every commit on the disk before it is
/// answered, its data on a real disk.
class PostgresAtWork {
 public:
  /// `config`: lines of postgresql.conf beyond the defaults.
  explicit PostgresAtWork(std::vector<std::string> config = {});

  [[nodiscard]] test::PostgresServer const& operator*() const { return server_; }
  [[nodiscard]] test::PostgresServer const* operator->() const { return &server_; }
  /// "PostgreSQL 15.18 on 127.0.0.1, default settings, fsync on; Linux 6.1."
  [[nodiscard]] std::string settings() const;

 private:
  Folder folder_;
  test::PostgresServer server_;
};

/// Counts statements in the server's own statistics: its extension pg_stat_statements.
class StatementStats {
 public:
  /// Lines that the server must have been started with.
  static std::vector<std::string> config();
  explicit StatementStats(PostgresAtWork const& server);

  struct Calls {
    double statements = 0;
    double rows = 0;     ///< they answered
    double seconds = 0;  ///< they took on the server, commits apart
  };
  /// Of all clients but this one.
  [[nodiscard]] Calls of_all() const { return sum("true"); }
  /// Whose text has this part.
  [[nodiscard]] Calls of(std::string const& part) const;
  /// That came on connections of this role.
  [[nodiscard]] Calls by(std::string const& role) const;

 private:
  [[nodiscard]] Calls sum(std::string const& condition) const;

  test::PostgresServer const& server_;
};

}  // namespace holt::bench
