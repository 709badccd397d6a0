// SPDX-License-Identifier: Apache-2.0
#include "base/random_text.hpp"

#include <array>
#include <string_view>

namespace holt {

std::string base64url(std::span<std::byte const> bytes) {
  constexpr std::string_view alphabet =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
  std::string text;
  text.reserve((bytes.size() * 4 + 2) / 3);
  std::uint32_t bits = 0;
  unsigned count = 0;  // of bits not written yet
  for (auto const byte : bytes) {
    bits = (bits << 8U) | std::to_integer<std::uint32_t>(byte);
    for (count += 8; count >= 6; count -= 6) text += alphabet[(bits >> (count - 6)) & 63U];
  }
  if (count > 0) text += alphabet[(bits << (6 - count)) & 63U];
  return text;
}

std::string random_token(std::function<std::uint64_t()> const& random) {
  std::array<std::byte, 16> bytes;
  for (std::size_t half = 0; half < 2; ++half) {
    auto const number = random();
    for (std::size_t i = 0; i < 8; ++i) {
      bytes[half * 8 + i] = static_cast<std::byte>((number >> (8 * i)) & 0xFFU);
    }
  }
  return base64url(bytes);
}

std::string timed_token(std::chrono::system_clock::time_point when,
                        std::function<std::uint64_t()> const& random) {
  constexpr std::string_view digits = "0123456789abcdefghijklmnopqrstuv";
  constexpr std::size_t random_digits = 16;
  auto const since = std::chrono::floor<std::chrono::milliseconds>(when).time_since_epoch();
  auto const ms = static_cast<std::uint64_t>(since.count());
  std::string text;
  auto const put = [&](std::uint64_t number, std::size_t count) {
    while (count-- > 0) text += digits[(number >> (5 * count)) & 31U];
  };
  put(ms >> 7U, 7);
  text += '.';
  put(ms & 127U, 2);
  return text + random_token(random).substr(0, random_digits);
}

}  // namespace holt
