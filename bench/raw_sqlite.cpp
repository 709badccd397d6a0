// SPDX-License-Identifier: Apache-2.0
#include "raw_sqlite.hpp"

#include <stdexcept>

namespace holt::bench {
namespace {
// As people write it: the counter of fences in a table of its own.
constexpr char const* two_tables =
    "CREATE TABLE fence(instance TEXT PRIMARY KEY, value INTEGER) WITHOUT ROWID;"
    "INSERT INTO fence VALUES('default', 1800000000000000);"
    "CREATE TABLE lease(instance TEXT, name TEXT, owner TEXT, fence INTEGER, until_ns INTEGER,"
    " PRIMARY KEY(instance, name)) WITHOUT ROWID;";
constexpr char const* draw_of_two =
    "UPDATE fence SET value = value + 1 WHERE instance = 'default' RETURNING value";
// As Holt keeps it: the counter beside the leases, so a grant writes one page instead of two.
constexpr char const* one_table =
    "CREATE TABLE lease(instance TEXT, name TEXT, owner TEXT, fence INTEGER, until_ns INTEGER,"
    " PRIMARY KEY(instance, name)) WITHOUT ROWID;"
    "INSERT INTO lease VALUES('default', '', '', 1800000000000000, 0);";
constexpr char const* draw_of_one =
    "UPDATE lease SET fence = fence + 1 WHERE instance = 'default' AND name = '' RETURNING fence";
constexpr int checkpoint_pages = 1024;  // 4 MiB, as Holt
}  // namespace

RawSqlite::RawSqlite(std::filesystem::path const& file, bool full_sync, Layout layout) {
  if (sqlite3_open(file.c_str(), &db_) != SQLITE_OK) throw std::runtime_error("cannot open");
  run("PRAGMA journal_mode=WAL");
  run(full_sync ? "PRAGMA synchronous=FULL" : "PRAGMA synchronous=NORMAL");
  run("PRAGMA wal_autocheckpoint=0");
  run("PRAGMA secure_delete=OFF");
  run(layout == Layout::one_table ? one_table : two_tables);
  sqlite3_wal_hook(db_, after_commit, this);
  begin_ = prepare("BEGIN IMMEDIATE");
  draw_ = prepare(layout == Layout::one_table ? draw_of_one : draw_of_two);
  take_ = prepare("INSERT INTO lease VALUES('default', ?1, 'owner-of-some-length', ?2, 1)");
  give_ = prepare("DELETE FROM lease WHERE instance = 'default' AND name = ?1");
  commit_ = prepare("COMMIT");
}

RawSqlite::~RawSqlite() {
  for (auto* statement : statements_) sqlite3_finalize(statement);
  sqlite3_close(db_);
}

sqlite3_stmt* RawSqlite::prepare(char const* sql) {
  sqlite3_stmt* statement = nullptr;
  if (sqlite3_prepare_v2(db_, sql, -1, &statement, nullptr) != SQLITE_OK) {
    throw std::runtime_error(sqlite3_errmsg(db_));
  }
  statements_.push_back(statement);
  return statement;
}

void RawSqlite::run(char const* sql) {
  if (sqlite3_exec(db_, sql, nullptr, nullptr, nullptr) != SQLITE_OK) {
    throw std::runtime_error(sqlite3_errmsg(db_));
  }
}

void RawSqlite::step(sqlite3_stmt* statement) {
  auto const result = sqlite3_step(statement);
  sqlite3_reset(statement);
  if (result != SQLITE_DONE && result != SQLITE_ROW) throw std::runtime_error(sqlite3_errmsg(db_));
}

int RawSqlite::after_commit(void* self, sqlite3*, char const*, int pages) {
  static_cast<RawSqlite*>(self)->wal_pages_ = pages;
  return SQLITE_OK;
}

void RawSqlite::pair(std::string const& name) {
  step(begin_);
  sqlite3_step(draw_);
  auto const fence = sqlite3_column_int64(draw_, 0);
  sqlite3_reset(draw_);
  sqlite3_bind_text(take_, 1, name.data(), static_cast<int>(name.size()), SQLITE_STATIC);
  sqlite3_bind_int64(take_, 2, fence);
  step(take_);
  step(commit_);
  step(begin_);
  sqlite3_bind_text(give_, 1, name.data(), static_cast<int>(name.size()), SQLITE_STATIC);
  step(give_);
  step(commit_);
  if (wal_pages_ > checkpoint_pages) {
    sqlite3_wal_checkpoint_v2(db_, nullptr, SQLITE_CHECKPOINT_PASSIVE, nullptr, nullptr);
    wal_pages_ = 0;
  }
}

}  // namespace holt::bench
