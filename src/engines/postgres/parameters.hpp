// SPDX-License-Identifier: Apache-2.0
#pragma once
// The parameters of one statement, in the binary format of the protocol: no value is ever part of a
// statement's text, and any bytes go through. Numbers are big-endian, an array says its length and
// type before its elements.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace holt::postgres {

class Parameters {
 public:
  Parameters& add(std::string_view text);
  Parameters& add(std::int32_t number);
  Parameters& add(std::int64_t number);
  Parameters& add(bool flag);
  Parameters& add_bytes(std::string_view bytes);
  Parameters& add_null();
  Parameters& add(std::vector<std::string> const& texts);
  Parameters& add(std::vector<std::int32_t> const& numbers);
  Parameters& add(std::vector<std::int64_t> const& numbers);
  Parameters& add(std::vector<bool> const& flags);
  Parameters& add_bytes(std::vector<std::string_view> const& several);

  [[nodiscard]] int count() const { return static_cast<int>(values_.size()); }
  [[nodiscard]] std::vector<unsigned> const& types() const { return types_; }
  // Valid until the next add().
  [[nodiscard]] std::vector<char const*> pointers() const;
  [[nodiscard]] std::vector<int> lengths() const;
  [[nodiscard]] std::vector<int> formats() const;

 private:
  Parameters& add_value(unsigned type, std::string value);

  std::vector<unsigned> types_;
  std::vector<std::optional<std::string>> values_;
};

/// Whether the server takes it as text: UTF-8 without a zero byte.
[[nodiscard]] bool is_text(std::string_view bytes);

}  // namespace holt::postgres
