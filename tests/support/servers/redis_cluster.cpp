// SPDX-License-Identifier: Apache-2.0
#include "support/servers/redis_cluster.hpp"

#include "support/servers/wait_until.hpp"

#include <map>

namespace holt::test {
namespace {

using namespace std::chrono_literals;

RedisOptions with_cluster(RedisOptions options, std::uint16_t bus_port) {
  options.config.insert(options.config.begin(),
                        {"cluster-enabled yes", "cluster-config-file nodes.conf",
                         "cluster-node-timeout 1000", "cluster-port " + std::to_string(bus_port)});
  if (options.certificates) {
    options.config.insert(options.config.begin(), {"tls-cluster yes", "tls-replication yes"});
  }
  return options;
}

}  // namespace

RedisCluster::RedisCluster(RedisOptions options) {
  if (options.tls != RedisOptions::Tls::none) {
    tls_ = std::make_shared<TlsFiles>();
    options.certificates = tls_;
  }
  for (std::size_t i = 0; i < size; ++i) {
    nodes_[i] = on_free_ports([&] {
      bus_ports_[i] = ReservedPort();
      return std::make_unique<RedisServer>(with_cluster(options, bus_ports_[i].number()));
    });
  }
  // Nodes that have not shaken hands within this time forget each other, and a busy machine is
  // slow, with TLS above all.
  set_node_timeout(5s);
  create();
  await_ok();
  await_replicas();
  set_node_timeout(1s);
}

void RedisCluster::set_node_timeout(std::chrono::milliseconds timeout) {
  auto const text = std::to_string(timeout.count());
  for (auto& node : nodes_) node->command({"CONFIG", "SET", "cluster-node-timeout", text});
}

void RedisCluster::create() {
  SpawnPlan plan;
  plan.command = {"redis-cli", "--cluster", "create"};
  for (std::size_t i = 0; i < size; ++i) {
    plan.command.push_back("127.0.0.1:" + std::to_string(port_of(*nodes_[i])) + "@" +
                           std::to_string(bus_ports_[i].number()));
  }
  if (tls_) {
    plan.command.insert(plan.command.end(),
                        {"--tls", "--cacert", tls_->ca(), "--cert", tls_->client_certificate(),
                         "--key", tls_->client_key()});
  }
  plan.command.insert(plan.command.end(), {"--cluster-replicas", "1", "--cluster-yes"});
  plan.folder = folder_.path();
  plan.log = folder_.file("create.log");
  run_program("redis-cli --cluster create", plan);
}

void RedisCluster::await_ok() {
  for (auto& node : nodes_) {
    if (!node->process().running()) continue;
    node->process().await("all slots served", [&] {
      auto const info = node->command({"CLUSTER", "INFO"}).text;
      return info_field(info, "cluster_state") == "ok" &&
             info_field(info, "cluster_slots_ok") == "16384" &&
             info_field(info, "cluster_known_nodes") == std::to_string(size);
    });
  }
}

void RedisCluster::flush() {
  for (auto& node : nodes_) {
    if (node->command({"ROLE"}).items.at(0).text == "master") node->flush();
  }
}

void RedisCluster::await_replicas() {
  for (auto& node : nodes_) {
    node->process().await("is a master with a replica, or a replica in sync", [&] {
      auto const info = node->command({"INFO", "replication"}).text;
      if (info_field(info, "role") == "master") {
        return info_field(info, "slave0").find("state=online") != std::string::npos;
      }
      return info_field(info, "master_link_status") == "up";
    });
  }
}

void RedisCluster::await_replicated(RedisServer& master) {
  auto const replication = [&] { return master.command({"INFO", "replication"}).text; };
  auto const told = std::stoll(info_field(replication(), "master_repl_offset"));
  master.process().await("has told its replica everything", [&] {
    auto const replica = info_field(replication(), "slave0");  // ip=...,offset=...,lag=...
    auto const at = replica.find("offset=");
    return at != std::string::npos && std::stoll(replica.substr(at + 7)) >= told;
  });
}

std::uint16_t RedisCluster::port_of(RedisServer const& node) const {
  return tls_ ? node.tls_port() : node.port();
}

std::string RedisCluster::url(std::string const& credentials) const {
  std::string url(tls_ ? "rediss+cluster://" : "redis+cluster://");
  if (!credentials.empty()) url += credentials + "@";
  for (std::size_t i = 0; i < 3; ++i) {
    url += (i == 0 ? "127.0.0.1:" : ",127.0.0.1:") + std::to_string(port_of(*nodes_.at(i)));
  }
  if (!tls_) return url;
  return url + "?ca_file=" + tls_->ca() + "&certificate_file=" + tls_->client_certificate() +
         "&key_file=" + tls_->client_key();
}

std::int64_t RedisCluster::slot_of(std::string const& key) {
  for (auto& node : nodes_) {
    if (node->process().running()) return node->command({"CLUSTER", "KEYSLOT", key}).integer;
  }
  throw ServerFailed("no node of the cluster runs");
}

std::uint16_t RedisCluster::port_serving(std::int64_t slot, RedisServer& asked) const {
  for (auto const& range : asked.command({"CLUSTER", "SLOTS"}).items) {
    if (slot < range.items.at(0).integer || slot > range.items.at(1).integer) continue;
    return static_cast<std::uint16_t>(range.items.at(2).items.at(1).integer);
  }
  return 0;
}

RedisServer* RedisCluster::agreed_master_of(std::int64_t slot) {
  std::map<std::uint16_t, int> votes;
  int running = 0;
  for (auto& node : nodes_) {
    if (!node->process().running()) continue;
    ++running;
    ++votes[port_serving(slot, *node)];
  }
  for (auto& node : nodes_) {
    if (2 * votes[node->port()] > running) return node.get();
  }
  return nullptr;
}

/// After a slot was moved the nodes hear of it one after the other.
RedisServer& RedisCluster::master_of(std::int64_t slot) {
  RedisServer* master = nullptr;
  bool const agreed = wait_until([&] { return (master = agreed_master_of(slot)) != nullptr; });
  if (agreed) return *master;
  throw ServerFailed("the nodes do not agree on who serves slot " + std::to_string(slot));
}

std::string RedisCluster::id_of(RedisServer& node) {
  return node.command({"CLUSTER", "MYID"}).text;
}

RedisServer& RedisCluster::fail_over_by_kill(std::int64_t slot) {
  auto const& old = master_of(slot);
  master_of(slot).kill();
  RedisServer* found = nullptr;
  bool const there = wait_until(
      [&] {
        try {
          found = &master_of(slot);
        } catch (ServerFailed const&) {
          return false;
        }
        return found != &old && found->command({"ROLE"}).items.at(0).text == "master";
      },
      60s);
  if (!there) throw ServerFailed("slot " + std::to_string(slot) + " has no new master in a minute");
  await_ok();
  return *found;
}

void RedisCluster::move_slot(std::int64_t slot, RedisServer& to) {
  begin_move(slot, to);
  move_rest(slot, to);
}

void RedisCluster::move_rest(std::int64_t slot, RedisServer& to) {
  auto& from = master_of(slot);
  while (true) {
    auto const found = from.command({"CLUSTER", "GETKEYSINSLOT", std::to_string(slot), "100"});
    if (found.items.empty()) break;
    std::vector<std::string> keys;
    for (auto const& key : found.items) keys.push_back(key.text);
    move_keys(keys, to);
  }
  end_move(slot, to);
}

void RedisCluster::begin_move(std::int64_t slot, RedisServer& to) {
  auto& from = master_of(slot);
  auto const number = std::to_string(slot);
  to.command({"CLUSTER", "SETSLOT", number, "IMPORTING", id_of(from)});
  from.command({"CLUSTER", "SETSLOT", number, "MIGRATING", id_of(to)});
}

void RedisCluster::move_keys(std::vector<std::string> const& keys, RedisServer& to) {
  RedisClient::Words words{"MIGRATE", "127.0.0.1", std::to_string(port_of(to)), "", "0",
                           "5000",    "KEYS"};
  words.insert(words.end(), keys.begin(), keys.end());
  master_for(keys.at(0)).command(words);
}

void RedisCluster::end_move(std::int64_t slot, RedisServer& to) {
  auto& from = master_of(slot);
  auto const number = std::to_string(slot);
  for (auto* node : {&to, &from}) node->command({"CLUSTER", "SETSLOT", number, "NODE", id_of(to)});
  to.process().await("slot " + number + " is known to be there",
                     [&] { return &master_of(slot) == &to; });
}

}  // namespace holt::test
