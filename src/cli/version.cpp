// SPDX-License-Identifier: Apache-2.0
// holt version

#include "cli/command_line.hpp"
#include "cli/commands.hpp"
#include "cli/exit_code.hpp"
#include "cli/output.hpp"
#include "cli/stream.hpp"

#include <holt/open.hpp>

#include <string>

namespace holt::cli {
namespace {

int show_version(CommandLine& line) {
  OutputOption output;
  output.declare(line);
  if (!line.parse()) return number(ExitCode::ok);
  std::string const number_text(holt::version());
  auto const form = output.form();
  if (form == Output::table) {
    write_data("holt " + number_text + '\n');
  } else {
    write_record(form, {{"version", "version", number_text, number_text}});
  }
  return number(ExitCode::ok);
}

}  // namespace

constinit Command const version_command{
    .words = "version",
    .synopsis = "[options]",
    .summary = "Show the version",
    .examples =
        "  holt version\n"
        "  holt version -o json\n",
    .details = {},
    .run = &show_version,
    .guide = "help",
};

}  // namespace holt::cli
