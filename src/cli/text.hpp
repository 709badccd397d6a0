// SPDX-License-Identifier: Apache-2.0
#pragma once
// Text as it is shown to people: what came from outside (names, notes, arguments) is made safe for
// a terminal first, so that it can neither move the cursor nor forge a line of ours.

#include <chrono>
#include <cstddef>
#include <string>
#include <string_view>

namespace holt::cli {

/// `text` without control characters and broken UTF-8 (shown as \xNN), cut to `limit` bytes or a
/// few less, with "..." where something was cut.
[[nodiscard]] std::string printable(std::string_view text, std::size_t limit = 200);

/// False: JSON has no way to say it.
[[nodiscard]] bool is_utf8(std::string_view text) noexcept;

/// The same as printable(), in double quotes.
[[nodiscard]] std::string in_quotes(std::string_view text);

/// A name as a word of a command line that a person can paste into a shell.
[[nodiscard]] std::string as_argument(std::string_view name);

/// How many columns a terminal needs for it, wide characters counted as one.
[[nodiscard]] std::size_t columns(std::string_view text) noexcept;

/// `text` with spaces behind it up to `width` columns.
[[nodiscard]] std::string padded(std::string_view text, std::size_t width);

/// RFC 3339 in UTC with milliseconds: 2026-01-31T12:00:00.123Z.
[[nodiscard]] std::string timestamp(std::chrono::system_clock::time_point time);

}  // namespace holt::cli
