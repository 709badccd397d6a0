// SPDX-License-Identifier: Apache-2.0
#include "support/servers/redis_server.hpp"

#include <fstream>

namespace holt::test {
namespace {

// With an ACL file the test's own connections have a user of their own: the default one may be off.
constexpr auto own_user = "holt-test-equipment";
constexpr auto own_password = "opens-everything";

std::vector<std::string> acl_file(std::vector<std::string> lines, std::string const& password) {
  bool has_default = false;
  for (auto const& line : lines) has_default |= line.starts_with("user default ");
  if (!has_default) {
    lines.push_back("user default on " + (password.empty() ? "nopass" : ">" + password) +
                    " ~* &* +@all");
  }
  lines.push_back(std::string("user ") + own_user + " on >" + own_password + " ~* &* +@all");
  return lines;
}

void write_lines(std::string const& path, std::vector<std::string> const& lines) {
  std::ofstream file(path);
  for (auto const& line : lines) file << line << '\n';
  if (!file.flush()) throw std::runtime_error("cannot write " + path);
}

}  // namespace

RedisServer::RedisServer(RedisOptions options) : options_(std::move(options)) {
  if (options_.tls != RedisOptions::Tls::none) {
    tls_ = options_.certificates ? options_.certificates : std::make_shared<TlsFiles>();
  }
  if (!options_.acl.empty()) {
    write_lines(folder_.file("users.acl"), acl_file(options_.acl, options_.password));
  }
  on_free_ports([this] {
    reserve_ports();
    write_lines(folder_.file("redis.conf"), config_lines());
    SpawnPlan plan;
    plan.command = {"redis-server", folder_.file("redis.conf")};
    plan.environment = options_.environment;
    plan.folder = folder_.path();
    plan.log = folder_.file("redis.log");
    process_ = std::make_unique<ServerProcess>("redis-server at " + address(), std::move(plan));
    start();
  });
}

void RedisServer::reserve_ports() {
  port_ = ReservedPort();
  if (tls_) tls_port_ = ReservedPort();
}

std::vector<std::string> RedisServer::config_lines() const {
  std::vector<std::string> lines{
      "bind 127.0.0.1",
      "port " + std::to_string(port()),
      "dir " + folder_.path(),
      "save \"\"",
      std::string("appendonly ") + (options_.append_only ? "yes" : "no"),
      "maxmemory-policy " + options_.eviction,
      "shutdown-timeout 0",
      "repl-diskless-sync-delay 0",
      "enable-debug-command yes",
  };
  auto const add = [&](std::string const& name, std::string const& value) {
    lines.push_back(name);
    lines.back() += " " + value;
  };
  if (!options_.max_memory.empty()) add("maxmemory", options_.max_memory);
  if (options_.unix_socket) add("unixsocket", socket_path());
  if (!options_.acl.empty()) {
    add("aclfile", folder_.file("users.acl"));
  } else if (!options_.password.empty()) {
    add("requirepass", options_.password);
  }
  if (tls_) {
    add("tls-port", std::to_string(tls_port()));
    add("tls-ca-cert-file", tls_->ca());
    add("tls-cert-file", tls_->server_certificate());
    add("tls-key-file", tls_->server_key());
    add("tls-auth-clients", options_.tls == RedisOptions::Tls::mutual ? "yes" : "optional");
  }
  lines.insert(lines.end(), options_.config.begin(), options_.config.end());
  return lines;
}

std::string RedisServer::url() const {
  return "redis://" + (options_.password.empty() ? "" : ":" + options_.password + "@") + address();
}

RedisClient RedisServer::connect() const {
  RedisClient client(port());
  if (!options_.acl.empty()) {
    client.done({"AUTH", own_user, own_password});
  } else if (!options_.password.empty()) {
    client.done({"AUTH", options_.password});
  }
  return client;
}

void RedisServer::flush() const {
  auto client = connect();
  client.done({"FLUSHALL"});
  client.done({"SCRIPT", "FLUSH"});
}

bool RedisServer::ready() const {
  try {
    return connect().ask({"PING"}).text == "PONG";  // not while it loads its data
  } catch (std::runtime_error const&) {
    return false;
  }
}

void RedisServer::start() {
  process_->start();
  process_->await("answers PING", [this] { return ready(); });
}

void RedisServer::restart() {
  stop();
  start();
}

}  // namespace holt::test
