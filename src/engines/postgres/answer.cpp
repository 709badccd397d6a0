// SPDX-License-Identifier: Apache-2.0
#include "engines/postgres/answer.hpp"

namespace holt::postgres {
namespace {

/// libpq says the cause first and explains it in further lines.
std::string first_line(std::string_view text) {
  return std::string(text.substr(0, text.find('\n')));
}

}  // namespace

bool Answer::is_null(int row, int column) const {
  return PQgetisnull(result_.get(), row, column) != 0;
}

std::string_view Answer::text(int row, int column) const {
  return {PQgetvalue(result_.get(), row, column),
          static_cast<std::size_t>(PQgetlength(result_.get(), row, column))};
}

std::int64_t Answer::integer(int row, int column) const {
  auto const bytes = text(row, column);
  std::uint64_t value = 0;
  for (char const byte : bytes) value = value << 8U | static_cast<unsigned char>(byte);
  if (bytes.size() == sizeof(std::int32_t)) {
    return static_cast<std::int32_t>(static_cast<std::uint32_t>(value));
  }
  return static_cast<std::int64_t>(value);
}

bool Answer::flag(int row, int column) const {
  auto const bytes = text(row, column);
  return !bytes.empty() && bytes[0] != '\0';
}

std::string Answer::field(int which) const {
  char const* const value = PQresultErrorField(result_.get(), which);
  return value == nullptr ? std::string() : value;
}

std::string Answer::message() const {
  auto const text = field(PG_DIAG_MESSAGE_PRIMARY);
  return first_line(text.empty() ? PQresultErrorMessage(result_.get()) : text.c_str());
}

std::string trouble_of(PGconn const* connection) { return first_line(PQerrorMessage(connection)); }

}  // namespace holt::postgres
