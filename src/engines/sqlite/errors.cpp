// SPDX-License-Identifier: Apache-2.0
#include "engines/sqlite/errors.hpp"

#include <fmt/format.h>
#include <sqlite3.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

namespace holt::sqlite {
namespace {

struct Meaning {
  int code;  ///< a primary or an extended result code; the first that fits is used
  ErrorCode error;
  Outcome at_commit;
  std::string_view hint;
};

constexpr std::string_view damaged_hint =
    "move the file and its -wal and -shm away and open again: a new store is made. Leases are "
    "short-lived, and the fences of a new store start above the old ones";

constexpr auto meanings = std::to_array<Meaning>({
    {SQLITE_BUSY, ErrorCode::network_timeout, Outcome::not_applied,
     "another program keeps the file locked; only Holt may write to it"},
    {SQLITE_LOCKED, ErrorCode::network_timeout, Outcome::not_applied, ""},
    {SQLITE_FULL, ErrorCode::service_unavailable, Outcome::not_applied,
     "the disk is full or a quota is used up: make room, then try again"},
    {SQLITE_READONLY_DBMOVED, ErrorCode::service_unavailable, Outcome::not_applied,
     "the file was moved or deleted while it was open: open it again"},
    {SQLITE_READONLY, ErrorCode::auth_failed, Outcome::not_applied,
     "the file, its folder and its -wal and -shm must be writable for this user"},
    {SQLITE_PERM, ErrorCode::auth_failed, Outcome::not_applied, "check who owns the file"},
    {SQLITE_AUTH, ErrorCode::auth_failed, Outcome::not_applied, "check who owns the file"},
    {SQLITE_CANTOPEN, ErrorCode::service_unavailable, Outcome::not_applied,
     "its folder must exist and be writable for this user"},
    {SQLITE_NOTADB, ErrorCode::internal, Outcome::not_applied, damaged_hint},
    {SQLITE_CORRUPT, ErrorCode::internal, Outcome::unknown, damaged_hint},
    {SQLITE_IOERR, ErrorCode::service_unavailable, Outcome::unknown,
     "look at the system's log for errors of the disk"},
    {SQLITE_NOMEM, ErrorCode::rate_limited, Outcome::not_applied, "there is not enough memory"},
    {SQLITE_CONSTRAINT_DATATYPE, ErrorCode::invalid_argument, Outcome::not_applied,
     "the number would not fit into 64 bits"},
    {SQLITE_PROTOCOL, ErrorCode::service_unavailable, Outcome::not_applied,
     "the file's locks do not work; is it on a local file system?"},
});

constexpr Meaning anything_else{0, ErrorCode::internal, Outcome::unknown, ""};

Meaning const& meaning_of(DatabaseError const& error) {
  auto const found = std::ranges::find_if(meanings, [&](Meaning const& meaning) {
    return meaning.code == error.code() || meaning.code == error.primary();
  });
  return found == meanings.end() ? anything_else : *found;
}

bool out_of_descriptors(int number) { return number == EMFILE || number == ENFILE; }

constexpr std::string_view descriptors_hint =
    "raise the limit of open files (ulimit -n) or close some";

}  // namespace

DatabaseError::DatabaseError(int code, std::string const& text, int system_error)
    : std::runtime_error(text), code_(code), system_error_(system_error) {}

bool DatabaseError::poisons_connection() const noexcept {
  return primary() == SQLITE_IOERR || primary() == SQLITE_CORRUPT || primary() == SQLITE_NOTADB ||
         primary() == SQLITE_CANTOPEN || primary() == SQLITE_PROTOCOL;
}

EngineError engine_error(DatabaseError const& error, std::string_view operation,
                         std::string_view path, During during) {
  auto const& meaning = meaning_of(error);
  auto const outcome = during == During::commit ? meaning.at_commit : Outcome::not_applied;
  auto reason = fmt::format("{}: {}", path, error.what());
  if (error.system_error() != 0) {
    reason += fmt::format(" ({})", std::strerror(error.system_error()));
  }
  if (out_of_descriptors(error.system_error())) {
    return {ErrorCode::rate_limited, outcome, "sqlite", operation, reason, descriptors_hint};
  }
  return {meaning.error, outcome, "sqlite", operation, reason, meaning.hint};
}

EngineError system_error(int number, std::string_view operation, std::string_view what,
                         std::string_view path) {
  auto const reason = fmt::format("{} {}: {}", what, path, std::strerror(number));
  switch (number) {
    case EACCES:
    case EPERM:
      return store_error(ErrorCode::auth_failed, operation, reason,
                         "check who may write there, or choose another place: "
                         "--store sqlite:///path/to/holt.db");
    case EMFILE:
    case ENFILE:
      return store_error(ErrorCode::rate_limited, operation, reason, descriptors_hint);
    case ENOSPC:
    case EDQUOT:
      return store_error(ErrorCode::service_unavailable, operation, reason,
                         "the disk is full or a quota is used up: make room, then try again");
    case EROFS:
      return store_error(ErrorCode::service_unavailable, operation, reason,
                         "the file system is read-only; choose another place: "
                         "--store sqlite:///path/to/holt.db");
    default:
      return store_error(ErrorCode::service_unavailable, operation, reason,
                         "choose another place: --store sqlite:///path/to/holt.db");
  }
}

EngineError store_error(ErrorCode code, std::string_view operation, std::string_view reason,
                        std::string_view hint) {
  return {code, Outcome::not_applied, "sqlite", operation, reason, hint};
}

}  // namespace holt::sqlite
