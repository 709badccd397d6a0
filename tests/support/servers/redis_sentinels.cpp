// SPDX-License-Identifier: Apache-2.0
#include "support/servers/redis_sentinels.hpp"

#include "support/servers/wait_until.hpp"

#include <algorithm>
#include <fstream>

namespace holt::test {
namespace {

using namespace std::chrono_literals;

void write_config(std::string const& path, std::uint16_t port, std::string const& folder,
                  std::string const& service, std::uint16_t master_port) {
  auto const of_service = [&](std::string const& setting) {
    return "sentinel " + setting + " " + service + " ";
  };
  std::ofstream file(path);
  file << "bind 127.0.0.1\n"
       << "port " << port << "\n"
       << "dir " << folder << "\n"
       << "protected-mode no\n"
       << of_service("monitor") << "127.0.0.1 " << master_port << " 2\n"
       << of_service("down-after-milliseconds") << "1000\n"
       << of_service("failover-timeout") << "2000\n"
       << of_service("parallel-syncs") << "2\n";
  if (!file.flush()) throw std::runtime_error("cannot write " + path);
}

}  // namespace

RedisSentinel::RedisSentinel(std::string const& service, std::uint16_t master_port)
    : service_(service) {
  on_free_ports([&] {
    port_ = ReservedPort();
    write_config(folder_.file("sentinel.conf"), port(), folder_.path(), service, master_port);
    SpawnPlan plan;
    plan.command = {"redis-server", folder_.file("sentinel.conf"), "--sentinel"};
    plan.folder = folder_.path();
    plan.log = folder_.file("sentinel.log");
    process_ = std::make_unique<ServerProcess>("Sentinel at " + std::to_string(port()), plan);
    process_->start();
    process_->await("answers", [this] { return this->master_port() != 0; });
  });
  // On a busy machine it would think that its clock was wrong, and do nothing for half a minute.
  connect().done({"SENTINEL", "DEBUG", "tilt-trigger", "60000"});
}

std::uint16_t RedisSentinel::master_port() const {
  try {
    auto const reply = connect().ask({"SENTINEL", "GET-MASTER-ADDR-BY-NAME", service_});
    if (reply.items.size() != 2) return 0;
    return static_cast<std::uint16_t>(std::stoul(reply.items[1].text));
  } catch (std::exception const&) {
    return 0;
  }
}

bool RedisSentinel::knows(int replicas, int sentinels) const {
  auto const reply = connect().ask({"SENTINEL", "MASTER", service_});
  auto const field = [&](std::string const& name) {
    for (std::size_t i = 0; i + 1 < reply.items.size(); i += 2) {
      if (reply.items[i].text == name) return reply.items[i + 1].text;
    }
    return std::string();
  };
  return field("flags") == "master" && field("num-slaves") == std::to_string(replicas) &&
         field("num-other-sentinels") == std::to_string(sentinels);
}

RedisSentinels::RedisSentinels(RedisOptions const& options) {
  servers_[0] = std::make_unique<RedisServer>(options);
  auto replica = options;
  replica.config.push_back("replicaof 127.0.0.1 " + std::to_string(servers_[0]->port()));
  for (auto* server : {&servers_[1], &servers_[2]})
    *server = std::make_unique<RedisServer>(replica);
  await_replicas(*servers_[0], 2);
  for (auto& sentinel : sentinels_) {
    sentinel = std::make_unique<RedisSentinel>(service, servers_[0]->port());
  }
  await_agreement();
}

void RedisSentinels::await_agreement() {
  look_often();
  for (auto& sentinel : sentinels_) {
    sentinel->process().await("knows 2 replicas and 2 other Sentinels",
                              [&] { return sentinel->knows(2, 2); });
  }
  look_as_usual();
}

void RedisSentinels::look_every(std::string const& info_ms, std::string const& publish_ms) {
  for (auto& sentinel : sentinels_) {
    if (!sentinel->process().running()) continue;
    sentinel->connect().done(
        {"SENTINEL", "DEBUG", "info-period", info_ms, "publish-period", publish_ms});
  }
}

std::string RedisSentinels::url() const {
  std::string text = "redis+sentinel://";
  for (auto const& sentinel : sentinels_) {
    text += (text.ends_with('/') ? "127.0.0.1:" : ",127.0.0.1:") + std::to_string(sentinel->port());
  }
  return text + "/" + service;
}

std::uint16_t RedisSentinels::named_by_most() const {
  std::array<std::uint16_t, 3> named{};
  std::ranges::transform(sentinels_, named.begin(),
                         [](auto const& sentinel) { return sentinel->master_port(); });
  for (auto const port : named) {
    if (port != 0 && std::ranges::count(named, port) >= 2) return port;
  }
  return 0;
}

RedisServer& RedisSentinels::master() {
  auto const port = named_by_most();
  auto const found =
      std::ranges::find_if(servers_, [&](auto const& server) { return server->port() == port; });
  if (found == servers_.end()) throw ServerFailed("the Sentinels do not agree on a master");
  return **found;
}

RedisServer& RedisSentinels::fail_over_by_kill() {
  auto& old = master();
  old.kill();
  return await_master_other_than(old);
}

RedisServer& RedisSentinels::await_master_other_than(RedisServer const& old) {
  RedisServer* found = nullptr;
  bool const there = wait_until(
      [&] {
        auto const port = named_by_most();
        if (port == 0 || port == old.port()) return false;
        found = &master();
        return found->command({"ROLE"}).items.at(0).text == "master";
      },
      60s);
  if (there) return *found;
  throw ServerFailed("the Sentinels made no new master in a minute; end of the first one's log:\n" +
                     sentinels_[0]->process().log_tail(30));
}

void RedisSentinels::await_replicas(RedisServer& master, int count) {
  auto const in_sync = [&] {
    auto const info = master.command({"INFO", "replication"}).text;
    int online = 0;
    for (int i = 0; i < 8; ++i) {
      auto const replica = info_field(info, "slave" + std::to_string(i));
      online += replica.find("state=online") != std::string::npos ? 1 : 0;
    }
    // WAIT answers how many have confirmed what this connection has sent them, and all before it.
    auto client = master.connect();
    client.done({"PUBLISH", "holt-test-sync", ""});
    return online >= count && client.number({"WAIT", std::to_string(count), "1000"}) >= count;
  };
  master.process().await(std::to_string(count) + " replicas in sync", in_sync);
}

}  // namespace holt::test
