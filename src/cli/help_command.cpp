// SPDX-License-Identifier: Apache-2.0
// holt help

#include "cli/command_line.hpp"
#include "cli/commands.hpp"
#include "cli/exit_code.hpp"
#include "cli/help.hpp"
#include "cli/stream.hpp"

#include <string>
#include <vector>

namespace holt::cli {
namespace {

int show_help(CommandLine& line) {
  std::string first;
  std::string second;
  line.optional_word("COMMAND", first);
  line.optional_word("SUBCOMMAND", second);
  if (!line.parse()) return number(ExitCode::ok);
  if (first.empty() || (second.empty() && is_group(first) && find_command(first) == nullptr)) {
    write_data(group_help(first));
    return number(ExitCode::ok);
  }
  auto const words = second.empty() ? first : first + ' ' + second;
  auto const* const command = find_command(words);
  if (command == nullptr) {
    bool const in_group = !second.empty() && is_group(first);
    refuse_command(in_group ? first : "", in_group ? second : first);
  }
  CommandLine asked(*command, {"--help"});
  return command->run(asked);
}

}  // namespace

constinit Command const help_command{
    .words = "help",
    .synopsis = "[COMMAND [SUBCOMMAND]]",
    .summary = "Show help on a command",
    .examples =
        "  holt help\n"
        "  holt help run\n"
        "  holt help lock break\n",
    .details = {},
    .run = &show_help,
    .without_files = true,
};

}  // namespace holt::cli
