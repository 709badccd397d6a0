// SPDX-License-Identifier: Apache-2.0
#pragma once
// Leash: what a command runs under, a lock or a leadership: as much of it as its supervisor needs.

#include <holt/clock.hpp>
#include <holt/lease.hpp>

#include <stop_token>
#include <string>
#include <vector>

namespace holt::cli {

class Leash {
 public:
  virtual ~Leash() = default;

  /// For people: `lock "x"`.
  [[nodiscard]] virtual std::string what() const = 0;
  /// What the command finds in its environment, KEY=VALUE each.
  [[nodiscard]] virtual std::vector<std::string> environment() const = 0;
  /// The end of the lease as the store last confirmed it.
  [[nodiscard]] virtual Instant deadline() const = 0;
  /// Fires when loss() has become more than `none`.
  [[nodiscard]] virtual std::stop_token lost() const = 0;
  /// `broken`: the command is to end before the lease does; `released`: as soon as it can.
  [[nodiscard]] virtual LossReason loss() const = 0;
};

}  // namespace holt::cli
