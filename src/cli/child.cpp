// SPDX-License-Identifier: Apache-2.0
#include "cli/child.hpp"

#include "cli/watchdog.hpp"

#include <signal.h>
#include <sys/prctl.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <string>
#include <string_view>
#include <vector>

namespace holt::cli {
namespace {

std::string_view variable_of(std::string_view setting) {
  return setting.substr(0, setting.find('='));
}

std::vector<char*> pointers(std::vector<std::string> const& texts) {
  std::vector<char*> result;
  result.reserve(texts.size() + 1);
  for (auto const& text : texts) result.push_back(const_cast<char*>(text.c_str()));
  return result;
}

std::vector<char*> environment_with(std::vector<std::string> const& settings) {
  auto result = pointers(settings);
  for (char** entry = environ; *entry != nullptr; ++entry) {
    bool const replaced = std::ranges::any_of(settings, [&](std::string const& setting) {
      return variable_of(setting) == variable_of(*entry);
    });
    if (!replaced) result.push_back(*entry);
  }
  result.push_back(nullptr);
  return result;
}

/// Everything between vfork and exec. It shares our memory and our stack, so it only makes system
/// calls. Answers errno.
int become_command(ChildSetup const& setup, Watchdog& watchdog, char** words, char** environment,
                   pid_t parent) noexcept {
  pid_t const self = ::getpid();
  if (::setpgid(0, 0) != 0) return errno;
  if (!watchdog.enlist(self, setup.place)) return ETIME;
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != parent) return ESRCH;  // it died before that took effect
  if (setup.terminal >= 0) ::tcsetpgrp(setup.terminal, self);
  if (setup.input >= 0 && ::dup2(setup.input, STDIN_FILENO) < 0) return errno;
  if (setup.output >= 0 && ::dup2(setup.output, STDOUT_FILENO) < 0) return errno;
  if (setup.errors >= 0 && ::dup2(setup.errors, STDERR_FILENO) < 0) return errno;
  if (setup.open_files != nullptr) ::setrlimit(RLIMIT_NOFILE, setup.open_files);
  ::sigaction(SIGCHLD, &setup.on_child, nullptr);
  ::sigprocmask(SIG_SETMASK, &setup.mask, nullptr);
  ::execvpe(words[0], words, environment);
  return errno;
}

}  // namespace

ChildStart start_child(ChildSetup const& setup, Watchdog& watchdog) {
  auto words = pointers(setup.command);
  words.push_back(nullptr);
  auto environment = environment_with(setup.environment);
  int volatile error = 0;
  pid_t const parent = ::getpid();
  // vfork, as posix_spawn does it inside: copying our page tables would cost more than the lock.
  // posix_spawn itself can neither enlist the child nor set its parent-death signal.
  // NOLINTBEGIN(*vfork,*Vfork,bugprone-unsafe-functions): the child makes system calls only
  pid_t const pid = ::vfork();
  if (pid == 0) {
    error = become_command(setup, watchdog, words.data(), environment.data(), parent);
    ::_exit(127);
  }
  // NOLINTEND(*vfork,*Vfork,bugprone-unsafe-functions): as above
  if (pid < 0) return {.error = errno};
  if (error == 0) return {.pid = pid};
  watchdog.stand_down(setup.place);
  ::waitpid(pid, nullptr, 0);
  return {.error = error};
}

}  // namespace holt::cli
