// SPDX-License-Identifier: Apache-2.0
#pragma once
// Endpoints as people list them: one per line. Blank lines and those that start with # do not
// count, nor do spaces around an endpoint.

#include <string>
#include <vector>

namespace holt::cli {

/// Reads the file, or standard input to its end for "-". Throws UsageError: it cannot be read, or
/// a line is no endpoint, and which.
[[nodiscard]] std::vector<std::string> read_endpoints(std::string const& file);

}  // namespace holt::cli
