// SPDX-License-Identifier: Apache-2.0
// What error replies mean: every row of the table in engines/redis/errors.cpp, with the texts that
// servers of version 6 and 7 really send.

#include "engines/redis/errors.hpp"

#include <gtest/gtest.h>

#include <string>

namespace holt::redis {
namespace {

using enum ErrorCode;
using enum Outcome;

struct Row {
  std::string_view text;
  ErrorCode code;
  Outcome outcome;
  bool retryable;
  bool leave;
};

constexpr Row rows[] = {
    {"LOADING Redis is loading the dataset in memory", service_unavailable, not_applied, true,
     false},
    {"READONLY You can't write against a read only replica.", service_unavailable, not_applied,
     true, true},
    {"MASTERDOWN Link with MASTER is down and replica-serve-stale-data is set to 'no'.",
     service_unavailable, not_applied, true, true},
    {"CLUSTERDOWN The cluster is down", service_unavailable, not_applied, true, true},
    {"TRYAGAIN Multiple keys request during rehashing of slot", service_unavailable, not_applied,
     true, false},
    {"MOVED 3999 127.0.0.1:6381", invalid_argument, not_applied, false, false},
    {"ASK 3999 127.0.0.1:6381", invalid_argument, not_applied, false, false},
    {"CROSSSLOT Keys in request don't hash to the same slot", invalid_argument, not_applied, false,
     false},
    {"OOM command not allowed when used memory > 'maxmemory'.", rate_limited, not_applied, true,
     false},
    {"MISCONF Redis is configured to save RDB snapshots, but it's currently unable to persist",
     service_unavailable, not_applied, true, false},
    {"NOREPLICAS Not enough good replicas to write.", service_unavailable, not_applied, true,
     false},
    {"NOAUTH Authentication required.", auth_failed, not_applied, false, true},
    {"WRONGPASS invalid username-password pair or user is disabled.", auth_failed, not_applied,
     false, true},
    {"ERR invalid password", auth_failed, not_applied, false, true},
    {"ERR AUTH <password> called without any password configured for the default user. Are you "
     "sure your configuration is correct?",
     auth_failed, not_applied, false, true},
    {"ERR Client sent AUTH, but no password is set", auth_failed, not_applied, false, true},
    {"DENIED Redis is running in protected mode because protected mode is enabled", auth_failed,
     not_applied, false, true},
    {"NOPERM this user has no permissions to run the 'evalsha' command", auth_failed, not_applied,
     false, false},
    {"BUSY Redis is busy running a script. You can only call SCRIPT KILL or SHUTDOWN NOSAVE.",
     service_unavailable, not_applied, true, false},
    {"WRONGTYPE Operation against a key holding the wrong kind of value", internal, unknown, false,
     false},
    {"ERR max number of clients reached", rate_limited, not_applied, true, true},
    {"ERR DB index is out of range", invalid_argument, not_applied, false, true},
    {"ERR increment or decrement would overflow", invalid_argument, not_applied, false, false},
    {"ERR unknown command 'EVALSHA', with args beginning with: ", invalid_argument, not_applied,
     false, false},
    {"ERR unknown command `EVALSHA`, with args beginning with: ", invalid_argument, not_applied,
     false, false},
    {"FENCES are used up", internal, not_applied, false, false},
    {"VERSIONS are used up", internal, not_applied, false, false},
    {"ERR something new", internal, unknown, false, false},
    {"", internal, unknown, false, false},
};

TEST(RedisErrorsTest, EveryRowOfTheTable) {
  for (auto const& row : rows) {
    auto const error = refused("acquire", row.text);
    EXPECT_EQ(error.code(), row.code) << row.text;
    EXPECT_EQ(error.outcome(), row.outcome) << row.text;
    EXPECT_EQ(error.retryable(), row.retryable) << row.text;
    EXPECT_EQ(refusal_of(row.text).leave, row.leave) << row.text;
    EXPECT_EQ(error.engine(), "redis");
    EXPECT_EQ(error.operation(), "acquire");
    EXPECT_EQ(error.reason(), row.text);
    bool const has_hint = !error.hint().empty();
    EXPECT_EQ(has_hint, row.code != internal || !(row.text.empty() || row.text.starts_with("ERR")))
        << row.text;
  }
}

/// Version 7 says where in the script, behind the error.
TEST(RedisErrorsTest, ErrorsInAScriptOfVersion7) {
  EXPECT_EQ(refusal_of("WRONGTYPE Operation against a key holding the wrong kind of value script: "
                       "f54e2377, on @user_script:48.")
                .code,
            internal);
  EXPECT_EQ(refusal_of("OOM command not allowed when used memory > 'maxmemory'. script: f54e2377, "
                       "on @user_script:20.")
                .code,
            rate_limited);
}

/// Version 6 puts its own words before it.
TEST(RedisErrorsTest, ErrorsInAScriptOfVersion6) {
  auto const in_script = [](std::string const& error) {
    return "ERR Error running script (call to f_5e3b): @user_script:12: " + error;
  };
  EXPECT_EQ(refusal_of(in_script("-OOM command not allowed when used memory > 'maxmemory'.")).code,
            rate_limited);
  auto const& readonly =
      refusal_of(in_script("-READONLY You can't write against a read only replica."));
  EXPECT_EQ(readonly.code, service_unavailable);
  EXPECT_TRUE(readonly.leave);
  EXPECT_EQ(refusal_of(in_script("-MISCONF Redis is configured to save RDB snapshots")).code,
            service_unavailable);
  EXPECT_EQ(refusal_of(in_script("WRONGTYPE Operation against a key holding the wrong kind")).code,
            internal);
  EXPECT_EQ(refusal_of(in_script("user_script:12: attempt to compare nil with number")).code,
            internal);
}

/// The script had begun: what it did before stays done.
TEST(RedisErrorsTest, APermissionThatIsMissingInsideAScriptLeavesTheOutcomeOpen) {
  for (auto const* const text :
       {"NOPERM ACL failure in script: User worker has no permissions to access a channel used as "
        "an argument script: f54e, on @user_script:73.",
        "ERR ACL failure in script: User worker has no permissions to run the 'publish' command "
        "script: f54e, on @user_script:73.",
        "ERR Error running script (call to f_5e3b): @user_script:7: -NOPERM The user executing the "
        "script can't run this command or subcommand"}) {
    auto const& row = refusal_of(text);
    EXPECT_EQ(row.code, auth_failed) << text;
    EXPECT_EQ(row.outcome, unknown) << text;
    EXPECT_FALSE(row.hint.empty());
  }
}

}  // namespace
}  // namespace holt::redis
