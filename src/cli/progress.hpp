// SPDX-License-Identifier: Apache-2.0
#pragma once
// How a command that takes its time tells what it waits for, on stderr: --progress.
//   auto    a line that is kept up to date on a terminal, plain else
//   plain   lines, with growing pauses
//   quiet   nothing
//   json    one object per line

#include "cli/command_line.hpp"

#include <chrono>
#include <optional>
#include <string>

namespace holt::cli {

enum class Progress { line, plain, quiet, json };

class ProgressOption {
 public:
  void declare(CommandLine& line);
  [[nodiscard]] Progress form() const;

 private:
  std::optional<std::string> text_;
};

/// How long to be silent after a line when the pause before it was `last`: lines of a log come with
/// growing pauses.
[[nodiscard]] std::chrono::milliseconds pause_after(Progress form, std::chrono::milliseconds last);

/// Cut to one line of the terminal: what wraps around could not be replaced by the next one.
[[nodiscard]] std::string fitting(std::string const& line);

}  // namespace holt::cli
