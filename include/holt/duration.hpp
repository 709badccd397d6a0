// SPDX-License-Identifier: Apache-2.0
#pragma once
// Durations as people write them: 500ms, 30s, 5m, 1h30m, 1d. Whole numbers with a unit each,
// larger units first. A bare number is refused: nobody can tell seconds from milliseconds.
// The flags of the program and the variables of the library are read by this.

#include <chrono>
#include <expected>
#include <string>
#include <string_view>

#pragma GCC visibility push(default)
namespace holt {

/// The duration that `text` says. The error says of the text what is wrong and what would be right:
/// `has no unit; write it as 500ms, 30s, 5m or 1h30m`. The text itself is not in it.
[[nodiscard]] std::expected<std::chrono::milliseconds, std::string> parse_duration(
    std::string_view text);

/// The same notation, exact: 90 s is "1m30s". Negative durations are shown as "0s".
[[nodiscard]] std::string format_duration(std::chrono::milliseconds duration);

}  // namespace holt
#pragma GCC visibility pop
