// SPDX-License-Identifier: Apache-2.0
#include "engines/redis/diagnose.hpp"

#include "engines/redis/cluster_findings.hpp"
#include "engines/redis/info.hpp"
#include "engines/redis/scripting.hpp"
#include "engines/redis/stored_findings.hpp"

#include <holt/error.hpp>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>

namespace holt::redis {
namespace {

using enum FindingStatus;

std::int64_t number(std::string_view text) {
  std::int64_t value = 0;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

Finding version(std::string_view info) {
  auto const text = info_field(info, "redis_version");
  Finding finding{"server-version", "Server", ok, fmt::format("Redis {}", text), {}};
  constexpr std::int64_t oldest = 6;
  if (number(text) < oldest) {
    finding.status = warn;
    finding.fix = "Holt is tested with Redis 6 and newer: upgrade the server";
  }
  return finding;
}

Finding eviction(std::string_view info) {
  auto const policy = info_field(info, "maxmemory_policy");
  Finding finding{"eviction", "Eviction", ok, fmt::format("maxmemory-policy {}", policy), {}};
  if (policy != "noeviction") {
    finding.status = fail;
    finding.detail += ": a lease that is thrown away is granted twice";
    finding.fix = "CONFIG SET maxmemory-policy noeviction, and the same in redis.conf";
  }
  return finding;
}

Finding memory(std::string_view info) {
  auto const used = number(info_field(info, "used_memory"));
  auto const most = number(info_field(info, "maxmemory"));
  Finding finding{
      "memory",
      "Memory",
      ok,
      fmt::format("{} in use, {}", info_field(info, "used_memory_human"),
                  most == 0 ? std::string("no limit")
                            : fmt::format("{} allowed", info_field(info, "maxmemory_human"))),
      {}};
  constexpr double nearly_full = 0.9;
  if (most > 0 && static_cast<double>(used) > nearly_full * static_cast<double>(most)) {
    finding.status = warn;
    finding.fix = "give the server more memory: when it is full, no lease is granted or renewed";
  }
  return finding;
}

Finding persistence(std::string_view info) {
  bool const log = info_field(info, "aof_enabled") == "1";
  bool const failed_save = info_field(info, "rdb_last_bgsave_status") == "err" ||
                           info_field(info, "aof_last_write_status") == "err";
  Finding finding{"persistence",
                  "Persistence",
                  log ? ok : FindingStatus::info,
                  log ? "append-only file"
                      : "no append-only file: a restart forgets what came "
                        "after the last snapshot",
                  {}};
  if (failed_save) {
    finding.status = fail;
    finding.detail += "; the last save failed";
    finding.fix = "look into the server's log: disk full, or a folder it may not write?";
  }
  return finding;
}

Finding replication(Place const& place, std::string_view info) {
  auto const replicas = number(info_field(info, "connected_slaves"));
  Finding finding{
      "replication",
      "Replication",
      ok,
      fmt::format("{}, {} replica{}", info_field(info, "role"), replicas, replicas == 1 ? "" : "s"),
      {}};
  bool const guarded = !info_field(info, "min_slaves_good_slaves").empty();
  if (guarded || replicas > 0) {
    finding.detail += guarded ? ", min-replicas-to-write is set" : ", no min-replicas-to-write";
  }
  if (!place.cluster.empty() && replicas == 0) {
    finding.status = warn;
    finding.detail += ": when it dies, its part of the names cannot be used";
    finding.fix = "give it a replica: redis-cli --cluster add-node NEW ANY --cluster-slave";
  }
  return finding;
}

/// Of a store that waits for replicas; `info` is empty when the server cannot be asked.
Finding confirmed_durability(Place const& place, std::string_view info) {
  Finding finding{"durability",
                  "Durability",
                  ok,
                  fmt::format("redis-wait: what {} replica{} confirmed. Kept when one of those is "
                              "promoted",
                              place.wait_replicas, place.wait_replicas == 1 ? "" : "s"),
                  {}};
  if (info.empty()) return finding;
  auto const replicas = number(info_field(info, "connected_slaves"));
  if (replicas < place.wait_replicas) {
    finding.status = fail;
    finding.detail += fmt::format("; there are {}, so nothing is granted", replicas);
    finding.fix = "connect more replicas, or lower wait_replicas in the store's address";
  } else if (replicas > place.wait_replicas) {
    finding.status = FindingStatus::info;
    finding.detail += fmt::format("; there are {}, and one that did not may be promoted", replicas);
  }
  return finding;
}

Finding durability() {
  return {"durability",
          "Durability",
          info,
          "single: what one server has answered. A failover, or a restart without an append-only "
          "file, may lose the last grants; fences grow all the same",
          {}};
}

Finding clock(Env& env, ReplyView const& time) {
  auto const there = number(time[0].text()) * 1000 + number(time[1].text()) / 1000;
  auto const here =
      std::chrono::duration_cast<std::chrono::milliseconds>(env.wall().time_since_epoch()).count();
  auto const apart = std::llabs(there - here);
  Finding finding{"server-clock",
                  "Server's clock",
                  ok,
                  fmt::format("{} ms apart from ours; it alone decides", apart),
                  {}};
  constexpr std::int64_t noticeable_ms = 5000;
  if (apart > noticeable_ms) {
    finding.status = warn;
    finding.fix =
        "set both clocks by NTP: a server whose clock is then set ends or prolongs leases";
  }
  return finding;
}

asio::awaitable<std::vector<Finding>> ask(Env& env, Place const& place, Connection& connection,
                                          Instant deadline) {
  std::vector<Finding> findings;
  Reply const info =
      co_await run_command(connection, command("INFO"), Effect::reads, "diagnose", deadline);
  Reply const time =
      co_await run_command(connection, command("TIME"), Effect::reads, "diagnose", deadline);
  auto const text = info->text();
  findings.push_back(version(text));
  findings.push_back(replication(place, text));
  findings.push_back(eviction(text));
  findings.push_back(memory(text));
  findings.push_back(persistence(text));
  findings.push_back(clock(env, *time));
  if (place.wait_replicas > 0) findings.push_back(confirmed_durability(place, text));
  co_return findings;
}

/// What each master says, and whether together they have all slots.
asio::awaitable<std::vector<Finding>> ask_all(Env& env, Place const& place, Cluster& cluster,
                                              std::chrono::nanoseconds patience) {
  SlotMap const map = co_await cluster.look(env.now() + patience);
  std::vector<NodeFindings> nodes;
  for (auto const& master : map.masters()) {
    auto& node = nodes.emplace_back();
    node.at = to_string(master);
    auto const connection = cluster.connection_to(master);
    try {
      node.findings = co_await ask(env, place, *connection, env.now() + patience);
    } catch (EngineError const& error) {
      node.findings.push_back({"server-version", "Server", fail, error.what(),
                               "is the node up and reachable from here?"});
    }
  }
  std::vector<Finding> findings = in_one(nodes);
  findings.insert(findings.begin(), slots_served(map));
  co_return findings;
}

asio::awaitable<std::vector<Finding>> ask(Env& env, Place const& place, Servers& servers,
                                          std::chrono::nanoseconds patience) {
  if (servers.are_cluster()) return ask_all(env, place, servers.cluster(), patience);
  return ask(env, place, servers.one(), env.now() + patience);
}

/// What is stored; what cannot be read is a finding, too.
asio::awaitable<std::vector<Finding>> read_stored(Env& env, Servers& servers, Keys const& keys,
                                                  std::chrono::nanoseconds patience) {
  std::vector<Finding> findings;
  std::string trouble;
  try {
    findings = co_await stored_findings(servers, keys, env.now() + patience);
  } catch (EngineError const& error) {
    trouble = error.what();
  }
  if (!trouble.empty()) {
    findings.push_back({"fences", "Fences", fail, trouble, "may the user read the keys of Holt?"});
  }
  co_return findings;
}

}  // namespace

asio::awaitable<std::vector<Finding>> diagnose(Env& env, Place const& place, Servers& servers,
                                               Keys const* keys,
                                               std::chrono::nanoseconds patience) {
  std::vector<Finding> findings;
  std::string trouble;
  try {
    // The connection belongs to the loop.
    findings = co_await asio::co_spawn(env.executor(), ask(env, place, servers, patience),
                                       asio::use_awaitable);
    std::vector<Finding> stored;
    if (keys != nullptr) {
      stored = co_await asio::co_spawn(env.executor(), read_stored(env, servers, *keys, patience),
                                       asio::use_awaitable);
    }
    findings.insert(findings.end(), stored.begin(), stored.end());
  } catch (EngineError const& error) {
    trouble = error.what();
  }
  if (!trouble.empty()) {
    findings.push_back(
        {"server-version", "Server", fail, trouble, "is the server up and reachable?"});
  }
  bool const said = std::ranges::find(findings, "durability", &Finding::id) != findings.end();
  if (place.wait_replicas == 0) {
    findings.push_back(durability());
  } else if (!said) {
    findings.push_back(confirmed_durability(place, {}));
  }
  co_return findings;
}

}  // namespace holt::redis
