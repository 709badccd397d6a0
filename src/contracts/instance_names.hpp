// SPDX-License-Identifier: Apache-2.0
#pragma once
// What the leases and records of a store's register of instances are called, and what they say:
// docs/adr/0019-instances.md.

#include <string_view>

namespace holt {

/// The scope of the register: no valid name of an instance.
inline constexpr std::string_view register_scope = "_instances";

/// Leases. The braces keep those of one claim in one shard. Notes are JSON, see base/instance_note.
inline constexpr std::string_view name_lease_start = "{instance}/name/";
inline constexpr std::string_view workspace_lease_start = "{instance}/workspace/";
inline constexpr std::string_view replica_lease_start = "{instance}/replica/";
inline constexpr std::string_view up_lease_start = "{instance}/up/";

/// `instance/NAME`: the metadata, JSON. `ended/RUN_ID`: somebody ended this run; why.
inline constexpr std::string_view instance_record_start = "instance/";
inline constexpr std::string_view ended_record_start = "ended/";

inline constexpr std::string_view instance_counter = "instance_counter";

}  // namespace holt
