// SPDX-License-Identifier: Apache-2.0
#include "cli/refusal.hpp"

#include "cli/exit_code.hpp"
#include "cli/stream.hpp"
#include "cli/text.hpp"

#include <cerrno>
#include <system_error>

namespace holt::cli {

int refuse_to_start(std::string const& command, int error) {
  talk_of_trouble("cannot run " + in_quotes(command) + ": " +
                  std::system_category().message(error));
  if (error == ENOENT) talk_of_a_way_out("the command's full path, or look at PATH");
  if (error == EACCES) talk_of_a_way_out("a file that is executable (chmod +x)");
  return number(error == ENOENT ? ExitCode::command_missing : ExitCode::not_executable);
}

}  // namespace holt::cli
