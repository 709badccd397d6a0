// SPDX-License-Identifier: Apache-2.0
#pragma once
// What benchmarks of several processes need: children that are forked before this process has a
// client of Holt, memory that they all see, and BootClock, which all processes of a machine share.

#include <holt/clock.hpp>

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <functional>
#include <new>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace holt::bench {

/// Runs `body` in a child, which ends after it and with us; what it throws is told on stderr.
pid_t start(std::function<void()> const& body);
/// Ends them with SIGKILL and waits until they are gone.
void kill_all(std::vector<pid_t> const& children);

/// Memory, all zero, that this process shares with the children it starts from now on.
void* shared_memory(std::size_t bytes);

/// Something in such memory, for as long as the process lives.
template <class Board>
Board& make_board() {
  return *new (shared_memory(sizeof(Board))) Board{};
}

/// Nanoseconds on BootClock.
inline std::int64_t now() { return BootClock::now().time_since_epoch().count(); }
/// Sleeps until that time on it.
void sleep_until(std::int64_t when);

/// Looks every 5 ms until it is so. Throws after a minute: another process has failed.
template <class Condition>
void await(std::string const& what, Condition const& is_so) {
  auto const give_up = now() + std::chrono::nanoseconds(std::chrono::minutes(1)).count();
  while (!is_so()) {
    if (now() > give_up) throw std::runtime_error("not in time: " + what);
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
}

}  // namespace holt::bench
