// SPDX-License-Identifier: Apache-2.0
#include "cli/latencies.hpp"

#include <algorithm>
#include <atomic>
#include <bit>
#include <chrono>
#include <cstddef>
#include <cstdint>

namespace holt::cli {
namespace {

constexpr std::chrono::nanoseconds greatest = std::chrono::hours(1);
constexpr auto relaxed = std::memory_order_relaxed;

}  // namespace

/// A value is its first bits, one more than fine_bits, and how far they were shifted; small values
/// are not shifted at all. In this order the buckets follow each other without a gap.
std::size_t Latencies::bucket_of(std::uint64_t value) noexcept {
  auto const width = static_cast<unsigned>(std::bit_width(value));
  auto const shift = std::max(width, fine_bits + 1) - (fine_bits + 1);
  return (std::size_t{shift} << fine_bits) + (value >> shift);
}

std::uint64_t Latencies::last_in(std::size_t bucket) noexcept {
  auto const shift = std::max<std::size_t>(bucket >> fine_bits, 1) - 1;
  auto const first_bits = bucket - (shift << fine_bits);
  return ((std::uint64_t{first_bits} + 1) << shift) - 1;
}

void Latencies::add(std::chrono::nanoseconds latency) noexcept {
  auto const in_range = std::clamp(latency, std::chrono::nanoseconds(0), greatest);
  auto const value = static_cast<std::uint64_t>(in_range.count());
  counts_.at(bucket_of(value)).fetch_add(1, relaxed);
  auto known = longest_.load(relaxed);
  while (known < value && !longest_.compare_exchange_weak(known, value, relaxed)) {
  }
}

std::uint64_t Latencies::count() const noexcept {
  std::uint64_t sum = 0;
  for (auto const& count : counts_) sum += count.load(relaxed);
  return sum;
}

std::chrono::nanoseconds Latencies::longest() const noexcept {
  return std::chrono::nanoseconds(longest_.load(relaxed));
}

std::chrono::nanoseconds Latencies::percentile(std::uint32_t thousandths) const noexcept {
  auto const rank = (count() * thousandths + 999) / 1000;
  std::uint64_t up_to = 0;
  for (std::size_t i = 0; i < buckets; ++i) {
    up_to += counts_.at(i).load(relaxed);
    if (up_to == 0 || up_to < rank) continue;
    return std::min(std::chrono::nanoseconds(last_in(i)), longest());
  }
  return std::chrono::nanoseconds(0);
}

}  // namespace holt::cli
