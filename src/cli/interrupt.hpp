// SPDX-License-Identifier: Apache-2.0
#pragma once
// Turns Ctrl-C (and TERM, HUP, QUIT) into a stop token while a call of the library blocks this
// thread for long; on request also that nobody reads our output any more. What interruptible.hpp
// says of the first and the second signal holds here too: the first leaves time_to_clean_up, the
// second leaves none.

#include "cli/descriptor.hpp"

#include <memory>
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

  [[nodiscard]] std::stop_token token() const noexcept;

  /// Stops listening. Answers the signal that came, 0 when none did, though the token may have
  /// fired: nobody reads. One that comes later stays with the process. If one came, the process has
  /// the rest of time_to_clean_up.
  int finish() noexcept;

 private:
  struct Shared;

  std::shared_ptr<Shared> shared_;
  std::thread thread_;
};

}  // namespace holt::cli
