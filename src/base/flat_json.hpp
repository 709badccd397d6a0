// SPDX-License-Identifier: Apache-2.0
#pragma once
// One JSON object whose values are texts and whole numbers: what notes and records of the register
// are written in, so that people and other programs can read them in the store. Anything deeper is
// not read: values that are objects or arrays, and other numbers, are refused.

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

namespace holt {

/// Writes field by field, in the order given. Texts must be UTF-8.
class JsonLine {
 public:
  JsonLine& add(std::string_view key, std::string_view text);
  JsonLine& add(std::string_view key, std::int64_t number);
  /// The object so far.
  [[nodiscard]] std::string text() const { return "{" + fields_ + "}"; }

 private:
  void add_key(std::string_view key);
  std::string fields_;
};

/// The fields, numbers as their digits, `true`, `false` and `null` as these words. Nothing: it is
/// not such an object. Of two fields with one key the last counts.
[[nodiscard]] std::optional<std::map<std::string, std::string, std::less<>>> read_json_line(
    std::string_view text);

}  // namespace holt
