// SPDX-License-Identifier: Apache-2.0
#include "engines/postgres/signal_text.hpp"

#include <fmt/format.h>

#include <charconv>

namespace holt::postgres {
namespace {

std::string escaped(std::string_view text) {
  std::string out;
  for (char const c : text) {
    bool const plain = c >= ' ' && c <= '~' && c != '%';
    if (plain) {
      out += c;
    } else {
      out += fmt::format("%{:02x}", static_cast<unsigned char>(c));
    }
  }
  return out;
}

std::optional<std::string> unescaped(std::string_view text) {
  std::string out;
  while (!text.empty()) {
    if (text[0] != '%') {
      out += text[0];
      text.remove_prefix(1);
      continue;
    }
    unsigned value = 0;
    if (text.size() < 3) return std::nullopt;
    auto const [end, error] = std::from_chars(text.data() + 1, text.data() + 3, value, 16);
    if (error != std::errc() || end != text.data() + 3) return std::nullopt;
    out += static_cast<char>(value);
    text.remove_prefix(3);
  }
  return out;
}

}  // namespace

std::string to_notification(Signal const& signal) {
  return escaped(signal.topic) + '\n' + escaped(signal.text);
}

std::optional<Signal> from_notification(std::string_view said) {
  auto const end = said.find('\n');
  if (end == std::string_view::npos) return std::nullopt;
  auto topic = unescaped(said.substr(0, end));
  auto text = unescaped(said.substr(end + 1));
  if (!topic || !text) return std::nullopt;
  return Signal{std::move(*topic), std::move(*text)};
}

}  // namespace holt::postgres
