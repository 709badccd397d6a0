// SPDX-License-Identifier: Apache-2.0
#include "cli/nearest.hpp"

#include <algorithm>
#include <cstddef>
#include <string_view>
#include <vector>

namespace holt::cli {
namespace {

/// Optimal string alignment distance, three rows at a time.
std::size_t edits(std::string_view a, std::string_view b) {
  std::vector<std::size_t> before(b.size() + 1);
  std::vector<std::size_t> above(b.size() + 1);
  std::vector<std::size_t> row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) above[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      std::size_t const replace = above[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      row[j] = std::min({replace, above[j] + 1, row[j - 1] + 1});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
        row[j] = std::min(row[j], before[j - 2] + 1);
      }
    }
    before.swap(above);
    above.swap(row);
  }
  return above[b.size()];
}

}  // namespace

std::string_view nearest(std::string_view word, std::vector<std::string_view> const& candidates) {
  constexpr std::size_t longest_typo = 32;
  if (word.size() > longest_typo) return {};
  std::string_view best;
  std::size_t best_edits = 1 + std::max<std::size_t>(word.size() / 3, 1);
  for (auto const candidate : candidates) {
    auto const count = edits(word, candidate);
    if (count < best_edits) {
      best = candidate;
      best_edits = count;
    }
  }
  return best;
}

}  // namespace holt::cli
