// SPDX-License-Identifier: Apache-2.0
#include "engines/redis/sovereign_options.hpp"

#include "contracts/election_names.hpp"
#include "engines/redis/query_options.hpp"

#include <fmt/format.h>

#include <array>
#include <utility>

namespace holt::redis {
namespace {

constexpr std::string_view usual_leader_key = "sovereign:leader";
constexpr std::string_view usual_heartbeat_prefix = "sovereign:heartbeat:";
constexpr auto names =
    std::to_array<std::string_view>({"layout", "leader_key", "heartbeat_prefix"});

/// The leader's key is the election's name, so that nobody can stand for another one here without
/// noticing.
Name lease_of(std::string const& leader_key) {
  auto const election = Name::parse(leader_key);
  if (!election) refuse_layout(fmt::format("leader_key: {}", election.error()));
  if (election->text() != leader_key) {
    refuse_layout("leader_key has letters in a form that no name has: write it in NFC");
  }
  auto const lease = Name::parse(std::string(election_lease_start) + leader_key);
  if (!lease) {
    refuse_layout(fmt::format("leader_key of {} bytes is too long: use at most {}",
                              leader_key.size(), Name::max_bytes - election_lease_start.size()));
  }
  return *lease;
}

}  // namespace

SovereignOptions::SovereignOptions(std::string leader, std::string heartbeat)
    : leader_key(std::move(leader)),
      heartbeat_prefix(std::move(heartbeat)),
      lease(lease_of(leader_key)),
      side_key(leader_key + ":holt"),
      line_key(side_key + ":line") {
  if (heartbeat_prefix.empty()) refuse_layout("heartbeat_prefix is empty");
  // The fleet deletes what it takes for a broken heartbeat.
  if (line_key.starts_with(heartbeat_prefix)) {
    refuse_layout(
        fmt::format("leader_key \"{}\" begins with heartbeat_prefix \"{}\": every new "
                    "leader would take its key for an old heartbeat and delete it",
                    leader_key, heartbeat_prefix));
  }
}

std::optional<SovereignOptions> take_sovereign_options(std::string& url) {
  auto rest = url;
  auto const found = take_query_options(rest, names);
  auto const value = [&](std::string_view option, std::string_view otherwise) {
    auto const at = found.find(option);
    return at == found.end() ? std::string(otherwise) : at->second;
  };
  if (value("layout", {}) != sovereign_layout) {
    for (auto const* const option : {"leader_key", "heartbeat_prefix"}) {
      if (found.contains(option)) refuse_layout(fmt::format("{} needs layout=sovereign", option));
    }
    return std::nullopt;
  }
  url = std::move(rest);
  return SovereignOptions(value("leader_key", usual_leader_key),
                          value("heartbeat_prefix", usual_heartbeat_prefix));
}

std::string with_layout(std::string const& url, SovereignOptions const& options) {
  return fmt::format("{}{}layout={}&leader_key={}&heartbeat_prefix={}", url,
                     url.contains('?') ? '&' : '?', sovereign_layout,
                     query_text(options.leader_key), query_text(options.heartbeat_prefix));
}

}  // namespace holt::redis
