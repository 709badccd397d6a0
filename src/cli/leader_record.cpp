// SPDX-License-Identifier: Apache-2.0
#include "cli/leader_record.hpp"

#include "cli/duration.hpp"
#include "cli/text.hpp"

#include <chrono>
#include <cstdint>
#include <string>

namespace holt::cli {
namespace {

Field milliseconds(std::string_view key, std::string_view label, std::chrono::milliseconds value,
                   std::string text) {
  return {key, label, std::int64_t{value.count()}, std::move(text)};
}

}  // namespace

Record leader_record(LeaderInfo const& leader) {
  std::string const state = leader.offered ? "offered" : "leading";
  // A leader that is no process of Holt has no term, and nobody knows since when it leads.
  bool const foreign = leader.term == Fence();
  auto const since = foreign ? std::string() : timestamp(leader.since);
  return {
      {"name", "election", leader.election.text(), leader.election.text()},
      {"leader", "leader", leader.id, printable(leader.id)},
      {"state", "state", state, state},
      {"term", "term", leader.term.padded(), foreign ? "none" : leader.term.decimal()},
      {"since", "since", since, foreign ? "not known" : since},
      milliseconds("ttl_ms", "ttl", leader.ttl, format_duration(leader.ttl)),
      milliseconds("heartbeat_age_ms", "heartbeat", leader.heartbeat_age,
                   rounded_duration(leader.heartbeat_age) + " ago"),
      milliseconds("expires_in_ms", "expires", leader.expires_in,
                   "in " + rounded_duration(leader.expires_in)),
      {"candidates", "candidates", std::int64_t{leader.candidates},
       std::to_string(leader.candidates)},
  };
}

}  // namespace holt::cli
