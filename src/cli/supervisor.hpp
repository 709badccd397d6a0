// SPDX-License-Identifier: Apache-2.0
#pragma once
// Sees a command through while a lock is held or a term lasts: forwards signals, shares the
// terminal, moves the watchdog's deadline along with the lease, and ends the command before the
// lease can pass on.
//
//   running --(lease not renewed: deadline - grace; broken)--> TERM, ending --(deadline)--> KILL
//   running --(to be released)--> TERM, ending --(grace, deadline at the latest)--> KILL
//   running --(lost: taken, expired, store gone)--> KILL
//
// Once ending has begun it is not taken back, even if the lease is renewed meanwhile.

#include "cli/boot_timer.hpp"
#include "cli/descriptor.hpp"
#include "cli/leash.hpp"
#include "cli/terminal.hpp"
#include "cli/watchdog.hpp"

#include <holt/clock.hpp>

#include <signal.h>
#include <sys/types.h>

#include <chrono>
#include <stop_token>
#include <string>
#include <vector>

namespace holt::cli {

/// How a command ended.
struct CommandEnd {
  int status = 0;            ///< what a shell would say: its own, or 128 + the signal's number
  bool lease_lost = false;   ///< it was ended because the lease was lost
  int start_error = 0;       ///< errno; it could not be started
  bool interrupted = false;  ///< Ctrl-C in the terminal that it was lent ended it

  [[nodiscard]] bool succeeded() const noexcept {
    return status == 0 && !lease_lost && start_error == 0;
  }
};

class Supervisor {
 public:
  /// Blocks all signals from here on. Throws std::system_error.
  Supervisor(Leash const& leash, Watchdog& watchdog, std::chrono::milliseconds grace,
             sigset_t const& child_mask);

  /// Starts the command and returns when it has ended. Call it once, from the main thread.
  [[nodiscard]] CommandEnd run(std::vector<std::string> const& command);

 private:
  void wait();
  void handle_signals();
  void check_lease();
  void check_stopped();
  [[nodiscard]] bool has_ended() const;
  [[nodiscard]] CommandEnd finish();

  void move_deadline() noexcept;
  void end_command(LossReason reason);
  void kill_command();
  void suspend();
  void resume();
  void signal_group(int signal) const noexcept { ::kill(-child_, signal); }

  Leash const& leash_;
  Watchdog& watchdog_;
  std::chrono::milliseconds grace_;
  sigset_t const& child_mask_;
  struct sigaction on_child_{};
  Terminal terminal_;
  Descriptor signals_;
  Descriptor lost_;
  BootTimer timer_;
  pid_t child_ = -1;
  Instant deadline_;  ///< the watchdog's, as we last moved it
  Instant kill_at_;   ///< while ending
  bool ending_ = false;
};

}  // namespace holt::cli
