// SPDX-License-Identifier: Apache-2.0
#pragma once
// How `holt demo` talks: lines on stdout, above the line that counts down; and its units.

#include <holt/clock.hpp>

#include <chrono>
#include <cstdint>
#include <string>

namespace holt::cli {

[[nodiscard]] double in_ms(std::chrono::nanoseconds time);
[[nodiscard]] double in_s(std::chrono::nanoseconds time);

/// A time as workers tell it.
[[nodiscard]] Instant instant(std::int64_t nanoseconds);

/// How long after `since`. The store tells the end of a lease in whole milliseconds, rounded.
[[nodiscard]] std::chrono::nanoseconds later_than(Instant since, Instant at);

[[nodiscard]] std::string fence_text(std::uint64_t fence);

void say(std::string const& line);
/// What goes wrong, on purpose.
void say_trouble(std::string const& line);

}  // namespace holt::cli
