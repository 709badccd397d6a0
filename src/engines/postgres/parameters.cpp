// SPDX-License-Identifier: Apache-2.0
#include "engines/postgres/parameters.hpp"

#include <array>
#include <bit>
#include <concepts>
#include <utility>

namespace holt::postgres {
namespace {

// Types of the server's catalogue; their numbers never change.
constexpr unsigned bool_type = 16;
constexpr unsigned bytea_type = 17;
constexpr unsigned int8_type = 20;
constexpr unsigned int4_type = 23;
constexpr unsigned text_type = 25;
constexpr unsigned bool_array = 1000;
constexpr unsigned bytea_array = 1001;
constexpr unsigned int4_array = 1007;
constexpr unsigned text_array = 1009;
constexpr unsigned int8_array = 1016;

template <std::integral Number>
void append(std::string& bytes, Number number) {
  auto const value = static_cast<std::make_unsigned_t<Number>>(number);
  std::array<char, sizeof value> big{};
  for (std::size_t i = 0; i < big.size(); ++i) {
    big[i] = static_cast<char>((value >> (8 * (big.size() - 1 - i))) & 0xFFU);
  }
  bytes.append(big.data(), big.size());
}

template <std::integral Number>
std::string encoded(Number number) {
  std::string bytes;
  append(bytes, number);
  return bytes;
}

// With its length before it.
void append_element(std::string& bytes, std::string_view text) {
  append(bytes, static_cast<std::int32_t>(text.size()));
  bytes += text;
}
void append_element(std::string& bytes, bool flag) {
  append(bytes, std::int32_t{1});
  bytes += flag ? '\1' : '\0';
}
template <std::integral Number>
  requires(!std::same_as<Number, bool>)
void append_element(std::string& bytes, Number number) {
  append(bytes, static_cast<std::int32_t>(sizeof number));
  append(bytes, number);
}

/// With the lengths before them, about.
template <class Elements>
std::size_t bytes_of(Elements const& elements) {
  std::size_t bytes = 0;
  if constexpr (requires { elements.front().size(); }) {
    for (auto const& element : elements) bytes += element.size();
  } else {
    bytes = elements.size() * sizeof(std::int64_t);
  }
  return bytes + elements.size() * sizeof(std::int32_t);
}

/// One dimension, counted from 1, no NULLs.
template <class Elements>
std::string array_of(unsigned type, Elements const& elements) {
  std::string bytes;
  append(bytes, std::int32_t{1});
  append(bytes, std::int32_t{0});
  append(bytes, type);
  append(bytes, static_cast<std::int32_t>(elements.size()));
  append(bytes, std::int32_t{1});
  bytes.reserve(bytes.size() + bytes_of(elements));
  for (auto const& element : elements) append_element(bytes, element);
  return bytes;
}

/// How many bytes of UTF-8 begin here; 0: none that are valid.
std::size_t sequence_length(std::string_view rest) {
  auto const byte = [&](std::size_t at) { return static_cast<unsigned char>(rest[at]); };
  auto const lead = byte(0);
  if (lead < 0x80) return lead == 0 ? 0 : 1;
  std::size_t const length = lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : 2;
  if (lead < 0xC2 || lead > 0xF4 || rest.size() < length) return 0;
  for (std::size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xC0U) != 0x80) return 0;
  }
  bool const overlong = (lead == 0xE0 && byte(1) < 0xA0) || (lead == 0xF0 && byte(1) < 0x90);
  bool const surrogate = lead == 0xED && byte(1) >= 0xA0;
  bool const beyond = lead == 0xF4 && byte(1) >= 0x90;
  return overlong || surrogate || beyond ? 0 : length;
}

}  // namespace

Parameters& Parameters::add_value(unsigned type, std::string value) {
  types_.push_back(type);
  values_.emplace_back(std::move(value));
  return *this;
}

Parameters& Parameters::add(std::string_view text) {
  return add_value(text_type, std::string(text));
}
Parameters& Parameters::add(std::int32_t number) { return add_value(int4_type, encoded(number)); }
Parameters& Parameters::add(std::int64_t number) { return add_value(int8_type, encoded(number)); }
Parameters& Parameters::add(bool flag) {
  return add_value(bool_type, std::string(1, flag ? '\1' : '\0'));
}
Parameters& Parameters::add_bytes(std::string_view bytes) {
  return add_value(bytea_type, std::string(bytes));
}

Parameters& Parameters::add_null() {
  types_.push_back(0);
  values_.emplace_back();
  return *this;
}

Parameters& Parameters::add(std::vector<std::string> const& texts) {
  return add_value(text_array, array_of(text_type, texts));
}
Parameters& Parameters::add(std::vector<std::int32_t> const& numbers) {
  return add_value(int4_array, array_of(int4_type, numbers));
}
Parameters& Parameters::add(std::vector<std::int64_t> const& numbers) {
  return add_value(int8_array, array_of(int8_type, numbers));
}
Parameters& Parameters::add(std::vector<bool> const& flags) {
  return add_value(bool_array, array_of(bool_type, flags));
}

Parameters& Parameters::add_bytes(std::vector<std::string_view> const& several) {
  return add_value(bytea_array, array_of(bytea_type, several));
}

std::vector<char const*> Parameters::pointers() const {
  std::vector<char const*> pointers;
  pointers.reserve(values_.size());
  for (auto const& value : values_) pointers.push_back(value ? value->data() : nullptr);
  return pointers;
}

std::vector<int> Parameters::lengths() const {
  std::vector<int> lengths;
  lengths.reserve(values_.size());
  for (auto const& value : values_) {
    lengths.push_back(value ? static_cast<int>(value->size()) : 0);
  }
  return lengths;
}

std::vector<int> Parameters::formats() const { return std::vector<int>(values_.size(), 1); }

bool is_text(std::string_view bytes) {
  while (!bytes.empty()) {
    auto const length = sequence_length(bytes);
    if (length == 0) return false;
    bytes.remove_prefix(length);
  }
  return true;
}

}  // namespace holt::postgres
