// SPDX-License-Identifier: Apache-2.0
// Lock pairs (fenced acquire and release, distinct names) per second on one Redis server: the
// engine on its own loop, the whole library, the probe with the same scripts and with bare commands
// (redis_probe), and peers in Node.js where they are installed (bench/peers/redis). Interleaved
// rounds; medians of the rounds' ratios.
//
// redis_bench [CALLERS...]     how many at a time; 1 16 256 unless told

#include "engines/redis/batch.hpp"
#include "engines/redis/engine.hpp"
#include "figures.hpp"
#include "pairs.hpp"
#include "redis_ceiling.hpp"
#include "redis_figures.hpp"
#include "redis_scripts.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

namespace holt::bench {
namespace {

constexpr int rounds = 5;
constexpr std::string_view at_256 =
    "Here the\nserver is what limits: [ADR 0013](adr/0013-redis-layout.md) tells what a grant and "
    "a release are made of.";

/// One field of the lines of JSON that probe and peers print.
double field(std::string const& line, std::string const& name) {
  auto const at = line.find("\"" + name + "\":");
  if (at == std::string::npos) return 0;
  return std::strtod(line.c_str() + at + name.size() + 3, nullptr);
}

void write_file(std::filesystem::path const& path, std::string_view text) {
  std::ofstream(path) << text;
}

Measured measured_by(std::string const& line) {
  return {field(line, "pairs_per_s"), field(line, "p50_us") * 1e-6, field(line, "cpu_us_per_pair"),
          field(line, "pairs")};
}

Measured probe_round(Folder const& folder, int port, int workers) {
  std::string const keys =
      "holt:probe:{%h}:l:%n holt:probe:{%h}:q:%n holt:probe:{%h}:u:%n holt:probe:{%h}:t:%n "
      "holt:probe:{all}:c holt:probe:{%h}:i";
  return measured_by(output_of(
      fmt::format("{} {} {} {} {} '{}' '{}' {} '{}' '{}' 2>/dev/null", HOLT_REDIS_PROBE, port,
                  workers, 1, (folder.path() / "acquire.lua").string(), keys,
                  "%o %s0%s30000%s0%s1794799072486%s0%s0%s 35000 %e holt:probe:inbox: 1 %n",
                  (folder.path() / "release.lua").string(), keys, "%o %n holt:probe:inbox: 1")));
}

/// As little as a lock can be: nothing is checked, and there is no fence.
Measured bare_round(int port, int workers) {
  return measured_by(
      output_of(fmt::format("{} {} {} {} - 'SET bare:%n %o NX PX 30000' '' - 'DEL bare:%n' '' "
                            "2>/dev/null",
                            HOLT_REDIS_PROBE, port, workers, 1)));
}

/// The server's own limit: the scripts that the engine uses for so many, as many names in each.
Measured ceiling_round(test::RedisServer const& server, int workers) {
  using namespace redis::scripts;
  int const names = std::min<int>(workers, redis::Batch::most);
  Ceiling const ceiling{names == 1 ? acquire.text : acquire_many.text,
                        names == 1 ? release.text : release_many.text, names, workers / names};
  return {.rate = pairs_by_redis_benchmark(server, ceiling)};
}

/// Where pairs.mjs of bench/peers/redis and its packages are; nothing: they are not installed.
std::optional<std::filesystem::path> peers() {
  char const* const named = std::getenv("HOLT_REDIS_PEERS");
  std::filesystem::path const folder = named != nullptr ? named : HOLT_REDIS_PEERS;
  if (std::filesystem::exists(folder / "node_modules")) return folder;
  if (named != nullptr) throw std::runtime_error("no node_modules in " + folder.string());
  return std::nullopt;
}

Measured peer_round(std::filesystem::path const& folder, std::string const& peer, int port,
                    int workers) {
  auto const line = output_of(fmt::format("cd '{}' && node pairs.mjs {} 1 {} | grep {}",
                                          folder.string(), port, workers, peer));
  return measured_by(line);
}

Series run_rounds(test::RedisServer const& server, int workers,
                  std::optional<std::filesystem::path> const& installed) {
  Folder const folder;
  write_file(folder.path() / "acquire.lua", redis::scripts::acquire.text);
  write_file(folder.path() / "release.lua", redis::scripts::release.text);
  auto const url = server.url();
  auto const port = server.port();
  Series series;
  CommandStats stats(server);
  auto const add = [&](std::string const& kind, auto const& round) {
    auto const before = stats.cpu_seconds();
    Measured measured = round();
    measured.server_us = (stats.cpu_seconds() - before) / measured.pairs * 1e6;
    series[kind].push_back(measured);
  };
  for (int i = 0; i < rounds; ++i) {
    add("probe", [&] { return probe_round(folder, port, workers); });
    add("bare", [&] { return bare_round(port, workers); });
    series["ceiling"].push_back(ceiling_round(server, workers));
    add("engine", [&] { return engine_round(redis::open, url, {workers}); });
    add("async", [&] { return async_round(url, {workers}); });
    if (workers == 1) add("blocking", [&] { return blocking_round(url, {}); });
    for (auto const* peer : {"redlock", "ioredis"}) {
      if (!installed) continue;
      add(peer, [&] { return peer_round(*installed, peer, port, workers); });
    }
  }
  return series;
}

void print_peers(Series& series, int workers) {
  for (auto const* peer : {"redlock", "ioredis"}) {
    if (series[peer].empty()) continue;
    row(fmt::format("{}, pairs per second (no fence)", peer),
        fmt::format("{:.0f}", median(values(series[peer], &Measured::rate))));
    row(fmt::format("engine / {}", peer),
        ratio_text(ratio(series, "engine", peer, &Measured::rate)),
        std::string_view(peer) != "redlock" ? ""
        : workers == 1                      ? "at least 2x"
                                            : "at least 3.5x");
    row(fmt::format("bare pair / {}", peer),
        ratio_text(ratio(series, "bare", peer, &Measured::rate)));
  }
}

void measure(int workers) {
  test::RedisServer const server(test::RedisOptions{});
  auto const installed = peers();
  auto series = run_rounds(server, workers, installed);
  head(fmt::format("Locks: pairs per second, Redis, {} at a time", workers),
       "A pair is a fenced acquire and its release, distinct names, one connection. The probe\n"
       "sends the same scripts from a bare loop, each call by itself. The bare pair is SET NX PX\n"
       "and DEL from that loop, without script, check and fence: the most a client could reach.\n"
       "Where it does not reach a target beside a peer, nobody can on one connection.\n"
       "redis-benchmark repeats one command that runs the engine's two scripts one after the\n"
       "other, of as many names as the engine puts into one: one round trip for a pair, and what\n"
       "the server can do at most with these scripts. " +
           std::string(workers < 256 ? "" : at_256) + "\n5 rounds of 1 s each, alternating. " +
           settings_of(server) +
           (installed ? ""
                      : "\nThe peers, redlock 5 and ioredis, are not installed here: `npm install "
                        "--prefix bench/peers/redis`\ndoes it; it needs Node.js."));
  auto const figure = [&](std::string const& kind, double Measured::* what) {
    return median(values(series[kind], what));
  };
  auto const against = [&](std::string const& kind, std::string const& other,
                           double Measured::* what) {
    return ratio_text(ratio(series, kind, other, what));
  };
  row("probe, pairs per second", fmt::format("{:.0f}", figure("probe", &Measured::rate)));
  row("engine / probe", against("engine", "probe", &Measured::rate), "at least 0.9x");
  row("engine, p50 of a pair / probe", against("engine", "probe", &Measured::p50),
      workers == 1 ? "at most 1.2x" : "");
  for (auto const* const kind : {"engine", "probe", "bare"}) {
    bool const aimed_at = workers == 256 && std::string_view(kind) == "engine";
    row(fmt::format("{}, CPU of the client per pair", kind),
        fmt::format("{:.2f} µs", figure(kind, &Measured::cpu_us)), aimed_at ? "at most 3 µs" : "");
    row(fmt::format("{}, CPU of the server per pair", kind),
        fmt::format("{:.2f} µs", figure(kind, &Measured::server_us)));
  }
  row("bare pair, pairs per second", fmt::format("{:.0f}", figure("bare", &Measured::rate)));
  row("engine / bare pair", against("engine", "bare", &Measured::rate));
  row("redis-benchmark, pairs per second",
      fmt::format("{:.0f}", figure("ceiling", &Measured::rate)));
  row("engine / redis-benchmark", against("engine", "ceiling", &Measured::rate));
  row("coroutines of a user / probe", against("async", "probe", &Measured::rate));
  if (workers == 1) row("blocking call / probe", against("blocking", "probe", &Measured::rate));
  if (!installed) row("engine / redlock, engine / ioredis", "peers not installed");
  print_peers(series, workers);
}

}  // namespace
}  // namespace holt::bench

int main(int count, char** given) {
  std::vector<int> asked;
  for (int i = 1; i < count; ++i) asked.push_back(std::atoi(given[i]));
  if (asked.empty()) asked = {1, 16, 256};
  for (int const workers : asked) holt::bench::measure(workers);
}
