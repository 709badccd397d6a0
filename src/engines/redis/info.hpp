// SPDX-License-Identifier: Apache-2.0
#pragma once
// Reading the text of INFO.

#include <algorithm>
#include <string_view>

namespace holt::redis {

/// The value of a field, empty if it is not there.
[[nodiscard]] inline std::string_view info_field(std::string_view info, std::string_view field) {
  std::size_t at = 0;
  while (at < info.size()) {
    auto const end = std::min(info.find("\r\n", at), info.size());
    auto const line = info.substr(at, end - at);
    if (line.starts_with(field) && line.substr(field.size()).starts_with(':')) {
      return line.substr(field.size() + 1);
    }
    at = end + 2;
  }
  return {};
}

}  // namespace holt::redis
