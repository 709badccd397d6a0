// SPDX-License-Identifier: Apache-2.0
#pragma once
// The interop layout `sovereign`: one election of a Redis store is that of a fleet that runs the
// Sovereign library. Which keys that takes, and how an address asks for it:
// layout=sovereign&leader_key=...&heartbeat_prefix=... . No I/O here.
//
//   sovereign:leader           string  the leader's id, EX ttl in whole seconds     the original's
//   sovereign:heartbeat:{id}   string  ms since 1970, EX ttl + 5                    the original's
//   sovereign:leader:holt      hash    our last grant, with its term                ours
//   sovereign:leader:holt:line hash    who of us waits                              ours
//
// scripts/sovereign.lua tells what is in ours.

#include <holt/name.hpp>

#include <optional>
#include <string>
#include <string_view>

namespace holt::redis {

inline constexpr std::string_view sovereign_layout = "sovereign";

/// All of it checked.
struct SovereignOptions {
  /// Throws InvalidArgument.
  SovereignOptions(std::string leader_key, std::string heartbeat_prefix);

  std::string leader_key;  ///< the name of the election, too
  std::string heartbeat_prefix;
  Name lease;            ///< the election's
  std::string side_key;  ///< our last grant
  std::string line_key;  ///< who of us waits
};

/// Takes these options out of the address; nothing: it asks for another layout, or for none. Throws
/// InvalidArgument.
[[nodiscard]] std::optional<SovereignOptions> take_sovereign_options(std::string& url);

/// The address for people, with the layout that it is used with.
[[nodiscard]] std::string with_layout(std::string const& url, SovereignOptions const& options);

}  // namespace holt::redis
