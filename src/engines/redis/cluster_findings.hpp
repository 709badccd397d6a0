// SPDX-License-Identifier: Apache-2.0
#pragma once
// What doctor says of a cluster: of its slots, and of all its masters in one.

#include "engines/redis/slot_map.hpp"

#include <holt/diagnosis.hpp>

#include <string>
#include <vector>

namespace holt::redis {

struct NodeFindings {
  std::string at;
  std::vector<Finding> findings;
};

/// One finding for each id: what all nodes say is said once, what they do not is said node by node.
/// The worst counts.
[[nodiscard]] std::vector<Finding> in_one(std::vector<NodeFindings> const& nodes);

[[nodiscard]] Finding slots_served(SlotMap const& map);

}  // namespace holt::redis
