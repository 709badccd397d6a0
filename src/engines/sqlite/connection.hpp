// SPDX-License-Identifier: Apache-2.0
#pragma once
// One handle on the store's file, and its prepared statements, which are kept.
// A connection is used by one thread at a time; who owns it sees to that. It never checkpoints by
// itself (docs/adr: SQLite 3.40 loses commits when a checkpoint runs beside a writer).
// All failures are thrown as DatabaseError.

#include "contracts/env.hpp"
#include "engines/sqlite/place.hpp"

#include <concepts>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

struct sqlite3;
struct sqlite3_stmt;

namespace holt::sqlite {

class Connection {
 public:
  /// Opens the file, which must exist, for reading and writing.
  Connection(Env& env, std::string const& path, Sync sync);
  /// Closes. The last one of all processes to close the file checkpoints it, unless told not to.
  ~Connection();
  Connection(Connection const&) = delete;
  Connection& operator=(Connection const&) = delete;

  /// How long statements wait for another program's lock. In the past: they do not wait.
  void wait_for_locks_until(Instant when) noexcept { patience_ = when; }

  /// BEGIN IMMEDIATE: from here to the end nobody else writes. False: the lock was not to be had
  /// in time.
  [[nodiscard]] bool begin();
  void commit();
  /// Harmless when there is no transaction.
  void rollback() noexcept;

  /// Runs pragmas, or the text of a migration.
  void execute(std::string const& sql);

  /// Copies the write-ahead log into the file as far as readers allow. Only while another
  /// connection of this process has begun a transaction.
  void checkpoint();

  /// The length of the write-ahead log in pages, as of our last commit.
  [[nodiscard]] int log_pages() const noexcept { return log_pages_; }
  /// Fills the log's file up with zeros, to the length that so many pages have, if it is shorter:
  /// a sync of a file that does not grow has less to wait for. Only in a transaction that has
  /// written nothing yet, as then nobody writes to the log. What fails is left alone.
  void lengthen_log(int pages) const noexcept;
  [[nodiscard]] bool read_only() const noexcept;
  [[nodiscard]] std::int64_t changes() const noexcept;

  /// Do not checkpoint at close: cheaper, and the log is kept for the next one to open.
  void keep_log_at_close() noexcept;

 private:
  friend class Query;

  sqlite3_stmt* prepare(std::string_view sql);
  void step_once(std::string_view sql);
  bool wait(int tries);
  void close() noexcept;
  [[noreturn]] void fail(int code) const;

  Env& env_;
  sqlite3* handle_ = nullptr;
  std::vector<std::pair<char const*, sqlite3_stmt*>> statements_;  // key: where the text is
  Instant patience_{};
  Instant waiting_since_{};
  int log_pages_ = 0;
};

/// While it lives, all that the connection reads is of one moment. For who only reads.
class Snapshot {
 public:
  explicit Snapshot(Connection& store) : store_(store) { store_.execute("BEGIN"); }
  ~Snapshot() { store_.rollback(); }
  Snapshot(Snapshot const&) = delete;
  Snapshot& operator=(Snapshot const&) = delete;

 private:
  Connection& store_;
};

/// Bytes that are stored as a BLOB.
struct Blob {
  std::string_view bytes;
};

/// One use of a statement: binds on construction, resets on destruction. What is bound must outlive
/// it; text read from a column lives until the next call of next().
class Query {
 public:
  /// `sql` must have static storage: the statement is remembered by the place of its text.
  template <class... Values>
  Query(Connection& connection, std::string_view sql, Values const&... values)
      : connection_(connection), statement_(connection.prepare(sql)) {
    [[maybe_unused]] int index = 0;  // NOLINT(misc-const-correctness): there may be no values
    (bind(++index, values), ...);
  }
  ~Query();
  Query(Query const&) = delete;
  Query& operator=(Query const&) = delete;

  /// True: there is a row (one more). False: done.
  bool next();
  /// Runs to the end and answers how many rows it changed.
  std::int64_t run();

  [[nodiscard]] std::int64_t integer(int column) const;
  [[nodiscard]] std::string_view text(int column) const;
  [[nodiscard]] bool null(int column) const;

 private:
  void bind(int index, std::string_view text);
  void bind(int index, Blob blob);
  void bind(int index, std::nullopt_t);
  void bind_integer(int index, std::int64_t value);
  template <std::integral Integer>
  void bind(int index, Integer value) {
    bind_integer(index, static_cast<std::int64_t>(value));
  }
  template <class Value>
  void bind(int index, std::optional<Value> const& value) {
    if (value) {
      bind(index, *value);
    } else {
      bind(index, std::nullopt);
    }
  }

  Connection& connection_;
  sqlite3_stmt* statement_;
};

}  // namespace holt::sqlite
