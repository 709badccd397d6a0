// SPDX-License-Identifier: Apache-2.0
#pragma once
// Simulation: one seed from beginning to end. Nodes with clients work through a storm of faults;
// then the world heals, everyone must be served, everything must be cleaned up. The same options
// always give the same result.

#include "sim/options.hpp"

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace holt::sim {

struct Result {
  std::optional<std::string> violation;
  std::uint64_t hash = 0;  ///< of everything that happened
  std::uint64_t steps = 0;
  std::uint64_t grants = 0;
  std::uint64_t writes = 0;
  std::uint64_t refused = 0;  ///< writes that came too late
  Nanos simulated{};
  Nanos longest_wait{};  ///< for a lock once the world was healthy
  std::vector<std::string> last_lines;
};

/// Runs one simulation; `listener` is told every line of its trace and may be empty.
Result simulate(Options const& options, std::function<void(std::string const&)> listener = {});

}  // namespace holt::sim
