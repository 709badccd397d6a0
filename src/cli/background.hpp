// SPDX-License-Identifier: Apache-2.0
#pragma once
// A process that goes on in the background when the command that started it has ended.
//   Background background;
//   if (!background.is_child()) return background.wait(1min);
//   ...                       // still talks to the user's terminal, and fails as a command fails
//   background.go_on();       // up and running: wait() answers 0
// The child is this program, in a session of its own, with no descriptors but the standard ones.
// Until go_on() the two are one command: signals reach the child, and its end is the parent's.

#include "cli/descriptor.hpp"
#include "cli/signals.hpp"

#include <sys/types.h>

#include <chrono>

namespace holt::cli {

class Background {
 public:
  /// Forks: call it while this process has one thread. Throws std::system_error.
  Background();

  [[nodiscard]] bool is_child() const noexcept { return child_ == 0; }

  /// In the parent: waits for go_on() or the child's end, and answers the exit status. A child that
  /// needs longer is ended: Failure.
  [[nodiscard]] int wait(std::chrono::milliseconds patience);

  /// In the child: stdin becomes /dev/null, and the parent may end. Throws Failure when it is gone:
  /// whoever ended it wants none of this.
  void go_on();

 private:
  [[nodiscard]] int status_of_child() const;
  [[nodiscard]] bool is_gone_within(std::chrono::milliseconds time) const;
  void end_child(int signal) const;

  BlockedSignals blocked_;
  pid_t child_ = 0;
  Descriptor pipe_;
};

}  // namespace holt::cli
