// SPDX-License-Identifier: Apache-2.0
#pragma once
// RequestId: names a call, so that it can be repeated without being done twice: a series, which one
// client makes for itself, and a number in it. Calls of one series that follow each other, have
// been asked by nobody before and come together, a store may remember as one.

#include <compare>
#include <cstdint>
#include <string>
#include <tuple>
#include <utility>

namespace holt {

/// No aggregate on purpose: safe as a temporary beside co_await.
struct RequestId {
  RequestId() = default;
  explicit RequestId(std::string of, std::uint64_t which = 0)
      : series(std::move(of)), number(which) {}

  [[nodiscard]] bool empty() const noexcept { return series.empty(); }

  std::string series;        ///< what stands before its first '.' may be shared with others
  std::uint64_t number = 0;  ///< below 2^63
  bool fresh = false;        ///< this is the first call with it

  // Fresh or not:
  friend bool operator==(RequestId const& a, RequestId const& b) noexcept {
    return a.series == b.series && a.number == b.number;
  }
  friend std::strong_ordering operator<=>(RequestId const& a, RequestId const& b) noexcept {
    return std::tie(a.series, a.number) <=> std::tie(b.series, b.number);
  }
};

}  // namespace holt
