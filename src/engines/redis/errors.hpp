// SPDX-License-Identifier: Apache-2.0
#pragma once
// What the server refuses and what goes wrong on the way to it, in our words. One table.

#include <holt/error.hpp>

#include <string_view>

namespace holt::redis {

/// What an error reply means.
struct Refusal {
  std::string_view starts_with;
  ErrorCode code;
  Outcome outcome;
  bool leave;  ///< this server is the wrong one now: connect anew
  std::string_view hint;
};

/// The row for an error reply; one for "anything else" always fits.
[[nodiscard]] Refusal const& refusal_of(std::string_view error);

/// The exception for an error reply.
[[nodiscard]] EngineError refused(std::string_view operation, std::string_view error);

/// The exception for what is not an answer of the server.
[[nodiscard]] EngineError failed(ErrorCode code, Outcome outcome, std::string_view operation,
                                 std::string_view reason, std::string_view hint = {});

/// What is stored of a name is not what the layout says.
[[noreturn]] void not_ours(std::string_view operation, std::string_view name);

}  // namespace holt::redis
