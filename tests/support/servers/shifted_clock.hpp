// SPDX-License-Identifier: Apache-2.0
#pragma once
// ShiftedClock: moves the wall clock of processes that are started with its environment(), at any
// time and both ways; their other clocks run on. Works for Holt's programs, redis-server and
// postgres (tests/clock_shim).

#include <chrono>
#include <string>
#include <utility>
#include <vector>

namespace holt::test {

class ShiftedClock {
 public:
  /// `file` carries the shift to the processes; it is made, and the shim put beside it.
  explicit ShiftedClock(std::string file);

  void set(std::chrono::nanoseconds shift) const;
  [[nodiscard]] std::vector<std::pair<std::string, std::string>> environment() const;

 private:
  std::string file_;
  std::string shim_;
};

}  // namespace holt::test
