// SPDX-License-Identifier: Apache-2.0
#pragma once
// Ctrl-C (and TERM, HUP, QUIT) while a call of the library blocks this thread, without a thread
// for it, which would cost as much as taking a lock does.
//
// The first signal gives the call a little time to come to its end; if it has not, because the
// store is blocked, the process ends there. That leaves nothing that does not end by itself: a
// step of the store is done as a whole or not at all, a grant that comes in that very moment ends
// with its ttl, and a dead waiter is passed over. A second signal ends the process at once.

#include <signal.h>
#include <time.h>

#include <array>
#include <chrono>
#include <cstddef>
#include <string_view>

namespace holt::cli {

/// What the first signal leaves for cleaning up: a person takes 100 ms for "at once".
inline constexpr std::chrono::milliseconds time_to_clean_up{80};

/// When a person wants to know why nothing happens.
inline constexpr std::chrono::milliseconds time_to_say_something{60};

/// Ends the process as a signal asks for, saying so. Safe in a signal handler.
[[noreturn]] void end_by_signal(int signal) noexcept;

class Interruptible {
 public:
  /// The signals of ending_signals() must be blocked in this thread, and all signals in the
  /// others. One at a time. `when_slow` (may be empty) is written to stderr, as it is, when this
  /// object lives for time_to_say_something.
  explicit Interruptible(std::string_view when_slow = {}) noexcept;

  /// Blocks the signals again. If one came, it goes on counting: whatever else this process wants
  /// to do, it has the rest of time_to_clean_up for it.
  ~Interruptible();
  Interruptible(Interruptible const&) = delete;
  Interruptible& operator=(Interruptible const&) = delete;

  /// The signal that came; 0 when none did.
  [[nodiscard]] int signal() const noexcept;

 private:
  struct Replaced {
    int signal;
    struct sigaction before;
  };
  void handle(int signal, void (*handler)(int)) noexcept;

  sigset_t mask_before_{};
  std::array<Replaced, 5> replaced_{};
  std::size_t count_ = 0;
};

}  // namespace holt::cli
