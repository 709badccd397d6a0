// SPDX-License-Identifier: Apache-2.0
#pragma once
// What the leases and records of polling are called, and what their notes say:
// docs/adr/0016-polling.md. GROUP is the polling's name, in which there is no slash.

#include <string_view>

namespace holt {

/// `poll/GROUP/ENDPOINT`: the right to poll it. Its note is the node's id.
inline constexpr std::string_view endpoint_lease_start = "poll/";

/// `node/GROUP/ID`: a node that is alive. Its note is NodeNote's text.
inline constexpr std::string_view node_lease_start = "node/";

/// `endpoint/GROUP/ENDPOINT`: an endpoint that the store knows of. The value is `paused` or empty.
inline constexpr std::string_view endpoint_record_start = "endpoint/";
inline constexpr std::string_view paused_endpoint = "paused";

/// A node's note is `STATUS WEIGHT`, as `online 1`; a node that says `init` wants no endpoint yet.
inline constexpr std::string_view node_online = "online";
inline constexpr std::string_view node_init = "init";

}  // namespace holt
