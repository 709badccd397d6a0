// SPDX-License-Identifier: Apache-2.0
#include "engines/redis/cluster_findings.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace holt::redis {
namespace {

/// What the nodes say under one id.
struct Said {
  Finding worst;
  std::string each;  ///< node by node
  bool same = true;
};

}  // namespace

std::vector<Finding> in_one(std::vector<NodeFindings> const& nodes) {
  std::vector<Said> all;
  for (auto const& node : nodes) {
    for (auto const& finding : node.findings) {
      auto const found =
          std::ranges::find(all, finding.id, [](auto& said) { return said.worst.id; });
      auto const line = fmt::format("{}: {}", node.at, finding.detail);
      if (found == all.end()) {
        all.push_back({finding, line});
        continue;
      }
      found->same = found->same && found->worst.detail == finding.detail;
      found->each += "; " + line;
      if (finding.status > found->worst.status) found->worst = finding;
    }
  }
  std::vector<Finding> findings;
  for (auto& said : all) {
    if (!said.same) said.worst.detail = std::move(said.each);
    findings.push_back(std::move(said.worst));
  }
  return findings;
}

Finding slots_served(SlotMap const& map) {
  auto const missing = slots - map.covered();
  auto const masters = map.masters().size();
  Finding finding{
      "cluster",
      "Cluster",
      FindingStatus::ok,
      fmt::format("{} master{}, all {} slots served", masters, masters == 1 ? "" : "s", slots),
      {}};
  if (missing > 0) {
    finding.status = FindingStatus::fail;
    finding.detail = fmt::format("{} master{}, and {} of {} slots served by none", masters,
                                 masters == 1 ? "" : "s", missing, slots);
    finding.fix = "redis-cli --cluster check HOST:PORT says which; --cluster fix mends it";
  }
  return finding;
}

}  // namespace holt::redis
