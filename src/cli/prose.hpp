// SPDX-License-Identifier: Apache-2.0
#pragma once
// Longer texts of commands, written plainly once and shown in manual pages and in Markdown:
//   a paragraph is lines that follow each other, to be filled
//   "# " starts a heading, "- " an item of a list; two spaces start a line that stays as it is

#include <string>
#include <string_view>
#include <vector>

namespace holt::cli {

struct Block {
  enum class Kind { paragraph, heading, item, verbatim };

  Kind kind;
  std::string text;  ///< without marks; the lines of verbatim text end with '\n'
};

/// The blocks of a text, in order.
[[nodiscard]] std::vector<Block> blocks(std::string_view text);

}  // namespace holt::cli
