// SPDX-License-Identifier: Apache-2.0
#include "cli/secret.hpp"

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>

namespace holt::cli {
namespace {

struct Part {
  std::size_t start = 0;
  std::size_t size = 0;
};

/// The password in an authority: between the first ':' and the last '@' of what follows "://", as
/// far as the text has no space or quote. Rather too much than too little: a '/' that should have
/// been written %2F may be part of it.
Part after_user(std::string_view text, std::size_t from) {
  auto const scheme = text.find("://", from);
  if (scheme == std::string_view::npos) return {};
  auto const start = scheme + 3;
  auto const end = std::min(text.find_first_of(" \t\n\"'", start), text.size());
  auto const word = text.substr(start, end - start);
  auto const at = word.rfind('@');
  auto const colon = word.find(':');
  if (word.starts_with('/') || at == std::string_view::npos || colon >= at) {
    return after_user(text, start);
  }
  return {start + colon + 1, at - colon - 1};
}

Part in_query(std::string_view text, std::size_t from) {
  constexpr std::string_view key = "password=";
  auto const found = text.find(key, from);
  if (found == std::string_view::npos) return {};
  auto const start = found + key.size();
  bool const in_url = found > 0 && (text[found - 1] == '?' || text[found - 1] == '&');
  if (!in_url) return in_query(text, start);
  return {start, std::min(text.find_first_of("& \t\n\"'", start), text.size()) - start};
}

void hide(std::string& text, Part (*find)(std::string_view, std::size_t)) {
  constexpr std::string_view stars = "***";
  for (auto part = find(text, 0); part.start != 0; part = find(text, part.start + stars.size())) {
    text.replace(part.start, part.size, stars);
  }
}

}  // namespace

bool has_password(std::string_view text) {
  return after_user(text, 0).start != 0 || in_query(text, 0).start != 0;
}

std::string without_passwords(std::string_view text) {
  std::string hidden(text);
  hide(hidden, &after_user);
  hide(hidden, &in_query);
  return hidden;
}

}  // namespace holt::cli
