// SPDX-License-Identifier: Apache-2.0
#pragma once
// The controlling terminal, lent to the command as a shell does: the command runs in its own group
// of processes, and only the foreground group may read the terminal and gets its Ctrl-C.
// Lent from the start when both stdin and stdout are the terminal; else when the command first
// wants it (in `holt run ... | less` the terminal is less's).

#include "cli/descriptor.hpp"

#include <sys/types.h>
#include <termios.h>

namespace holt::cli {

class Terminal {
 public:
  Terminal() noexcept;

  /// The descriptor to lend to the new child, or -1: not now.
  [[nodiscard]] int lend_at_start() noexcept;

  /// True when there is one.
  [[nodiscard]] bool exists() const noexcept { return fd_.is_open(); }

  /// True when the command has or had it, and wants it again after a stop.
  [[nodiscard]] bool is_lent() const noexcept { return lent_; }

  /// Makes `group` the foreground group if ours is now. SIGTTOU must be blocked.
  bool lend(pid_t group) noexcept;

  /// Makes our group the foreground group again if `group` is it.
  void take_back(pid_t group) noexcept;

  /// Undoes what a killed command did to the modes of the terminal.
  void restore_modes() noexcept;

 private:
  Descriptor fd_;
  termios modes_{};
  bool lent_ = false;
};

}  // namespace holt::cli
