// SPDX-License-Identifier: Apache-2.0
#pragma once
// Turns Ctrl-C (and TERM, HUP, QUIT) into a stop token while a call of the library blocks this
// thread; on request also that nobody reads our output any more. A second signal ends the process
// at once, for those who cannot wait.

#include "cli/descriptor.hpp"

#include <atomic>
#include <stop_token>
#include <thread>

namespace holt::cli {

class Interrupt {
 public:
  /// The signals of ending_signals() must be blocked in this thread.
  /// Throws std::system_error when the system has no thread or descriptor left.
  /// `output`, if there is one, is a descriptor whose reader may go away.
  explicit Interrupt(int output = -1);
  ~Interrupt();
  Interrupt(Interrupt const&) = delete;
  Interrupt& operator=(Interrupt const&) = delete;

  [[nodiscard]] std::stop_token token() const noexcept { return stop_.get_token(); }

  /// The signal that came; 0 when none did, though the token may have fired: nobody reads.
  [[nodiscard]] int signal() const noexcept { return signal_; }

 private:
  void listen() noexcept;

  int output_;
  Descriptor signals_;
  Descriptor done_;
  std::stop_source stop_;
  std::atomic<int> signal_ = 0;
  std::thread thread_;
};

}  // namespace holt::cli
