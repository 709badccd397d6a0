// SPDX-License-Identifier: Apache-2.0
#pragma once
// The raw limit: a fenced acquire and release as a bare prepared-statement loop on SQLite, with
// the pragmas Holt uses, one transaction per operation, one connection, no other process.

#include <sqlite3.h>

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace holt::bench {

/// Where the counter of fences is: a table of its own, or a row of the leases' table as in Holt.
enum class Layout { two_tables, one_table };

class RawSqlite {
 public:
  RawSqlite(std::filesystem::path const& file, bool full_sync, Layout layout);
  ~RawSqlite();
  RawSqlite(RawSqlite const&) = delete;
  RawSqlite& operator=(RawSqlite const&) = delete;

  /// Takes and gives back one name.
  void pair(std::string const& name);

 private:
  sqlite3_stmt* prepare(char const* sql);
  void run(char const* sql);
  void step(sqlite3_stmt* statement);
  static int after_commit(void* self, sqlite3* db, char const* name, int pages);

  sqlite3* db_ = nullptr;
  std::vector<sqlite3_stmt*> statements_;
  sqlite3_stmt* begin_;
  sqlite3_stmt* draw_;
  sqlite3_stmt* take_;
  sqlite3_stmt* give_;
  sqlite3_stmt* commit_;
  int wal_pages_ = 0;
};

}  // namespace holt::bench
