// SPDX-License-Identifier: Apache-2.0
#include "engines/postgres/errors.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace holt::postgres {
namespace {

using enum ErrorCode;

constexpr std::string_view role_hint =
    "this server is a standby now: name all servers in the store's address";
constexpr std::string_view rights_hint =
    "the role lacks a right: src/engines/postgres/roles.example.sql has what it needs";
constexpr std::string_view schema_hint =
    "the store's schema is not there, or of another version: `holt migrate --dry-run` shows it";
constexpr std::string_view slots_hint =
    "raise the server's max_connections, or lower pool_max in the store's address";

// The longest row that fits counts; the last one fits everything.
constexpr auto refusals = std::to_array<Refusal>({
    {"08", service_unavailable, true, false, "is the server up and reachable?"},
    {"0A000", invalid_argument, false, false, {}},
    {"22", invalid_argument, false, false, {}},
    {"23", internal, false, false, "somebody else writes into the store's schema"},
    {"25006", service_unavailable, true, false, role_hint},
    {"25", internal, true, false, {}},
    {"26000", service_unavailable, false, true, {}},
    {"28", auth_failed, true, false, "check user, password and pg_hba.conf"},
    {"3D000", invalid_argument, true, false,
     "there is no such database: create it, or name another"},
    {"3F000", invalid_argument, false, false, schema_hint},
    {"40001", service_unavailable, false, true, {}},
    {"40P01", service_unavailable, false, true, {}},
    {"40003", service_unavailable, true, false, {}},
    {"42501", auth_failed, false, false, rights_hint},
    {"42883", invalid_argument, false, false, schema_hint},
    {"42P01", invalid_argument, false, false, schema_hint},
    {"42703", invalid_argument, false, false, schema_hint},
    {"42", internal, false, false, {}},
    {"53100", service_unavailable, false, false, "the server's disk is full: make room"},
    {"53200", rate_limited, false, false,
     "the server is out of memory, or of locks: raise max_locks_per_transaction"},
    {"53300", rate_limited, true, false, slots_hint},
    {"53", rate_limited, false, false, {}},
    {limit_exceeded, rate_limited, false, false, {}},
    {"55P03", service_unavailable, false, false,
     "somebody keeps a lock on the lease's or claim's row, or on its name"},
    {"55000", service_unavailable, true, false, role_hint},
    {"57014", network_timeout, false, false,
     "the statement was cancelled: by a statement_timeout of the role, or by an operator"},
    {"57P01", service_unavailable, true, false, "the server is being shut down"},
    {"57P02", service_unavailable, true, false, "the server crashed and starts again"},
    {"57P03", service_unavailable, true, false, "the server is starting"},
    {"57P05", service_unavailable, true, false, "the server closed an idle connection"},
    {"58", internal, true, false, "the server has trouble with its files: look into its log"},
    {"XX", internal, true, false, "the server's data may be damaged: look into its log"},
    {"", internal, false, false, {}},
});

}  // namespace

Refusal const& refusal_of(std::string_view state) {
  auto const* const whole = std::ranges::find(refusals, state, &Refusal::state);
  if (whole != refusals.end()) return *whole;
  auto const* const kind = std::ranges::find(refusals, state.substr(0, 2), &Refusal::state);
  return kind == refusals.end() ? refusals.back() : *kind;
}

EngineError refused(std::string_view operation, std::string_view state, std::string_view severity,
                    std::string_view text) {
  // Without a state it is libpq that speaks: the connection broke.
  if (state.empty()) {
    return failed(service_unavailable, Outcome::unknown, operation, text, refusal_of("08006").hint);
  }
  auto const& row = refusal_of(state);
  bool const undone = severity == "ERROR" && state != "40003";
  return failed(row.code, undone ? Outcome::not_applied : Outcome::unknown, operation,
                fmt::format("{} (SQLSTATE {})", text, state), row.hint);
}

EngineError failed(ErrorCode code, Outcome outcome, std::string_view operation,
                   std::string_view reason, std::string_view hint) {
  return {code, outcome, "postgres", operation, reason, hint};
}

std::string_view state_of(EngineError const& error) {
  constexpr std::string_view mark = "(SQLSTATE ";
  std::string_view const reason = error.reason();
  auto const at = reason.rfind(mark);
  return at == std::string_view::npos ? std::string_view() : reason.substr(at + mark.size(), 5);
}

}  // namespace holt::postgres
