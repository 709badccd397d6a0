// SPDX-License-Identifier: Apache-2.0
#pragma once
// The URL of a store, from where --store says it is. A URL may carry a password, and what stands
// on a command line every user of the machine can read; so it may also be
//   @FILE   in a file that only its owner can read
//   -       on standard input: one line, the rest is left for others

#include "cli/setting.hpp"

#include <string>

namespace holt::cli {

/// The URL itself. A relative path in a configuration file is taken from the file's folder.
/// Throws UsageError for a password on the command line, and for one in a file that others can
/// read; Failure for a file that cannot be read.
[[nodiscard]] std::string store_url(Setting const& store);

}  // namespace holt::cli
