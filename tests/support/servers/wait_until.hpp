// SPDX-License-Identifier: Apache-2.0
#pragma once
// wait_until: tests wait for a condition with a deadline, never for a fixed time.

#include <chrono>
#include <thread>

namespace holt::test {

/// Asks `condition` every few milliseconds until it is true; false when it was not in time. It is
/// asked at least once.
template <class Condition>
[[nodiscard]] bool wait_until(Condition&& condition,
                              std::chrono::milliseconds patience = std::chrono::seconds(20)) {
  auto const give_up = std::chrono::steady_clock::now() + patience;
  while (!condition()) {
    if (std::chrono::steady_clock::now() >= give_up) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(3));
  }
  return true;
}

}  // namespace holt::test
