// SPDX-License-Identifier: Apache-2.0
#pragma once
// What the lease of an election is called: docs/adr/0015-elections.md.

#include <string_view>

namespace holt {

/// The election's name is behind it.
inline constexpr std::string_view election_lease_start = "election/";

}  // namespace holt
