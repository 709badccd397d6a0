// SPDX-License-Identifier: Apache-2.0
#pragma once
// The raw limit of whatever passes from one process to another over a PostgreSQL: a commit, a
// notification and another commit, with libpq alone.

#include <chrono>
#include <cstdint>
#include <vector>

namespace holt::bench {

/// Seconds from before a statement that updates a row and sends a notification to the moment a
/// process that listens has answered it with an update of its own, so many times (1000 at most),
/// on a server of its own, with a pause before each.
std::vector<double> bare_messages(std::uint64_t samples, std::chrono::milliseconds pause);

}  // namespace holt::bench
