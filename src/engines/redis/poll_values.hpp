// SPDX-License-Identifier: Apache-2.0
#pragma once
// What is in the keys of the layout `poll`, and what its leases and records are called. No I/O
// here. The fleet's values, as the scripts read and write them (scripts/poll.lua):
//
//   value   who polls an endpoint                                           a node that is alive
//   json    {"owner_id":ID,"acquired_at":TIME,"last_renewed_at":TIME}       {"status":S,
//                                                                            "startup_time":TIME}
//   plain   the id                                                          1
//
// TIME is as Go writes it: RFC 3339, up to nine digits of a second without zeros at the end.

#include "engines/redis/poll_options.hpp"

#include <chrono>
#include <optional>
#include <string>
#include <string_view>

namespace holt::redis {

/// In UTC, by the clock of who writes: for people, it decides nothing.
[[nodiscard]] std::string go_time(std::chrono::system_clock::time_point when);
/// In any zone. Nothing: it is no such time.
[[nodiscard]] std::optional<std::chrono::system_clock::time_point> parse_go_time(
    std::string_view text);

/// A text in JSON, as Go writes it.
[[nodiscard]] std::string go_json(std::string_view text);

/// The status that a node's note begins with. Throws InvalidArgument where there is none that
/// others could read.
[[nodiscard]] std::string status_in(std::string_view note);
/// The note of a node that the fleet's key says this of. A fleet knows no weights. A status that
/// nobody can read is that of a node that wants nothing.
[[nodiscard]] std::string node_note(std::string_view status);

/// The group that names are listed under where nobody has said which: a fleet has but one.
inline constexpr std::string_view poll_fleet_group = "fleet";

/// `START` `GROUP/ID`, taken apart. Views of the text.
struct PollName {
  std::string_view group;
  std::string_view id;
};
/// Nothing: it does not begin with `start`, as "poll/". Throws InvalidArgument when group or id are
/// missing.
[[nodiscard]] std::optional<PollName> poll_name(std::string_view text, std::string_view start);

/// Whether it is a name as it stands. Keys of others may be of bytes that no name has.
[[nodiscard]] bool is_name(std::string_view text);

/// Which of the fleet's names a listing asks for.
struct PollRange {
  std::string head;  ///< what a name has before the id: "poll/GROUP/"
  std::string ids;   ///< what the ids begin with
};
/// Nothing: none of them. `start` as above.
[[nodiscard]] std::optional<PollRange> poll_range(std::string_view prefix, std::string_view start);

}  // namespace holt::redis
