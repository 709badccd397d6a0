// SPDX-License-Identifier: Apache-2.0
#pragma once
// How a command gives up: an exit code, what failed, and what a person could try next.
// Thrown by commands, caught once in main.cpp, which prints
//   holt: <message>
//   Try: <hint>           once per line of it

#include "cli/exit_code.hpp"

#include <stdexcept>
#include <string>
#include <utility>

namespace holt::cli {

class Failure : public std::runtime_error {
 public:
  Failure(ExitCode code, std::string const& message, std::string hint = {})
      : std::runtime_error(message), code_(code), hint_(std::move(hint)) {}

  [[nodiscard]] ExitCode code() const noexcept { return code_; }
  [[nodiscard]] std::string const& hint() const noexcept { return hint_; }

 private:
  ExitCode code_;
  std::string hint_;
};

/// The command line itself is wrong.
class UsageError : public Failure {
 public:
  explicit UsageError(std::string const& message, std::string hint = {})
      : Failure(ExitCode::usage, message, std::move(hint)) {}
};

}  // namespace holt::cli
