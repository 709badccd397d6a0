// SPDX-License-Identifier: Apache-2.0
#pragma once
// Starts the command: no shell, a group of processes of its own, the signals as we found them.

#include "cli/watchdog.hpp"

#include <signal.h>
#include <sys/resource.h>
#include <sys/types.h>

#include <cstddef>
#include <string>
#include <vector>

namespace holt::cli {

struct ChildSetup {
  std::vector<std::string> const& command;      ///< at least one word; found by PATH
  std::vector<std::string> const& environment;  ///< NAME=value, added to ours or instead of ours
  sigset_t const& mask;                         ///< its blocked signals
  struct sigaction const& on_child;             ///< what it does with SIGCHLD
  int terminal = -1;                            ///< whose foreground it becomes; -1: none
  int input = -1;                               ///< its standard input; -1: ours
  int output = -1;                              ///< its standard output; -1: ours
  int errors = -1;                              ///< its standard error; -1: ours
  rlimit const* open_files = nullptr;           ///< how many it may have open; null: as we may
  std::size_t place = 0;                        ///< with the watchdog
};

struct ChildStart {
  pid_t pid = -1;  ///< also the number of its group
  int error = 0;   ///< errno of what went wrong; then there is no child
};

/// Starts it, under the watchdog's eye before its first instruction. Every signal must be blocked,
/// and no signal may have a handler in this process. Call it from the main thread: the child is
/// killed when the thread that started it ends.
[[nodiscard]] ChildStart start_child(ChildSetup const& setup, Watchdog& watchdog);

}  // namespace holt::cli
