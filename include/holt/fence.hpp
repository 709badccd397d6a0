// SPDX-License-Identifier: Apache-2.0
#pragma once
// A fence is the number that comes with every grant and only ever grows per name.
// Give it to the resource you protect and let that refuse a lower one than it has seen:
// this is what makes a lock safe against a holder that was paused (docs/primitives/lock.md).

#include <compare>
#include <cstdint>
#include <string>

#pragma GCC visibility push(default)
namespace holt {

class Fence {
 public:
  /// No fence: lower than every granted one.
  constexpr Fence() noexcept = default;
  constexpr explicit Fence(std::uint64_t value) noexcept : value_(value) {}

  [[nodiscard]] constexpr std::uint64_t value() const noexcept { return value_; }

  /// 19 digits, zero padded: compares as text as it compares as a number. For JSON.
  [[nodiscard]] std::string padded() const;

  /// Plain decimal. For a child's environment and for people.
  [[nodiscard]] std::string decimal() const { return std::to_string(value_); }

  friend constexpr auto operator<=>(Fence, Fence) noexcept = default;

 private:
  std::uint64_t value_ = 0;
};

/// What raising an instance's counter of fences did: the last fence that could have been given
/// before it, and the one that every later fence is above.
struct FenceRaise {
  Fence before;  ///< none: this instance had given none
  Fence after;
};

}  // namespace holt
#pragma GCC visibility pop
