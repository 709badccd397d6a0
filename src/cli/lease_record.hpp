// SPDX-License-Identifier: Apache-2.0
#pragma once
// Leases as answers of a command: which fields, under which keys, said how.

#include "cli/output.hpp"

#include <holt/lease.hpp>

#include <chrono>
#include <string>

namespace holt::cli {

/// All that is known of a lease.
[[nodiscard]] Record lease_record(LeaseInfo const& lease);

/// The same for a table of many: owner, ttl and the like are left out for people, not in JSON.
[[nodiscard]] Record lease_line(LeaseInfo const& lease);

/// A lease that was just granted, for whoever keeps the handle.
[[nodiscard]] Record grant_record(Handle const& handle, Fence fence, std::chrono::milliseconds ttl,
                                  std::chrono::milliseconds expires_in);

/// Who has it, for messages: `held by "pid 12 on a: make" (fence 34, expires in 12s)`.
[[nodiscard]] std::string holder(Busy const& busy);

}  // namespace holt::cli
