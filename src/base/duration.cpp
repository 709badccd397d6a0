// SPDX-License-Identifier: Apache-2.0
#include <holt/duration.hpp>

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <expected>
#include <limits>
#include <string>
#include <string_view>
#include <system_error>

namespace holt {
namespace {

struct Unit {
  std::string_view name;
  std::int64_t milliseconds;
};

constexpr std::array units{
    Unit{"d", 86'400'000}, Unit{"h", 3'600'000}, Unit{"m", 60'000}, Unit{"s", 1'000}, Unit{"ms", 1},
};

bool is_digit(char c) { return c >= '0' && c <= '9'; }

/// The run of digits, or of anything else, at the front of `rest`, which loses it.
std::string_view cut(std::string_view& rest, bool digits) {
  auto const end = std::ranges::find_if(rest, [=](char c) { return is_digit(c) != digits; });
  auto const size = static_cast<std::size_t>(end - rest.begin());
  auto const front = rest.substr(0, size);
  rest.remove_prefix(size);
  return front;
}

/// What fits into std::chrono::nanoseconds, 292 years: every clock can add it without overflow.
constexpr std::int64_t longest_ms = std::numeric_limits<std::int64_t>::max() / 1'000'000;

/// Adds `count` units to `total`; false when that is more than the longest duration.
bool add(std::int64_t& total, std::string_view count, Unit unit) {
  std::int64_t number = 0;
  auto const read = std::from_chars(count.data(), count.data() + count.size(), number);
  return read.ec == std::errc{} && !__builtin_mul_overflow(number, unit.milliseconds, &number) &&
         !__builtin_add_overflow(total, number, &total) && total <= longest_ms;
}

std::string_view complaint(std::string_view text, std::string_view unit) {
  if (text.empty()) return "is empty";
  if (text.front() == '-') return "is negative";
  if (!is_digit(text.front())) return "is not a duration";
  if (unit.empty()) return "has no unit";
  if (unit.front() == '.' || unit.front() == ',') return "has a fraction";
  if (std::ranges::find(units, unit, &Unit::name) != units.end())
    return "has its units out of order";
  return "is not a duration";
}

}  // namespace

std::expected<std::chrono::milliseconds, std::string> parse_duration(std::string_view text) {
  auto const refuse = [](std::string_view wrong) {
    return std::unexpected(std::string(wrong) + "; write it as 500ms, 30s, 5m or 1h30m");
  };
  std::int64_t total = 0;
  auto next = units.begin();  // larger units first, each once
  auto rest = text;
  do {
    auto const count = cut(rest, true);
    auto const name = cut(rest, false);
    auto const unit = std::ranges::find(next, units.end(), name, &Unit::name);
    if (count.empty() || unit == units.end()) return refuse(complaint(text, name));
    if (!add(total, count, *unit)) return refuse("is too long");
    next = unit + 1;
  } while (!rest.empty());
  return std::chrono::milliseconds(total);
}

std::string format_duration(std::chrono::milliseconds duration) {
  auto left = duration.count();
  std::string text;
  for (auto const& unit : units) {
    if (left < unit.milliseconds) continue;
    text += std::to_string(left / unit.milliseconds).append(unit.name);
    left %= unit.milliseconds;
  }
  return text.empty() ? "0s" : text;
}

}  // namespace holt
