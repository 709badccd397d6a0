// SPDX-License-Identifier: Apache-2.0
#pragma once
// Makes poll() return at an instant of BootClock: also when that passed while the machine slept,
// which poll's own time-out would not notice.

#include "cli/descriptor.hpp"

#include <holt/clock.hpp>

namespace holt::cli {

class BootTimer {
 public:
  /// Throws std::system_error when the system has no descriptor left.
  BootTimer();

  /// Readable from `when` on; an instant in the past makes it readable now.
  void set(Instant when) noexcept;

  [[nodiscard]] int fd() const noexcept { return fd_.get(); }

 private:
  Descriptor fd_;
};

}  // namespace holt::cli
