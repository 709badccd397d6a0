// SPDX-License-Identifier: Apache-2.0
// How a name is checked: one pass decodes UTF-8 strictly and looks at every code point; only text
// that may not be in normal form goes through utf8proc. Names of plain ASCII never do.
#include <holt/name.hpp>

#include "base/text_hash.hpp"

#include <holt/error.hpp>

#include <utf8proc.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <new>
#include <string>
#include <string_view>

namespace holt {
namespace {

/// Composition shortens text threefold at most (three Hangul jamo of three bytes each become one
/// syllable of three), so longer text than this cannot fit, and is not worth normalising.
constexpr std::size_t max_input_bytes = 8 * Name::max_bytes;

/// Below it every code point is in normal form, whatever stands beside it.
constexpr char32_t first_that_composes = 0x300;

constexpr std::string_view hex_digits = "0123456789ABCDEF";

std::string hex(std::uint32_t number, int width) {
  std::string text;
  for (int shift = 4 * (width - 1); shift >= 0; shift -= 4) {
    text += hex_digits[(number >> static_cast<unsigned>(shift)) & 15U];
  }
  return text;
}

std::string code_point(char32_t point) { return "U+" + hex(point, point > 0xFFFF ? 6 : 4); }

std::string at(std::size_t offset) { return " at byte offset " + std::to_string(offset); }

/// One code point of UTF-8, or what is wrong with the bytes.
struct Decoded {
  char32_t point = 0;
  std::size_t size = 0;
  char const* wrong = nullptr;
};

Decoded decode(std::string_view text) {
  auto const byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  auto const lead = byte(0);
  if (lead < 0x80) return {lead, 1};
  if (lead < 0xC0) return {.wrong = "a continuation byte without its start"};
  if (lead < 0xC2) return {.wrong = "an overlong form"};
  if (lead > 0xF4) return {.wrong = "a byte that never occurs in UTF-8"};
  std::size_t const size = lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : 4;
  char32_t point = lead & (0xFFU >> (size + 1));
  for (std::size_t i = 1; i < size; ++i) {
    if (i == text.size() || (byte(i) & 0xC0U) != 0x80) {
      return {.wrong = "a character that is cut short"};
    }
    point = (point << 6U) | (byte(i) & 0x3FU);
  }
  if ((size == 3 && point < 0x800) || (size == 4 && point < 0x10000)) {
    return {.wrong = "an overlong form"};
  }
  if (point >= 0xD800 && point <= 0xDFFF) return {.wrong = "half of a surrogate pair"};
  if (point > 0x10FFFF) return {.wrong = "a code point above U+10FFFF"};
  return {point, size};
}

/// Cc (with DEL), line and paragraph separators, and the characters that change the direction of
/// the text after them: with those, a listing would show another name than there is. Other format
/// characters stay allowed, as several scripts need them (ZWJ, ZWNJ, LRM, RLM).
bool is_control(char32_t point) {
  return point < 0x20 || (point >= 0x7F && point <= 0x9F) || point == 0x2028 || point == 0x2029 ||
         (point >= 0x202A && point <= 0x202E) || (point >= 0x2066 && point <= 0x2069);
}

/// White space, and what has no width: a name of nothing else cannot be seen.
bool is_blank(char32_t point) {
  return point == ' ' || point == 0xA0 || point == 0x1680 || (point >= 0x2000 && point <= 0x200F) ||
         point == 0x202F || (point >= 0x205F && point <= 0x2064) || point == 0x3000 ||
         point == 0xFEFF;
}

struct Look {
  std::string wrong;  ///< empty when nothing is
  bool blank = true;
  bool may_compose = false;
};

Look look_at(std::string_view text) {
  Look look;
  for (std::size_t offset = 0; offset < text.size();) {
    auto const decoded = decode(text.substr(offset));
    if (decoded.wrong != nullptr) {
      auto const byte = static_cast<unsigned char>(text[offset]);
      look.wrong = std::string("the name is not valid UTF-8: ") + decoded.wrong + " (0x" +
                   hex(byte, 2) + ")" + at(offset) + "; encode it as UTF-8";
      return look;
    }
    if (is_control(decoded.point)) {
      look.wrong = "the name has the control character " + code_point(decoded.point) + at(offset) +
                   "; leave it out";
      return look;
    }
    look.blank = look.blank && is_blank(decoded.point);
    look.may_compose = look.may_compose || decoded.point >= first_that_composes;
    offset += decoded.size;
  }
  return look;
}

std::string composed(std::string_view text) {
  struct Free {
    void operator()(utf8proc_uint8_t* memory) const noexcept { std::free(memory); }
  };
  utf8proc_uint8_t* result = nullptr;
  auto const size =
      utf8proc_map(reinterpret_cast<utf8proc_uint8_t const*>(text.data()),
                   static_cast<utf8proc_ssize_t>(text.size()), &result,
                   static_cast<utf8proc_option_t>(UTF8PROC_STABLE | UTF8PROC_COMPOSE));
  std::unique_ptr<utf8proc_uint8_t, Free> const owned(result);
  if (size < 0) throw std::bad_alloc();  // its only error for text that is valid and short
  return {reinterpret_cast<char const*>(result), static_cast<std::size_t>(size)};
}

/// NFC. utf8proc (2.8) drops U+11A7 after a Hangul syllable, as if it were "no final consonant" of
/// the composition formula. It composes with nothing on either side, so the parts between are
/// normalised alone.
std::string normal_form(std::string_view text) {
  constexpr std::string_view dropped = "\xE1\x86\xA7";  // U+11A7
  std::string normal;
  for (auto found = text.find(dropped); found != std::string_view::npos;
       found = text.find(dropped)) {
    normal.append(composed(text.substr(0, found))).append(dropped);
    text.remove_prefix(found + dropped.size());
  }
  return normal + composed(text);
}

std::string too_long(std::size_t size, std::string_view of_what) {
  return "the name is " + std::to_string(size) + " bytes long" + std::string(of_what) +
         "; give at most " + std::to_string(Name::max_bytes);
}

}  // namespace

std::expected<Name, std::string> Name::parse(std::string_view text) {
  if (text.empty()) return std::unexpected("the name is empty; give 1 to 512 bytes of text");
  if (text.size() > max_input_bytes) return std::unexpected(too_long(text.size(), ""));
  auto look = look_at(text);
  if (!look.wrong.empty()) return std::unexpected(std::move(look.wrong));
  if (look.blank) {
    return std::unexpected("the name is blank; give at least one character that can be seen");
  }
  auto normal = look.may_compose ? normal_form(text) : std::string(text);
  if (normal.size() > max_bytes) {
    return std::unexpected(
        too_long(normal.size(), look.may_compose ? " in Unicode normal form C" : ""));
  }
  return Name(Checked{}, std::move(normal));
}

Name::Name(std::string_view text) {
  auto parsed = parse(text);
  if (!parsed) throw InvalidArgument(parsed.error());
  text_ = std::move(parsed->text_);
}

std::string Name::hash() const { return text_hash(text_); }

std::expected<std::string, std::string> parse_instance(std::string_view text) {
  constexpr std::size_t max_instance = 63;
  constexpr std::string_view right =
      "; give 1 to 63 of a-z, 0-9 and '-', a letter first and no '-' last";
  auto const refuse = [&](std::string wrong) { return std::unexpected(wrong.append(right)); };
  auto const is_letter = [](char c) { return c >= 'a' && c <= 'z'; };
  auto const allowed = [&](char c) { return is_letter(c) || (c >= '0' && c <= '9') || c == '-'; };
  if (text.empty()) return refuse("the instance is empty");
  if (text.size() > max_instance) {
    return refuse("the instance is " + std::to_string(text.size()) + " characters long");
  }
  auto const bad = std::ranges::find_if_not(text, allowed);
  if (bad != text.end()) {
    auto const byte = static_cast<unsigned char>(*bad);
    auto const shown =
        byte > 0x20 && byte < 0x7F ? std::string("'") + *bad + "'" : "0x" + hex(byte, 2);
    return refuse("the instance has " + shown + at(static_cast<std::size_t>(bad - text.begin())));
  }
  if (!is_letter(text.front())) return refuse("the instance does not start with a letter");
  if (text.back() == '-') return refuse("the instance ends with '-'");
  return std::string(text);
}

}  // namespace holt
