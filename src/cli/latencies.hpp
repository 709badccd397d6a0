// SPDX-License-Identifier: Apache-2.0
#pragma once
// Latencies by size, and their percentiles. Adding one costs some nanoseconds and no memory,
// however many there are: they are counted in buckets that are less than 1 % wide (128 to every
// power of two; single nanoseconds below 256).

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>

namespace holt::cli {

class Latencies {
 public:
  /// Any thread. What is longer than an hour counts as an hour.
  void add(std::chrono::nanoseconds latency) noexcept;

  [[nodiscard]] std::uint64_t count() const noexcept;

  /// Exact; zero when there are none.
  [[nodiscard]] std::chrono::nanoseconds longest() const noexcept;

  /// The nearest rank: the least latency that `thousandths` of all do not exceed, or up to 1 %
  /// more; never more than longest(). Zero when there are none. While others add, of those so far.
  [[nodiscard]] std::chrono::nanoseconds percentile(std::uint32_t thousandths) const noexcept;

 private:
  static constexpr unsigned fine_bits = 7;
  static constexpr unsigned most_bits = 42;  // 2^42 ns are 73 minutes
  static constexpr std::size_t buckets = (most_bits - fine_bits + 1) << fine_bits;

  [[nodiscard]] static std::size_t bucket_of(std::uint64_t value) noexcept;
  [[nodiscard]] static std::uint64_t last_in(std::size_t bucket) noexcept;

  std::array<std::atomic<std::uint64_t>, buckets> counts_{};
  std::atomic<std::uint64_t> longest_{0};
};

}  // namespace holt::cli
