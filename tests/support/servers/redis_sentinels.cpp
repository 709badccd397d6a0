// SPDX-License-Identifier: Apache-2.0
#include "support/servers/redis_sentinels.hpp"

#include "support/servers/wait_until.hpp"

#include <algorithm>
#include <fstream>

namespace holt::test {
namespace {

using namespace std::chrono_literals;

std::vector<std::string> tls_lines(TlsFiles const& files) {
  return {"tls-ca-cert-file " + files.ca(), "tls-cert-file " + files.server_certificate(),
          "tls-key-file " + files.server_key(), "tls-auth-clients yes", "tls-replication yes"};
}

std::vector<std::string> service_lines(std::string const& service, std::uint16_t master_port) {
  auto const of_service = [&](std::string const& setting) {
    return "sentinel " + setting + " " + service + " ";
  };
  return {of_service("monitor") + "127.0.0.1 " + std::to_string(master_port) + " 2",
          of_service("down-after-milliseconds") + "1000", of_service("failover-timeout") + "2000",
          of_service("parallel-syncs") + "2"};
}

}  // namespace

RedisSentinel::RedisSentinel(std::string const& service, std::uint16_t master_port,
                             SentinelOptions options)
    : service_(service), options_(std::move(options)) {
  on_free_ports([&] {
    port_ = ReservedPort();
    tls_port_ = ReservedPort();
    write_config(service_lines(service, master_port));
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

void RedisSentinel::write_config(std::vector<std::string> lines) const {
  lines.insert(lines.begin(), {"bind 127.0.0.1", "port " + std::to_string(port()),
                               "dir " + folder_.path(), "protected-mode no"});
  if (!options_.password.empty()) {
    lines.push_back("requirepass " + options_.password);
    lines.push_back("sentinel sentinel-pass " + options_.password);
  }
  if (options_.tls != nullptr) {
    auto const more = tls_lines(*options_.tls);
    lines.push_back("tls-port " + std::to_string(tls_port()));
    lines.insert(lines.end(), more.begin(), more.end());
  }
  auto const path = folder_.file("sentinel.conf");
  std::ofstream file(path);
  for (auto const& line : lines) file << line << '\n';
  if (!file.flush()) throw std::runtime_error("cannot write " + path);
}

RedisClient RedisSentinel::connect() const {
  RedisClient client(port());
  if (!options_.password.empty()) client.done({"AUTH", options_.password});
  return client;
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

RedisSentinels::RedisSentinels(RedisOptions const& options, std::string sentinel_password) {
  auto master = options;
  if (options.tls != RedisOptions::Tls::none) {
    tls_ = std::make_unique<TlsFiles>();
    auto const more = tls_lines(*tls_);
    master.config.insert(master.config.end(), more.begin(), more.end());
  }
  servers_[0] = std::make_unique<RedisServer>(master);
  auto replica = master;
  replica.config.push_back("replicaof 127.0.0.1 " + std::to_string(port_of(*servers_[0])));
  for (auto* server : {&servers_[1], &servers_[2]})
    *server = std::make_unique<RedisServer>(replica);
  await_replicas(*servers_[0], 2);
  SentinelOptions const watching{std::move(sentinel_password), tls_.get()};
  for (auto& sentinel : sentinels_) {
    sentinel = std::make_unique<RedisSentinel>(service, port_of(*servers_[0]), watching);
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
  std::string text = tls_ ? "rediss+sentinel://" : "redis+sentinel://";
  for (auto const& sentinel : sentinels_) {
    text += (text.ends_with('/') ? "127.0.0.1:" : ",127.0.0.1:") +
            std::to_string(tls_ ? sentinel->tls_port() : sentinel->port());
  }
  text += std::string("/") + service;
  if (!tls_) return text;
  return text + "?ca_file=" + tls_->ca() + "&certificate_file=" + tls_->client_certificate() +
         "&key_file=" + tls_->client_key();
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
      std::ranges::find_if(servers_, [&](auto const& server) { return port_of(*server) == port; });
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
        if (port == 0 || port == port_of(old)) return false;
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
