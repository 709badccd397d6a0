// SPDX-License-Identifier: Apache-2.0
#pragma once
// Colour, sparingly, and only where a person looks: decided for stdout and stderr each.
//   --color (HOLT_COLOR, color) always or never   so it is
//   auto, the default   never with NO_COLOR or CLICOLOR=0, always with CLICOLOR_FORCE, else where
//                       the stream is a terminal that can show it
// A variable that is set to nothing counts as not set.

#include <array>
#include <string>
#include <string_view>

namespace holt::cli {

/// What --color can be.
inline constexpr std::array<std::string_view, 3> color_choices{"auto", "always", "never"};

/// One of color_choices; other words change nothing. Call it before there are threads.
void set_color(std::string_view choice) noexcept;

enum class Style { bold, red, yellow };

/// The text as it is to be written to STDOUT_FILENO or STDERR_FILENO. It must not have been
/// measured or padded after this.
[[nodiscard]] std::string styled(Style style, std::string_view text, int stream);

}  // namespace holt::cli
