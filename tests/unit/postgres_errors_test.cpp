// SPDX-License-Identifier: Apache-2.0
// What SQLSTATEs mean: the table in engines/postgres/errors.cpp.

#include "engines/postgres/errors.hpp"

#include <gtest/gtest.h>

namespace holt::postgres {
namespace {

using enum ErrorCode;
using enum Outcome;

struct Row {
  std::string_view state;
  ErrorCode code;
  bool leave;
  bool again;
};

constexpr Row rows[] = {
    {"08006", service_unavailable, true, false},
    {"22003", invalid_argument, false, false},
    {"22021", invalid_argument, false, false},
    {"23505", internal, false, false},
    {"25006", service_unavailable, true, false},
    {"28P01", auth_failed, true, false},
    {"3D000", invalid_argument, true, false},
    {"3F000", invalid_argument, false, false},
    {"40001", service_unavailable, false, true},
    {"40P01", service_unavailable, false, true},
    {"42501", auth_failed, false, false},
    {"42P01", invalid_argument, false, false},
    {"42601", internal, false, false},
    {"53100", service_unavailable, false, false},
    {"53200", rate_limited, false, false},
    {"53300", rate_limited, true, false},
    {"55P03", service_unavailable, false, false},
    {"57014", network_timeout, false, false},
    {"57P01", service_unavailable, true, false},
    {"57P03", service_unavailable, true, false},
    {"58030", internal, true, false},
    {"XX001", internal, true, false},
    {"P0001", internal, false, false},
    {"", internal, false, false},
};

TEST(PostgresErrorsTest, EachStateHasItsMeaning) {
  for (auto const& row : rows) {
    auto const& refusal = refusal_of(row.state);
    EXPECT_EQ(refusal.code, row.code) << row.state;
    EXPECT_EQ(refusal.leave, row.leave) << row.state;
    EXPECT_EQ(refusal.again, row.again) << row.state;
  }
}

TEST(PostgresErrorsTest, AnErrorUndoesTheTransactionAndAFatalMayNot) {
  EXPECT_EQ(refused("acquire", "40P01", "ERROR", "deadlock detected").outcome(), not_applied);
  EXPECT_EQ(refused("acquire", "40003", "ERROR", "who knows").outcome(), unknown);
  EXPECT_EQ(refused("acquire", "57P01", "FATAL", "terminating connection").outcome(), unknown);
  EXPECT_EQ(refused("acquire", "", "", "it broke").outcome(), unknown);
}

TEST(PostgresErrorsTest, TheTextHasTheState) {
  EXPECT_EQ(refused("acquire", "53100", "ERROR", "disk full").reason(),
            "disk full (SQLSTATE 53100)");
}

}  // namespace
}  // namespace holt::postgres
