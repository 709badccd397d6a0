// SPDX-License-Identifier: Apache-2.0
#pragma once
// Asking a person before something that cannot be undone.

#include <string>
#include <string_view>

namespace holt::cli {

/// Asks on stderr and reads the answer from stdin: true for y or yes. Where there is no person to
/// ask (stdin or stderr is no terminal) throws UsageError, which says to give `flag`.
[[nodiscard]] bool confirm(std::string const& question, std::string_view flag);

}  // namespace holt::cli
