// SPDX-License-Identifier: Apache-2.0
#include "cli/braces.hpp"

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace holt::cli {
namespace {

constexpr std::string_view braces = "{}";

/// The endpoint itself is not looked at: braces in it stay.
std::string filled_in(std::string_view word, std::string_view endpoint) {
  std::string text;
  while (true) {
    auto const at = word.find(braces);
    text += word.substr(0, at);
    if (at == std::string_view::npos) return text;
    text += endpoint;
    word.remove_prefix(at + braces.size());
  }
}

}  // namespace

bool has_braces(std::string_view word) noexcept {
  return word.find(braces) != std::string_view::npos;
}

std::vector<std::string> filled_in(std::vector<std::string> const& command,
                                   std::string_view endpoint) {
  std::vector<std::string> words;
  words.reserve(command.size() + 1);
  for (auto const& word : command) words.push_back(filled_in(word, endpoint));
  bool const has_place =
      std::ranges::any_of(command, [](std::string const& word) { return has_braces(word); });
  if (!has_place) words.emplace_back(endpoint);
  return words;
}

}  // namespace holt::cli
