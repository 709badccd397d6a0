// SPDX-License-Identifier: Apache-2.0
#pragma once
// How many files this process may have open. A shell's usual limit, 1024, is a soft one, meant for
// programs that use select(): we do not, so we take what the hard one gives. Our commands may, so
// they get the limit that we found.

#include <sys/resource.h>

#include <cstddef>

namespace holt::cli {

/// Raises the limit as far as may be. Answers the one before, for the commands. Call it while this
/// process has one thread.
rlimit raise_open_files() noexcept;

/// How many files may be open.
[[nodiscard]] std::size_t open_files_limit() noexcept;

}  // namespace holt::cli
