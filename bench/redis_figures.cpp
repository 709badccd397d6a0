// SPDX-License-Identifier: Apache-2.0
#include "redis_figures.hpp"

#include "figures.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <map>
#include <sstream>
#include <string_view>

namespace holt::bench {
namespace {

/// What `redis.call` names in src/engines/redis/scripts. One that is missing here makes counts too
/// great, never too small.
constexpr std::array<std::string_view, 25> called_by_scripts{
    "del",    "exists", "get",         "hdel",          "hget",  "hincrby", "hmget", "hset", "incr",
    "info",   "mget",   "pexpire",     "psetex",        "pttl",  "publish", "set",   "time", "zadd",
    "zcount", "zrange", "zrangebylex", "zrangebyscore", "zrank", "zrem",    "zscore"};

/// Of each line like "cmdstat_evalsha:calls=12,usec=345,…".
std::map<std::string, CommandStats::Calls> calls_in(std::string const& info) {
  std::map<std::string, CommandStats::Calls> calls;
  std::istringstream lines(info);
  for (std::string line; std::getline(lines, line);) {
    std::array<char, 64> name{};
    unsigned long number = 0;
    unsigned long micros = 0;
    int const read = std::sscanf(line.c_str(), "cmdstat_%63[^:]:calls=%lu,usec=%lu", name.data(),
                                 &number, &micros);
    if (read == 3) calls[name.data()] = {number, static_cast<double>(micros) * 1e-6};
  }
  return calls;
}

std::string setting(test::RedisClient& client, std::string const& name) {
  return client.done({"CONFIG", "GET", name}).items.at(1).text;
}

std::string persistence(test::RedisClient& client) {
  auto const snapshots = setting(client, "save");
  bool const log = setting(client, "appendonly") == "yes";
  if (snapshots.empty() && !log) return "no persistence";
  auto const kept = snapshots.empty() ? "no snapshots" : "snapshots " + snapshots;
  return kept + (log ? ", log synced " + setting(client, "appendfsync") : ", no log");
}

}  // namespace

std::string settings_of(test::RedisServer const& server) {
  auto client = server.connect();
  auto const version = test::info_field(client.text({"INFO", "server"}), "redis_version");
  return fmt::format("Redis {} on 127.0.0.1, {}; Linux {}.", version, persistence(client),
                     kernel_text());
}

std::uint64_t CommandStats::of_clients() {
  std::uint64_t sum = 0;
  for (auto const& [name, calls] : calls_in(client_.text({"INFO", "commandstats"}))) {
    if (std::ranges::find(called_by_scripts, name) == called_by_scripts.end()) {
      sum += calls.number;
    }
  }
  return sum;
}

double CommandStats::cpu_seconds() {
  auto const info = client_.text({"INFO", "cpu"});
  return std::stod(test::info_field(info, "used_cpu_user")) +
         std::stod(test::info_field(info, "used_cpu_sys"));
}

CommandStats::Calls CommandStats::of(std::string const& command) {
  return calls_in(client_.text({"INFO", "commandstats"}))[command];
}

}  // namespace holt::bench
