// SPDX-License-Identifier: Apache-2.0
// holt __docs: writes the documentation that is made from the commands.

#include "cli/command_line.hpp"
#include "cli/commands.hpp"
#include "cli/exit_code.hpp"
#include "cli/failure.hpp"
#include "cli/manual.hpp"

#include <filesystem>
#include <fstream>
#include <string>

namespace holt::cli {
namespace {

void write(std::filesystem::path const& path, std::string const& text) {
  std::ofstream file(path, std::ios::binary | std::ios::trunc);
  file << text;
  file.close();
  if (!file) throw Failure(ExitCode::failed, "cannot write " + path.string());
}

int write_docs(CommandLine& line) {
  std::string folder;
  line.word("FOLDER", folder);
  if (!line.parse()) return number(ExitCode::ok);
  std::filesystem::path const docs(folder);
  std::filesystem::create_directories(docs / "man");
  write(docs / "man/holt.1", manual_page());
  for (auto const* const command : all_commands()) {
    if (!command->hidden) write(docs / "man" / (page_name(*command) + ".1"), manual_page(*command));
  }
  write(docs / "commands.md", command_reference());
  return number(ExitCode::ok);
}

}  // namespace

constinit Command const docs_command{
    .words = "__docs",
    .synopsis = "FOLDER",
    .summary = "Write manual pages to FOLDER/man and FOLDER/commands.md",
    .examples = "  holt __docs docs\n",
    .details = {},
    .run = &write_docs,
    .runs_child = false,
    .hidden = true,
    .without_files = true,
};

}  // namespace holt::cli
