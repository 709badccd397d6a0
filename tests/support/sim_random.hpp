// SPDX-License-Identifier: Apache-2.0
#pragma once
// Random: the simulator's only source of chance. xoshiro256** seeded by SplitMix64, with its own
// ways to draw a number: the distributions of the standard library differ between libraries.
// Streams with different names never disturb each other, so adding a draw in one place does not
// change what another place draws.

#include <array>
#include <chrono>
#include <cstdint>
#include <string_view>

namespace holt::sim {

using Nanos = std::chrono::nanoseconds;

class Random {
 public:
  explicit Random(std::uint64_t seed);

  /// An own stream for `purpose`, the same for the same seed.
  Random(std::uint64_t seed, std::string_view purpose);

  /// 64 bits.
  std::uint64_t next();

  /// Evenly from `low` to `high`, both included.
  std::int64_t between(std::int64_t low, std::int64_t high);
  Nanos between(Nanos low, Nanos high);

  /// True in `per_million` of a million cases.
  bool chance(std::uint32_t per_million);

 private:
  std::array<std::uint64_t, 4> state_{};
};

/// FNV-1a over the bytes, continuing `hash`.
[[nodiscard]] std::uint64_t mix(std::uint64_t hash, std::string_view bytes);
[[nodiscard]] std::uint64_t mix(std::uint64_t hash, std::uint64_t number);

inline constexpr std::uint64_t mix_start = 0xcbf29ce484222325;

}  // namespace holt::sim
