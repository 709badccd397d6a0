// SPDX-License-Identifier: Apache-2.0
#pragma once
// What the commands that watch share: they go on until their time is over, nobody reads their
// output any more, or Ctrl-C.

#include <holt/watch.hpp>

#include <chrono>
#include <functional>
#include <optional>
#include <vector>

namespace holt::cli {

/// Writes what `watch` sees, until `duration` is over or something else ends it. Answers the exit
/// status. The signals of ending_signals() must be blocked, and SIGPIPE ignored.
int follow(Watch watch, std::optional<std::chrono::milliseconds> duration,
           std::function<void(std::vector<LeaseEvent> const&)> const& write);

}  // namespace holt::cli
