// SPDX-License-Identifier: Apache-2.0
// holt __complete: what the scripts of `holt completion` ask. Answers a candidate per line, its
// help behind a tab; or ":command N" when word N of the line (holt is 0) starts a command to run.

#include "cli/candidates.hpp"
#include "cli/command_line.hpp"
#include "cli/commands.hpp"
#include "cli/exit_code.hpp"
#include "cli/stream.hpp"

#include <fcntl.h>
#include <signal.h>
#include <sys/time.h>
#include <unistd.h>

#include <exception>
#include <string>
#include <vector>

namespace holt::cli {
namespace {

/// Whatever happens (a store on a network that hangs), the person at the keyboard gets an answer,
/// if only that there is none.
void give_up_soon() {
  struct sigaction action{};
  action.sa_handler = [](int) { ::_exit(0); };
  ::sigaction(SIGALRM, &action, nullptr);
  itimerval limit{};
  limit.it_value.tv_usec = 700'000;
  ::setitimer(ITIMER_REAL, &limit, nullptr);
}

int complete(CommandLine& line) {
  std::vector<std::string> words;
  line.command_words(words);
  if (!line.parse()) return number(ExitCode::ok);
  give_up_soon();
  // Nothing may be said in the middle of a line that somebody types.
  ::close(STDERR_FILENO);
  static_cast<void>(::open("/dev/null", O_WRONLY));
  std::string text;
  try {
    auto const found = candidates(words);
    if (found.command_at != 0) text = ":command " + std::to_string(found.command_at + 1) + '\n';
    for (auto const& candidate : found.all) {
      text += candidate.word;
      if (!candidate.help.empty()) text.append("\t").append(candidate.help);
      text += '\n';
    }
  } catch (std::exception const&) {
    text.clear();  // then there is nothing to offer
  }
  write_data(text);
  return number(ExitCode::ok);
}

}  // namespace

constinit Command const complete_command{
    .words = "__complete",
    .synopsis = "-- WORDS...",
    .summary = "Complete the last word of a command line",
    .examples = "  holt __complete -- lock sh\n",
    .details = {},
    .run = &complete,
    .runs_child = false,
    .hidden = true,
    .without_files = true,
};

}  // namespace holt::cli
