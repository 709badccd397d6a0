// SPDX-License-Identifier: Apache-2.0
#pragma once
// A process of its own that kills a command when the lease ends, whatever has become of us.
//
// It is forked before anything else is started, leaves our session, blocks every signal and does
// nothing but wait. We share with it a page that says which group of processes to kill and when,
// and a pipe whose end tells it that we died. It kills the group with SIGKILL
//   - at the deadline on the page, which we move while the lease is renewed: if we are stopped,
//     nobody moves it;
//   - at once when we die.
// It cannot help when it is stopped or killed too, when the whole machine stands still, against
// processes that left the group, and where the system forbids the signal (set-user-ID commands).

#include "cli/descriptor.hpp"

#include <holt/clock.hpp>

#include <sys/types.h>

namespace holt::cli {

class Watchdog {
 public:
  /// Forks: call it while this process has one thread. Throws std::system_error.
  Watchdog();

  /// Leaves the group alone and waits for the watchdog's end.
  ~Watchdog();
  Watchdog(Watchdog const&) = delete;
  Watchdog& operator=(Watchdog const&) = delete;

  /// Kill at `deadline`, and no longer at the one before. Deadlines only move forward.
  void guard_until(Instant deadline) noexcept;

  /// Called in the new child, before it becomes the command: its group is to be killed.
  /// False when the deadline has passed already: the command must not start.
  [[nodiscard]] bool enlist(pid_t group) noexcept;

  /// The command has ended, nothing is left to kill. Call it before the child is reaped: until
  /// then its number cannot be given to another process.
  void stand_down() noexcept;

  /// True when it has killed the group.
  [[nodiscard]] bool has_killed() const noexcept;

 private:
  struct Page;

  Page* page_;
  Descriptor pipe_;
  pid_t process_ = -1;
  bool armed_ = false;
};

}  // namespace holt::cli
