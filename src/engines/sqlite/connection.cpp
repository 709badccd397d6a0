// SPDX-License-Identifier: Apache-2.0
#include "engines/sqlite/connection.hpp"

#include "engines/sqlite/errors.hpp"

#include <sqlite3.h>

#include <fcntl.h>
#include <sched.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>

namespace holt::sqlite {
namespace {

// Not kept as statements by their text's place: literals of the same text may be merged or not.
constexpr std::string_view begin_sql = "BEGIN IMMEDIATE";
constexpr std::string_view commit_sql = "COMMIT";

// Debian builds SQLite with SECURE_DELETE on, which doubles what a release has to write.
constexpr char const* settings =
    "PRAGMA temp_store = MEMORY; PRAGMA secure_delete = OFF; PRAGMA synchronous = NORMAL";
constexpr char const* full_settings =
    "PRAGMA temp_store = MEMORY; PRAGMA secure_delete = OFF; PRAGMA synchronous = FULL";

constexpr std::chrono::microseconds a_while{300};
constexpr int retry_ms = 1;

/// A page at a time: the kernel keeps what was written at once as one piece, and to change a part
/// of a large one takes it longer.
void fill_up(int fd, off_t length) noexcept {
  constexpr off_t piece = 4096;
  constexpr std::array<char, piece> zeros{};
  struct stat file{};
  if (::fstat(fd, &file) != 0) return;
  for (off_t at = file.st_size; at < length;) {
    auto const count = std::min(piece - at % piece, length - at);
    auto const written = ::pwrite(fd, zeros.data(), static_cast<std::size_t>(count), at);
    if (written <= 0) return;
    at += written;
  }
}

}  // namespace

Connection::Connection(Env& env, std::string const& path, Sync sync) : env_(env) {
  constexpr int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE;
  int const result = sqlite3_open_v2(path.c_str(), &handle_, flags, nullptr);
  try {
    if (result != SQLITE_OK) fail(result);
    sqlite3_wal_autocheckpoint(handle_, 0);
    sqlite3_wal_hook(
        handle_,
        [](void* self, sqlite3*, char const*, int pages) {
          static_cast<Connection*>(self)->log_pages_ = pages;
          return SQLITE_OK;
        },
        this);
    sqlite3_busy_handler(
        handle_,
        [](void* self, int tries) { return static_cast<Connection*>(self)->wait(tries) ? 1 : 0; },
        this);
    patience_ = env_.now() + std::chrono::seconds(1);
    execute(sync == Sync::full ? full_settings : settings);
  } catch (...) {
    close();
    throw;
  }
}

Connection::~Connection() { close(); }

void Connection::close() noexcept {
  for (auto const& [text, statement] : statements_) sqlite3_finalize(statement);
  statements_.clear();
  sqlite3_close_v2(handle_);
  handle_ = nullptr;
}

/// A lock is not to be had. Most are held for some tens of microseconds. True: try again.
bool Connection::wait(int tries) {
  auto const now = env_.now();
  if (now >= patience_) return false;
  if (tries == 0) waiting_since_ = now;
  if (now - waiting_since_ < a_while) {
    ::sched_yield();
  } else {
    sqlite3_sleep(retry_ms);
  }
  return true;
}

bool Connection::begin() {
  auto* const statement = prepare(begin_sql);
  int const result = sqlite3_step(statement);
  sqlite3_reset(statement);
  if ((result & 0xff) == SQLITE_BUSY) return false;
  if (result != SQLITE_DONE) fail(result);
  return true;
}

void Connection::commit() { step_once(commit_sql); }

void Connection::rollback() noexcept {
  if (sqlite3_get_autocommit(handle_) != 0) return;
  sqlite3_exec(handle_, "ROLLBACK", nullptr, nullptr, nullptr);
}

void Connection::execute(std::string const& sql) {
  int const result = sqlite3_exec(handle_, sql.c_str(), nullptr, nullptr, nullptr);
  if (result != SQLITE_OK) fail(result);
}

void Connection::checkpoint() {
  int const result =
      sqlite3_wal_checkpoint_v2(handle_, "main", SQLITE_CHECKPOINT_PASSIVE, nullptr, nullptr);
  if (result != SQLITE_OK) fail(result);
}

void Connection::lengthen_log(int pages) const noexcept {
  constexpr off_t head_bytes = 32;
  constexpr off_t frame_bytes = 24 + 4096;
  rlimit most{};
  // Beyond such a limit waits a signal that ends the process.
  if (::getrlimit(RLIMIT_FSIZE, &most) != 0 || most.rlim_cur != RLIM_INFINITY) return;
  // A descriptor of our own: SQLite has no locks on this file that closing it could drop.
  int const fd = ::open(sqlite3_filename_wal(sqlite3_db_filename(handle_, "main")),
                        O_WRONLY | O_CLOEXEC | O_NOFOLLOW);
  if (fd < 0) return;
  fill_up(fd, head_bytes + pages * frame_bytes);
  ::close(fd);
}

bool Connection::read_only() const noexcept { return sqlite3_db_readonly(handle_, "main") != 0; }

std::int64_t Connection::changes() const noexcept { return sqlite3_changes64(handle_); }

void Connection::keep_log_at_close() noexcept {
  sqlite3_db_config(handle_, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, nullptr);
}

sqlite3_stmt* Connection::prepare(std::string_view sql) {
  for (auto const& [text, statement] : statements_) {
    if (text == sql.data()) return statement;
  }
  sqlite3_stmt* statement = nullptr;
  int const result = sqlite3_prepare_v3(handle_, sql.data(), static_cast<int>(sql.size()),
                                        SQLITE_PREPARE_PERSISTENT, &statement, nullptr);
  if (result != SQLITE_OK) fail(result);
  statements_.emplace_back(sql.data(), statement);
  return statement;
}

void Connection::step_once(std::string_view sql) {
  auto* const statement = prepare(sql);
  int const result = sqlite3_step(statement);
  sqlite3_reset(statement);
  if (result != SQLITE_DONE && result != SQLITE_ROW) fail(result);
}

void Connection::fail(int code) const {
  if (handle_ == nullptr) throw DatabaseError(code, sqlite3_errstr(code), 0);
  int const extended = sqlite3_extended_errcode(handle_);
  bool const about_files = (code & 0xff) == SQLITE_IOERR || (code & 0xff) == SQLITE_CANTOPEN ||
                           (code & 0xff) == SQLITE_FULL;
  throw DatabaseError((extended & 0xff) == (code & 0xff) ? extended : code, sqlite3_errmsg(handle_),
                      about_files ? sqlite3_system_errno(handle_) : 0);
}

Query::~Query() { sqlite3_reset(statement_); }

bool Query::next() {
  int const result = sqlite3_step(statement_);
  if (result == SQLITE_ROW) return true;
  if (result != SQLITE_DONE) connection_.fail(result);
  return false;
}

std::int64_t Query::run() {
  while (next()) {
  }
  return connection_.changes();
}

std::int64_t Query::integer(int column) const { return sqlite3_column_int64(statement_, column); }

std::string_view Query::text(int column) const {
  auto const* const bytes = static_cast<char const*>(sqlite3_column_blob(statement_, column));
  if (bytes == nullptr) return {};
  return {bytes, static_cast<std::size_t>(sqlite3_column_bytes(statement_, column))};
}

bool Query::null(int column) const {
  return sqlite3_column_type(statement_, column) == SQLITE_NULL;
}

// An empty view may have no address, which SQLite would take for NULL.
void Query::bind(int index, std::string_view text) {
  char const* const data = text.data() == nullptr ? "" : text.data();
  sqlite3_bind_text64(statement_, index, data, text.size(), SQLITE_STATIC, SQLITE_UTF8);
}

void Query::bind(int index, Blob blob) {
  char const* const data = blob.bytes.data() == nullptr ? "" : blob.bytes.data();
  sqlite3_bind_blob64(statement_, index, data, blob.bytes.size(), SQLITE_STATIC);
}

void Query::bind(int index, std::nullopt_t) { sqlite3_bind_null(statement_, index); }

void Query::bind_integer(int index, std::int64_t value) {
  sqlite3_bind_int64(statement_, index, value);
}

}  // namespace holt::sqlite
