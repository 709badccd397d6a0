// SPDX-License-Identifier: Apache-2.0
#include "cli/text.hpp"

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdio>
#include <ctime>
#include <string>
#include <string_view>

namespace holt::cli {
namespace {

/// Bytes of the UTF-8 character at the start of `text`; 0 when it is broken.
std::size_t character_size(std::string_view text) {
  auto const byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  auto const lead = byte(0);
  if (lead < 0x80) return 1;
  std::size_t const size = lead >= 0xF5   ? 0
                           : lead >= 0xF0 ? 4
                           : lead >= 0xE0 ? 3
                           : lead >= 0xC2 ? 2
                                          : 0;
  if (size == 0 || text.size() < size) return 0;
  for (std::size_t i = 1; i < size; ++i) {
    if ((byte(i) & 0xC0U) != 0x80U) return 0;
  }
  bool const overlong = (lead == 0xE0 && byte(1) < 0xA0) || (lead == 0xF0 && byte(1) < 0x90);
  bool const beyond = (lead == 0xED && byte(1) >= 0xA0) || (lead == 0xF4 && byte(1) >= 0x90);
  return overlong || beyond ? 0 : size;
}

/// The same; 0 for a control character too.
std::size_t printable_size(std::string_view text) {
  auto const size = character_size(text);
  auto const lead = static_cast<unsigned char>(text[0]);
  if (size <= 1) return size == 1 && lead >= 0x20 && lead != 0x7F ? 1 : 0;
  bool const c1_control = lead == 0xC2 && static_cast<unsigned char>(text[1]) < 0xA0;
  // U+2028 to U+202E and U+2066 to U+2069: line ends and changes of direction.
  auto const start = text.substr(0, 3);
  bool const reorders = (start >= "\xE2\x80\xA8" && start <= "\xE2\x80\xAE") ||
                        (start >= "\xE2\x81\xA6" && start <= "\xE2\x81\xA9");
  return c1_control || reorders ? 0 : size;
}

std::string escaped(char byte) {
  constexpr std::string_view digits = "0123456789ABCDEF";
  auto const value = static_cast<unsigned char>(byte);
  return {'\\', 'x', digits[value >> 4U], digits[value & 15U]};
}

}  // namespace

bool is_utf8(std::string_view text) noexcept {
  while (!text.empty()) {
    auto const size = character_size(text);
    if (size == 0) return false;
    text.remove_prefix(size);
  }
  return true;
}

std::string printable(std::string_view text, std::size_t limit) {
  std::string result;
  while (!text.empty()) {
    auto const size = printable_size(text);
    auto const piece = size == 0 ? escaped(text[0]) : std::string(text.substr(0, size));
    if (result.size() + piece.size() > limit) return result + "...";
    result += piece;
    text.remove_prefix(size == 0 ? 1 : size);
  }
  return result;
}

std::string in_quotes(std::string_view text) { return '"' + printable(text, 80) + '"'; }

std::string as_argument(std::string_view name) {
  constexpr std::string_view plain =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_./:@%+=,-";
  std::string result = name.starts_with('-') ? "-- " : "";
  if (name.find_first_not_of(plain) == std::string_view::npos) return result.append(name);
  result += '\'';
  for (char const c : name) {
    if (c == '\'') {
      result += "'\\''";
    } else {
      result += c;
    }
  }
  return result + '\'';
}

std::size_t columns(std::string_view text) noexcept {
  std::size_t count = 0;
  for (char const byte : text) {
    if ((static_cast<unsigned char>(byte) & 0xC0U) != 0x80U) ++count;
  }
  return count;
}

std::string padded(std::string_view text, std::size_t width) {
  std::string result(text);
  auto const used = columns(text);
  if (used < width) result.append(width - used, ' ');
  return result;
}

std::string timestamp(std::chrono::system_clock::time_point time) {
  auto const milliseconds =
      std::chrono::floor<std::chrono::milliseconds>(time.time_since_epoch()).count();
  auto const part = ((milliseconds % 1000) + 1000) % 1000;
  std::time_t const seconds = (milliseconds - part) / 1000;
  std::tm utc{};
  ::gmtime_r(&seconds, &utc);
  std::array<char, 64> text{};
  auto const size = std::strftime(text.data(), text.size(), "%Y-%m-%dT%H:%M:%S", &utc);
  std::snprintf(text.data() + size, text.size() - size, ".%03dZ", static_cast<int>(part));
  return text.data();
}

}  // namespace holt::cli
