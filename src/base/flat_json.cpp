// SPDX-License-Identifier: Apache-2.0
#include "base/flat_json.hpp"

#include <fmt/format.h>

#include <charconv>
#include <functional>

namespace holt {
namespace {

void append_quoted(std::string& out, std::string_view text) {
  out += '"';
  for (char const c : text) {
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (static_cast<unsigned char>(c) < 0x20U) {
      out += fmt::format("\\u{:04x}", static_cast<unsigned char>(c));
    } else {
      out += c;
    }
  }
  out += '"';
}

void append_utf8(std::string& out, std::uint32_t code) {
  auto const byte = [&](std::uint32_t value) { out += static_cast<char>(value); };
  if (code < 0x80U) {
    byte(code);
  } else if (code < 0x800U) {
    byte(0xC0U | code >> 6U);
    byte(0x80U | (code & 0x3FU));
  } else if (code < 0x10000U) {
    byte(0xE0U | code >> 12U);
    byte(0x80U | (code >> 6U & 0x3FU));
    byte(0x80U | (code & 0x3FU));
  } else {
    byte(0xF0U | code >> 18U);
    byte(0x80U | (code >> 12U & 0x3FU));
    byte(0x80U | (code >> 6U & 0x3FU));
    byte(0x80U | (code & 0x3FU));
  }
}

/// Reads from the front; what does not fit makes the whole text wrong.
class Reader {
 public:
  explicit Reader(std::string_view text) : rest_(text) {}

  bool take(char c) {
    skip_space();
    if (!rest_.starts_with(c)) return false;
    rest_.remove_prefix(1);
    return true;
  }
  bool at_end() {
    skip_space();
    return rest_.empty();
  }
  std::optional<std::string> quoted() {
    if (!take('"')) return std::nullopt;
    std::string text;
    while (!rest_.empty() && rest_.front() != '"') {
      char const c = next();
      if (static_cast<unsigned char>(c) < 0x20U) return std::nullopt;
      if (c != '\\') {
        text += c;
      } else if (!escaped(text)) {
        return std::nullopt;
      }
    }
    if (rest_.empty()) return std::nullopt;
    next();
    return text;
  }
  /// A whole number, or one of the three words.
  std::optional<std::string> bare() {
    skip_space();
    for (std::string_view const word : {"true", "false", "null"}) {
      if (!rest_.starts_with(word)) continue;
      rest_.remove_prefix(word.size());
      return std::string(word);
    }
    std::int64_t value = 0;
    auto const [end, error] = std::from_chars(rest_.begin(), rest_.end(), value);
    if (error != std::errc()) return std::nullopt;
    std::string digits(rest_.begin(), end);
    rest_.remove_prefix(digits.size());
    return digits;
  }

 private:
  char next() {
    char const c = rest_.front();
    rest_.remove_prefix(1);
    return c;
  }
  void skip_space() {
    rest_.remove_prefix(std::min(rest_.find_first_not_of(" \t\r\n"), rest_.size()));
  }
  std::optional<std::uint32_t> four_digits() {
    std::uint32_t value = 0;
    auto const digits = rest_.substr(0, 4);
    auto const [end, error] = std::from_chars(digits.begin(), digits.end(), value, 16);
    if (error != std::errc() || end != digits.end() || digits.size() != 4) return std::nullopt;
    rest_.remove_prefix(4);
    return value;
  }
  /// One above 16 bits comes as two halves.
  bool unicode(std::string& text) {
    auto code = four_digits();
    if (!code) return false;
    if (*code >= 0xDC00U && *code < 0xE000U) return false;
    if (*code >= 0xD800U && *code < 0xDC00U) {
      if (!rest_.starts_with("\\u")) return false;
      rest_.remove_prefix(2);
      auto const low = four_digits();
      if (!low || *low < 0xDC00U || *low >= 0xE000U) return false;
      code = 0x10000U + ((*code - 0xD800U) << 10U) + (*low - 0xDC00U);
    }
    append_utf8(text, *code);
    return true;
  }
  bool escaped(std::string& text) {
    if (rest_.empty()) return false;
    char const c = next();
    if (c == 'u') return unicode(text);
    constexpr std::string_view from = "\"\\/bfnrt";
    constexpr std::string_view to = "\"\\/\b\f\n\r\t";
    auto const which = from.find(c);
    if (which == std::string_view::npos) return false;
    text += to[which];
    return true;
  }

  std::string_view rest_;
};

}  // namespace

void JsonLine::add_key(std::string_view key) {
  if (!fields_.empty()) fields_ += ',';
  append_quoted(fields_, key);
  fields_ += ':';
}

JsonLine& JsonLine::add(std::string_view key, std::string_view text) {
  add_key(key);
  append_quoted(fields_, text);
  return *this;
}

JsonLine& JsonLine::add(std::string_view key, std::int64_t number) {
  add_key(key);
  fields_ += std::to_string(number);
  return *this;
}

std::optional<std::map<std::string, std::string, std::less<>>> read_json_line(
    std::string_view text) {
  Reader reader(text);
  std::map<std::string, std::string, std::less<>> fields;
  if (!reader.take('{')) return std::nullopt;
  for (bool first = true; !reader.take('}'); first = false) {
    if (!first && !reader.take(',')) return std::nullopt;
    auto key = reader.quoted();
    if (!key || !reader.take(':')) return std::nullopt;
    auto value = reader.quoted();
    if (!value) value = reader.bare();
    if (!value) return std::nullopt;
    fields.insert_or_assign(std::move(*key), std::move(*value));
  }
  if (!reader.at_end()) return std::nullopt;
  return fields;
}

}  // namespace holt
