// SPDX-License-Identifier: Apache-2.0
#pragma once
// Where an orchestrator in the background writes its log.

#include <chrono>
#include <string>

namespace holt::cli {

/// $XDG_STATE_HOME/holt/log/NAME.log (~/.local/state where that is not set), which is made when it
/// is not there; NAME@2.log and so on when another process of this host still writes to that one
/// after `patience`. Only this user can read it. Throws Failure when it cannot be written.
[[nodiscard]] std::string log_place(std::string const& instance,
                                    std::chrono::milliseconds patience);

}  // namespace holt::cli
