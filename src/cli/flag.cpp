// SPDX-License-Identifier: Apache-2.0
#include "cli/flag.hpp"

#include "cli/command_line.hpp"
#include "cli/duration.hpp"
#include "cli/nearest.hpp"
#include "cli/text.hpp"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <system_error>

namespace holt::cli {
namespace {

/// The command's words and the flag's, with `between` where there was a space.
std::string joined(Command const& command, Flag const& flag, char between) {
  std::string text;
  if (flag.scope == Flag::Scope::command) {
    for (char const c : command.words) text += c == ' ' ? between : c;
    text += between;
  }
  return text.append(flag.long_name().substr(2));
}

std::string no_count(std::string_view value) {
  bool const negative = value.starts_with('-');
  auto const digits = value.substr(negative ? 1 : 0);
  bool const whole =
      !digits.empty() && digits.find_first_not_of("0123456789") == std::string_view::npos;
  if (!whole) return in_quotes(value) + " is no whole number; write it as 1000";
  return in_quotes(value) + (negative ? " is negative" : " is too large");
}

std::optional<bool> parse_bool(std::string_view text) {
  if (text == "true" || text == "1" || text == "yes") return true;
  if (text == "false" || text == "0" || text == "no") return false;
  return std::nullopt;
}

}  // namespace

std::string complaint_about(Flag const& flag, std::string_view value) {
  if (!flag.takes_value() && !parse_bool(value)) {
    return in_quotes(value) + " is neither true nor false";
  }
  if (flag.placeholder == "DURATION") {
    auto const parsed = parse_duration(value);
    if (!parsed) return parsed.error();
  }
  if (flag.placeholder == "COUNT" && !parse_count(value)) return no_count(value);
  bool const is_choice = std::ranges::find(flag.choices, value) != flag.choices.end();
  return flag.choices.empty() || is_choice ? std::string() : no_choice(value, flag.choices);
}

std::optional<std::uint64_t> parse_count(std::string_view text) noexcept {
  std::uint64_t number = 0;
  auto const read = std::from_chars(text.data(), text.data() + text.size(), number);
  bool const whole = read.ptr == text.data() + text.size();
  return read.ec == std::errc{} && whole ? std::optional(number) : std::nullopt;
}

bool is_true(std::string_view value) noexcept { return parse_bool(value).value_or(false); }

std::string no_choice(std::string_view given, std::span<std::string_view const> choices) {
  std::string text = in_quotes(given) + " is none of ";
  for (auto const choice : choices) {
    if (choice != choices.front()) text += choice == choices.back() ? " and " : ", ";
    text += choice;
  }
  auto const meant = nearest(given, {choices.begin(), choices.end()});
  if (!meant.empty()) text += "; did you mean \"" + std::string(meant) + "\"?";
  return text;
}

std::string variable_name(Command const& command, Flag const& flag) {
  if (flag.scope == Flag::Scope::none) return {};
  std::string text = "HOLT_";
  for (char const c : joined(command, flag, '_')) {
    text += c == '-' ? '_' : c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
  }
  return text;
}

std::string key_name(Command const& command, Flag const& flag) {
  return flag.scope == Flag::Scope::none ? std::string() : joined(command, flag, '.');
}

}  // namespace holt::cli
