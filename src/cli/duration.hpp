// SPDX-License-Identifier: Apache-2.0
#pragma once
// Durations as people write them: 500ms, 30s, 5m, 1h30m, 1d. Whole numbers with a unit each,
// larger units first. A bare number is refused: nobody can tell seconds from milliseconds.

#include <chrono>
#include <expected>
#include <string>
#include <string_view>

namespace holt::cli {

/// The duration that `text` says. The error is one sentence: what was wrong, what would be right.
[[nodiscard]] std::expected<std::chrono::milliseconds, std::string> parse_duration(
    std::string_view text);

/// The same notation, exact: 90 s is "1m30s". Negative durations are shown as "0s".
[[nodiscard]] std::string format_duration(std::chrono::milliseconds duration);

/// For people: no milliseconds from ten seconds on.
[[nodiscard]] std::string rounded_duration(std::chrono::milliseconds duration);

}  // namespace holt::cli
