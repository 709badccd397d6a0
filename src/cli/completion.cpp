// SPDX-License-Identifier: Apache-2.0
// holt completion: scripts for shells that ask `holt __complete`, so that they never grow old. They
// stand in the folder completion, from where they are installed too.

#include "cli/command_line.hpp"
#include "cli/commands.hpp"
#include "cli/exit_code.hpp"
#include "cli/stream.hpp"
#include "completion_scripts.hpp"

#include <array>
#include <string>
#include <string_view>

namespace holt::cli {
namespace {

constexpr std::array<std::string_view, 3> shells{"bash", "zsh", "fish"};
constexpr std::array scripts{bash_script, zsh_script, fish_script};

int completion(CommandLine& line) {
  std::string shell;
  line.word("SHELL", shells, shell);
  if (!line.parse()) return number(ExitCode::ok);
  for (std::size_t i = 0; i < shells.size(); ++i) {
    if (shell == shells.at(i)) write_data(scripts.at(i));
  }
  return number(ExitCode::ok);
}

}  // namespace

constinit Command const completion_command{
    .words = "completion",
    .synopsis = "bash|zsh|fish",
    .summary = "Print a script that completes holt's commands in a shell",
    .examples =
        "  source <(holt completion bash)              for this shell; or in ~/.bashrc\n"
        "  source <(holt completion zsh)               in ~/.zshrc, after compinit\n"
        "  holt completion fish | source               in ~/.config/fish/config.fish\n",
    .details =
        "Completes commands, flags and their values, and the names of locks that are held now.\n"
        "make install and the Debian package put the scripts where the shells look for them, for\n"
        "all users; then this is not needed.\n",
    .run = &completion,
    .without_files = true,
};

}  // namespace holt::cli
