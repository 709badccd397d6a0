// SPDX-License-Identifier: Apache-2.0
#pragma once
// "Did you mean": the known word that is nearest to a mistyped one.

#include <string_view>
#include <vector>

namespace holt::cli {

/// The candidate with the fewest edits (insert, delete, replace, swap of neighbours) from `word`;
/// empty when none is near enough to be what was meant.
[[nodiscard]] std::string_view nearest(std::string_view word,
                                       std::vector<std::string_view> const& candidates);

}  // namespace holt::cli
