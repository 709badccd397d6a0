// SPDX-License-Identifier: Apache-2.0
#pragma once
// Sets of signals, and blocking them: a blocked signal is read from a descriptor (signalfd), in
// order with everything else a command waits for, and no handler ever runs.

#include <signal.h>

namespace holt::cli {

/// What asks a program to end: HUP, INT, QUIT, TERM; without those that this process was started
/// to ignore (nohup, a shell's background jobs).
[[nodiscard]] sigset_t ending_signals() noexcept;

/// Every signal that a program can receive and handle, but those of its own faults.
[[nodiscard]] sigset_t forwarded_signals() noexcept;

/// Blocks signals for this thread as long as it lives.
class BlockedSignals {
 public:
  explicit BlockedSignals(sigset_t const& signals) noexcept;
  ~BlockedSignals();
  BlockedSignals(BlockedSignals const&) = delete;
  BlockedSignals& operator=(BlockedSignals const&) = delete;

  /// The mask from before, which a child must get back.
  [[nodiscard]] sigset_t const& before() const noexcept { return before_; }

 private:
  sigset_t before_{};
};

}  // namespace holt::cli
