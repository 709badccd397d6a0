// SPDX-License-Identifier: Apache-2.0
#pragma once
// The interop layout `poll`: the polling leases of a Redis store are those of a fleet that shares
// its polling with one key for each endpoint. Which keys that takes, and how an address asks for
// it: layout=poll&prefix=...&sessions=...&value=json|plain . No I/O here.
//
//   poll:lease:{endpoint}       string  who polls it, PX ttl            the original's
//   poll:node:{id}              string  that it is alive, PX ttl        the original's
//   session:{endpoint}          string  what there is to poll, JSON     the original's, only read
//   deleted-session:{endpoint}  string  that it is deleted              the original's, only read
//   poll:holt:lease:{endpoint}  hash    our grant of it                 ours
//   poll:holt:node:{id}         hash    our grant of it                 ours
//   poll:holt:fence             string  the last fence                  ours
//
// Ours begin with nothing that an original looks for. scripts/poll.lua tells what is in them, and
// poll_values.hpp what in the others.

#include <optional>
#include <string>
#include <string_view>

namespace holt::redis {

inline constexpr std::string_view poll_layout = "poll";

/// How values are written; both are read.
enum class PollForm { json, plain };
[[nodiscard]] std::string_view to_string(PollForm form);

/// What a lease of the fleet is about.
enum class PollKind { endpoint, node };

/// All of it checked.
struct PollOptions {
  /// Throws InvalidArgument.
  PollOptions(std::string prefix, std::string sessions, PollForm form);

  [[nodiscard]] std::string const& start(PollKind kind) const {
    return kind == PollKind::node ? node_start : lease_start;
  }
  [[nodiscard]] std::string const& side_start(PollKind kind) const {
    return kind == PollKind::node ? node_side_start : lease_side_start;
  }

  std::string prefix;
  std::string sessions;
  PollForm form;
  std::string lease_start;  ///< the endpoint is behind it
  std::string node_start;   ///< the node's id is behind it
  std::string lease_side_start;
  std::string node_side_start;
  std::string counter;          ///< of fences
  std::string session_start;    ///< the endpoint is behind it
  std::string tombstone_start;  ///< the endpoint is behind it
};

/// Takes these options out of the address; nothing: it asks for another layout, or for none. Throws
/// InvalidArgument.
[[nodiscard]] std::optional<PollOptions> take_poll_options(std::string& url);

/// The address for people, with the layout that it is used with.
[[nodiscard]] std::string with_layout(std::string const& url, PollOptions const& options);

}  // namespace holt::redis
