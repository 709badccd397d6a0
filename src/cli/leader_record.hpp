// SPDX-License-Identifier: Apache-2.0
#pragma once
// Leaderships as answers of a command.

#include "cli/output.hpp"

#include <holt/election.hpp>

namespace holt::cli {

/// All that onlookers know of an election.
[[nodiscard]] Record leader_record(LeaderInfo const& leader);

}  // namespace holt::cli
