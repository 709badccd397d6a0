// SPDX-License-Identifier: Apache-2.0
#include "cli/color.hpp"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <string>
#include <string_view>

namespace holt::cli {
namespace {

constinit std::string_view choice = color_choices[0];

std::string_view variable(char const* name) {
  auto const* const value = std::getenv(name);
  return value == nullptr ? std::string_view() : std::string_view(value);
}

bool is_terminal_with_color(int stream) {
  auto const kind = variable("TERM");
  return ::isatty(stream) == 1 && !kind.empty() && kind != "dumb";
}

bool in_color(int stream) {
  if (choice != "auto") return choice == "always";
  if (!variable("NO_COLOR").empty() || variable("CLICOLOR") == "0") return false;
  auto const force = variable("CLICOLOR_FORCE");
  if (!force.empty() && force != "0") return true;
  return is_terminal_with_color(stream);
}

std::string_view code(Style style) {
  switch (style) {
    case Style::bold:
      return "\x1b[1m";
    case Style::red:
      return "\x1b[31m";
    case Style::yellow:
      return "\x1b[33m";
  }
  return {};
}

}  // namespace

void set_color(std::string_view wanted) noexcept {
  auto const known = std::ranges::find(color_choices, wanted);
  if (known != color_choices.end()) choice = *known;
}

std::string styled(Style style, std::string_view text, int stream) {
  if (text.empty() || !in_color(stream)) return std::string(text);
  return std::string(code(style)).append(text).append("\x1b[0m");
}

}  // namespace holt::cli
