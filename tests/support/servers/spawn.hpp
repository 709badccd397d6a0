// SPDX-License-Identifier: Apache-2.0
#pragma once
// spawn(): starts a program as a child that does not outlive this process, however that ends: the
// kernel then sends the child a signal. It would do so at the end of the *thread* that made the
// child, so one thread of this process, which never ends, makes them all.
//
// The child leads a process group of its own, has no descriptor of ours but its output, and reads
// nothing.

#include <sys/types.h>

#include <csignal>
#include <string>
#include <utility>
#include <vector>

namespace holt::test {

struct SpawnPlan {
  std::vector<std::string> command;  ///< the program first, looked up in PATH
  std::vector<std::pair<std::string, std::string>> environment;  ///< added to ours
  std::string folder;                                            ///< where it works
  std::string log;             ///< file that its output is appended to
  std::string user;            ///< whom it runs as; empty: as we do. Only root can choose
  int death_signal = SIGKILL;  ///< what it gets when we are gone
};

/// Its pid, which is also its group. Throws std::system_error or std::runtime_error: no such
/// program, user or folder. Any thread.
[[nodiscard]] pid_t spawn(SpawnPlan const& plan);

/// Makes `path` and all in it belong to `user`, so that a server that runs as that user can work
/// there. Throws when there is no such user.
void give_to(std::string const& user, std::string const& path);

}  // namespace holt::test
