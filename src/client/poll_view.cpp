// SPDX-License-Identifier: Apache-2.0
// What onlookers see of polling: read from the store, by somebody who takes no part.

#include "client/core.hpp"
#include "contracts/polling_names.hpp"
#include "primitives/list_all.hpp"
#include "primitives/rendezvous.hpp"
#include "primitives/roster.hpp"
#include "primitives/trust.hpp"

#include <algorithm>
#include <map>
#include <string>
#include <utility>

namespace holt::client {
namespace {

using std::chrono::milliseconds;

/// `START POLLING/REST`, taken apart; both empty when it is none.
std::pair<std::string, std::string> parts_of(std::string const& name, std::string_view start) {
  auto const slash = name.find('/', start.size());
  if (slash == std::string::npos) return {};
  return {name.substr(start.size(), slash - start.size()), name.substr(slash + 1)};
}

NodeInfo node_of(LeaseInfo const& lease) {
  NodeInfo node;
  std::tie(node.polling, node.node) = parts_of(lease.name.text(), node_lease_start);
  auto const note = NodeNote::parse(lease.note);
  node.status = note.status;
  node.weight = note.weight;
  node.since = lease.acquired_at;
  node.ttl = lease.ttl;
  node.heartbeat_age = std::max(lease.ttl - lease.expires_in, milliseconds(0));
  return node;
}

/// A renewal is late when it was due, and half of the time behind it has passed: the holder itself
/// starts no poll any more.
bool is_late(LeaseInfo const& lease) {
  auto const every = trust::renew_every(lease.ttl);
  auto const age = lease.ttl - lease.expires_in;
  return age > every + (lease.ttl - every) / 2;
}

EndpointInfo endpoint_of(LeaseInfo const& lease) {
  EndpointInfo endpoint;
  endpoint.endpoint = parts_of(lease.name.text(), endpoint_lease_start).second;
  endpoint.state = is_late(lease) ? EndpointState::uncertain : EndpointState::owned;
  endpoint.node = lease.note;
  endpoint.fence = lease.fence;
  endpoint.since = lease.acquired_at;
  endpoint.expires_in = lease.expires_in;
  return endpoint;
}

/// Who should have each, as the nodes themselves find it: they say how.
void add_preferred(std::map<std::string, EndpointInfo>& endpoints, Roster const& roster) {
  if (roster.nodes().empty()) return;
  std::vector<std::string> ids;
  for (auto const& [id, endpoint] : endpoints) {
    if (!endpoint.paused) ids.push_back(id);
  }
  auto const& how = roster.members().front().note;
  auto const nominees = rendezvous::nominate(roster.nodes(), ids, how.weights, how.cap);
  for (std::size_t i = 0; i < ids.size(); ++i) {
    endpoints[ids[i]].preferred = roster.nodes()[nominees[i]].id;
  }
}

}  // namespace

std::vector<NodeInfo> Core::nodes(std::string_view polling) {
  check_usable("nodes");
  std::string const group = polling.empty() ? std::string() : std::string(polling) + '/';
  std::vector<NodeInfo> nodes;
  for (auto const& lease :
       run(list_all(leases(), std::string(node_lease_start) + group, call_deadline()))) {
    if (!lease.offered) nodes.push_back(node_of(lease));
  }
  std::map<std::pair<std::string, std::string>, std::uint64_t> held;
  for (auto const& lease :
       run(list_all(leases(), std::string(endpoint_lease_start) + group, call_deadline()))) {
    ++held[{parts_of(lease.name.text(), endpoint_lease_start).first, lease.note}];
  }
  for (auto& node : nodes) node.endpoints = held[{node.polling, node.node}];
  return nodes;
}

std::vector<EndpointInfo> Core::endpoints(Name const& polling) {
  check_usable("endpoints");
  auto const group = polling.text() + '/';
  auto const deadline = call_deadline();
  auto const asked = env_.now();
  std::string const nodes = std::string(node_lease_start) + group;
  Roster const roster(run(list_all(leases(), nodes, deadline)), nodes, asked);
  std::map<std::string, EndpointInfo> found;
  std::string const records = std::string(endpoint_record_start) + group;
  for (auto const& record : run(list_all(engine_->records(), records, deadline))) {
    auto& endpoint = found[record.key.substr(records.size())];
    endpoint.endpoint = record.key.substr(records.size());
    endpoint.paused = record.value == paused_endpoint;
  }
  for (auto const& lease :
       run(list_all(leases(), std::string(endpoint_lease_start) + group, deadline))) {
    auto held = endpoint_of(lease);
    auto& endpoint = found[held.endpoint];
    held.paused = endpoint.paused;
    endpoint = std::move(held);
  }
  add_preferred(found, roster);
  std::vector<EndpointInfo> all;
  all.reserve(found.size());
  for (auto& [id, endpoint] : found) all.push_back(std::move(endpoint));
  return all;
}

}  // namespace holt::client
