// SPDX-License-Identifier: Apache-2.0
#pragma once
// The documentation that is made from the commands: manual pages and one page of Markdown. What
// they say stands with the commands (command_line.hpp), beside what --help says.

#include "cli/command_line.hpp"

#include <string>
#include <string_view>

namespace holt::cli {

/// holt(1): what it is, all commands, settings, exit codes.
[[nodiscard]] std::string manual_page();

/// The page of one command, holt-lock-try(1).
[[nodiscard]] std::string manual_page(Command const& command);

/// "holt-lock-try"
[[nodiscard]] std::string page_name(Command const& command);

/// All commands in Markdown.
[[nodiscard]] std::string command_reference();

/// What holt is and how it is used, in prose.hpp's notation.
extern std::string_view const manual_description;
extern std::string_view const manual_notes;

}  // namespace holt::cli
