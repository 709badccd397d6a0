// SPDX-License-Identifier: Apache-2.0
#include "cli/terminal.hpp"

#include "cli/descriptor.hpp"

#include <fcntl.h>
#include <sys/types.h>
#include <termios.h>
#include <unistd.h>

namespace holt::cli {

Terminal::Terminal() noexcept : fd_(::open("/dev/tty", O_RDWR | O_CLOEXEC | O_NOCTTY)) {
  if (exists()) ::tcgetattr(fd_.get(), &modes_);
}

int Terminal::lend_at_start() noexcept {
  bool const interactive = exists() && ::isatty(STDIN_FILENO) == 1 && ::isatty(STDOUT_FILENO) == 1;
  if (!interactive || ::tcgetpgrp(fd_.get()) != ::getpgrp()) return -1;
  lent_ = true;
  return fd_.get();
}

bool Terminal::lend(pid_t group) noexcept {
  if (!exists() || ::tcgetpgrp(fd_.get()) != ::getpgrp()) return false;
  lent_ = ::tcsetpgrp(fd_.get(), group) == 0;
  return lent_;
}

void Terminal::take_back(pid_t group) noexcept {
  if (exists() && ::tcgetpgrp(fd_.get()) == group) ::tcsetpgrp(fd_.get(), ::getpgrp());
}

void Terminal::restore_modes() noexcept {
  if (exists() && ::tcgetpgrp(fd_.get()) == ::getpgrp()) {
    ::tcsetattr(fd_.get(), TCSADRAIN, &modes_);
  }
}

}  // namespace holt::cli
