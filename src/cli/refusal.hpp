// SPDX-License-Identifier: Apache-2.0
#pragma once
// What a command that runs another says when that one cannot be started.

#include <string>

namespace holt::cli {

/// Tells why `command` could not be started, with errno `error`. Answers the exit status, as shells
/// have it.
int refuse_to_start(std::string const& command, int error);

}  // namespace holt::cli
