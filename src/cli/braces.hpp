// SPDX-License-Identifier: Apache-2.0
#pragma once
// A command with a place for an endpoint in it, as xargs and parallel have it: every {} in any word
// stands for the endpoint. Where there is none, the endpoint is added as the last word.

#include <string>
#include <string_view>
#include <vector>

namespace holt::cli {

[[nodiscard]] std::vector<std::string> filled_in(std::vector<std::string> const& command,
                                                 std::string_view endpoint);

[[nodiscard]] bool has_braces(std::string_view word) noexcept;

}  // namespace holt::cli
