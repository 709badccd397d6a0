// SPDX-License-Identifier: Apache-2.0
#pragma once
// What a queue may be called: letters, digits, `.`, `_` and `-`, beginning with a letter or digit.

#include <holt/task.hpp>

#include <algorithm>
#include <string_view>

namespace holt {

inline constexpr std::string_view queue_name_rule =
    "a queue's name is made of letters, digits, '.', '_' and '-', begins with a letter or digit, "
    "and has at most 128 bytes";

[[nodiscard]] constexpr bool is_queue_name(std::string_view text) noexcept {
  constexpr auto plain = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
  };
  constexpr auto allowed = [plain](char c) { return plain(c) || c == '.' || c == '_' || c == '-'; };
  return !text.empty() && text.size() <= task_limits::queue_bytes && plain(text.front()) &&
         std::ranges::all_of(text, allowed);
}

}  // namespace holt
