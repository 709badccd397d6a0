// SPDX-License-Identifier: Apache-2.0
#pragma once
// A process of its own that kills commands when their leases end, whatever has become of us.
//
// It is forked before anything else is started, leaves our session, blocks every signal and does
// nothing but wait. We share with it a page of places, one for each command that runs at a time,
// which say which group of processes to kill and when, and a pipe whose end tells it that we died.
// It kills a group with SIGKILL
//   - at the deadline in its place, which we move while the lease is renewed: if we are stopped,
//     nobody moves it;
//   - at once when we die.
// It cannot help when it is stopped or killed too, when the whole machine stands still, against
// processes that left the group, and where the system forbids the signal (set-user-ID commands).

#include "cli/descriptor.hpp"

#include <holt/clock.hpp>

#include <sys/types.h>

#include <cstddef>

namespace holt::cli {

class Watchdog {
 public:
  /// Forks: call it while this process has one thread. Throws std::system_error.
  explicit Watchdog(std::size_t places = 1);

  /// Leaves all groups alone that stood down, kills the others, and waits for the watchdog's end.
  ~Watchdog();
  Watchdog(Watchdog const&) = delete;
  Watchdog& operator=(Watchdog const&) = delete;

  /// Kill at `deadline`, and no longer at the one before. Between two calls of stand_down()
  /// deadlines only move forward. One thread at a time, for this and for stand_down().
  void guard_until(Instant deadline, std::size_t place = 0) noexcept;

  /// Called in the new child, before it becomes the command: its group is to be killed.
  /// False when the deadline has passed already: the command must not start.
  [[nodiscard]] bool enlist(pid_t group, std::size_t place = 0) noexcept;

  /// The command has ended, nothing is left to kill, and the place is free for another. Call it
  /// before the child is reaped: until then its number cannot be given to another process.
  void stand_down(std::size_t place = 0) noexcept;

  /// True when it has killed the group of the last command in this place.
  [[nodiscard]] bool has_killed(std::size_t place = 0) const noexcept;

 private:
  class Page;

  Page* page_;
  Descriptor pipe_;
  pid_t process_ = -1;
};

}  // namespace holt::cli
