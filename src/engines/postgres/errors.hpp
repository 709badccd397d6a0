// SPDX-License-Identifier: Apache-2.0
#pragma once
// What the server refuses (SQLSTATE) and what goes wrong on the way to it, in our words. One table.

#include <holt/error.hpp>

#include <string_view>

namespace holt::postgres {

/// What a SQLSTATE means.
struct Refusal {
  std::string_view state;  ///< five characters, or the first two of a class; empty: anything else
  ErrorCode code;
  bool leave;  ///< this server is the wrong one now, or goes away: connect anew
  bool again;  ///< the same statement may succeed at once, if it is sent again
  std::string_view hint;
};

/// The row for a SQLSTATE; one for "anything else" always fits.
[[nodiscard]] Refusal const& refusal_of(std::string_view state);

/// The exception for a refusal. An ERROR undoes the transaction, so nothing was done, unless the
/// server says that it cannot tell; a FATAL ends the connection, perhaps after the commit.
[[nodiscard]] EngineError refused(std::string_view operation, std::string_view state,
                                  std::string_view severity, std::string_view text);

/// The SQLSTATE that an error of refused() was made of; empty: none.
[[nodiscard]] std::string_view state_of(EngineError const& error);

/// A lock was not to be had in the time given: nothing was done.
inline constexpr std::string_view lock_not_available = "55P03";
/// Raised by our own functions: more is not possible, and nothing was done.
inline constexpr std::string_view limit_exceeded = "54000";
inline constexpr std::string_view insufficient_privilege = "42501";

/// The exception for what is not an answer of the server.
[[nodiscard]] EngineError failed(ErrorCode code, Outcome outcome, std::string_view operation,
                                 std::string_view reason, std::string_view hint = {});

}  // namespace holt::postgres
