// SPDX-License-Identifier: Apache-2.0
#pragma once
// Durations (holt/duration.hpp) as the program reads and shows them.

#include <holt/duration.hpp>

#include <chrono>
#include <expected>
#include <string>
#include <string_view>

namespace holt::cli {

/// The duration that `text` says. The error is one sentence: what was wrong, what would be right.
[[nodiscard]] std::expected<std::chrono::milliseconds, std::string> parse_duration(
    std::string_view text);

using holt::format_duration;

/// For people: no milliseconds from ten seconds on.
[[nodiscard]] std::string rounded_duration(std::chrono::milliseconds duration);

}  // namespace holt::cli
