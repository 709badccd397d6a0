// SPDX-License-Identifier: Apache-2.0
#pragma once
// ReservedPort: a TCP port of 127.0.0.1 that nobody uses, kept for this process as long as the
// object lives: other test programs ask the same register (an abstract socket per port, which the
// kernel takes back with the process) and stay away, also while the server on it is down.
//
// The ports lie below those that the kernel gives to outgoing connections. A client that keeps
// trying a port of that range while nobody listens may end up connected to itself.
//
// A program that knows nothing of the register can still take the port before the server does: then
// the server says so, ServerProcess throws PortTaken, and on_free_ports() begins again.

#include "support/servers/server_process.hpp"

#include <cstdint>
#include <utility>

namespace holt::test {

class ReservedPort {
 public:
  ReservedPort();
  ~ReservedPort();
  ReservedPort(ReservedPort&& other) noexcept
      : number_(std::exchange(other.number_, 0)), register_(std::exchange(other.register_, -1)) {}
  ReservedPort& operator=(ReservedPort&& other) noexcept {
    std::swap(number_, other.number_);
    std::swap(register_, other.register_);
    return *this;
  }

  [[nodiscard]] std::uint16_t number() const { return number_; }

 private:
  std::uint16_t number_ = 0;
  int register_ = -1;
};

/// Calls `start`, which reserves ports and starts something on them, and once more with other ports
/// when one of them was taken meanwhile; gives up after five times.
template <class Start>
auto on_free_ports(Start&& start) {
  for (int attempt = 1;; ++attempt) {
    try {
      return start();
    } catch (PortTaken const&) {
      if (attempt == 5) throw;
    }
  }
}

}  // namespace holt::test
