// SPDX-License-Identifier: Apache-2.0
#pragma once
// What a statement answered, read with the types that it was asked for.

#include <libpq-fe.h>

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

namespace holt::postgres {

class Answer {
 public:
  Answer() = default;
  explicit Answer(PGresult* result) : result_(result) {}

  [[nodiscard]] explicit operator bool() const { return result_ != nullptr; }
  [[nodiscard]] int rows() const { return PQntuples(result_.get()); }
  [[nodiscard]] bool is_null(int row, int column) const;
  /// Text or bytes; empty for NULL. Lives as long as the answer.
  [[nodiscard]] std::string_view text(int row, int column) const;
  /// int4 or int8, whichever it is; 0 for NULL.
  [[nodiscard]] std::int64_t integer(int row, int column) const;
  [[nodiscard]] bool flag(int row, int column) const;

  // Of a result that is an error, or a notice.
  [[nodiscard]] ExecStatusType status() const { return PQresultStatus(result_.get()); }
  [[nodiscard]] std::string state() const { return field(PG_DIAG_SQLSTATE); }
  [[nodiscard]] std::string severity() const { return field(PG_DIAG_SEVERITY_NONLOCALIZED); }
  /// What the server says, in one line.
  [[nodiscard]] std::string message() const;

 private:
  struct Clear {
    void operator()(PGresult* result) const { PQclear(result); }
  };

  [[nodiscard]] std::string field(int which) const;

  std::unique_ptr<PGresult, Clear> result_;
};

/// The first line of what libpq says of a connection.
[[nodiscard]] std::string trouble_of(PGconn const* connection);

}  // namespace holt::postgres
