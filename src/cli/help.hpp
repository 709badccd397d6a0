// SPDX-License-Identifier: Apache-2.0
#pragma once
// Help texts: examples first, then options.

#include "cli/command_line.hpp"

#include <string>
#include <string_view>

namespace holt::cli {

/// The help of one command, with the options it has declared.
[[nodiscard]] std::string command_help(CommandLine const& line);

/// What the commands that begin with `group` do, in one sentence.
[[nodiscard]] std::string_view group_summary(std::string_view group);

/// Examples of them, in lines.
[[nodiscard]] std::string_view group_examples(std::string_view group);

/// The commands that begin with `group` ("lock"); empty: all of holt.
[[nodiscard]] std::string group_help(std::string_view group);

}  // namespace holt::cli
