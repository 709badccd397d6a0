// SPDX-License-Identifier: Apache-2.0
#include "cli/prose.hpp"

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

namespace holt::cli {
namespace {

Block::Kind kind_of(std::string_view line) {
  if (line.starts_with("# ")) return Block::Kind::heading;
  if (line.starts_with("- ")) return Block::Kind::item;
  return line.starts_with("  ") ? Block::Kind::verbatim : Block::Kind::paragraph;
}

/// Whether a line goes on with what the block says.
bool continues(std::vector<Block> const& all, Block::Kind kind) {
  if (all.empty() || all.back().text.empty()) return false;
  auto const last = all.back().kind;
  if (kind == Block::Kind::verbatim) return last == Block::Kind::verbatim;
  return kind == Block::Kind::paragraph &&
         (last == Block::Kind::paragraph || last == Block::Kind::item);
}

}  // namespace

std::vector<Block> blocks(std::string_view text) {
  std::vector<Block> all;
  bool apart = true;  // a blank line was before this one
  while (!text.empty()) {
    auto const size = std::min(text.find('\n'), text.size());
    auto const line = text.substr(0, size);
    text.remove_prefix(std::min(size + 1, text.size()));
    auto const kind = kind_of(line);
    if (line.empty()) {
      apart = true;
      continue;
    }
    if (apart || !continues(all, kind)) all.push_back({kind, {}});
    auto& block = all.back();
    bool const verbatim = kind == Block::Kind::verbatim;
    bool const marked = kind != Block::Kind::paragraph;
    if (!block.text.empty() && !verbatim) block.text += ' ';
    block.text.append(marked ? line.substr(2) : line);
    if (verbatim) block.text += '\n';
    apart = false;
  }
  return all;
}

}  // namespace holt::cli
