// SPDX-License-Identifier: Apache-2.0
// Lock pairs (fenced acquire and release, distinct names) per second on one Redis server: the
// engine on its own loop, the whole library, the probe with the same scripts (redis_probe), and
// peers in Node.js where they are installed (bench/peers/redis). Interleaved rounds; medians of the
// rounds' ratios.

#include "engines/redis/engine.hpp"
#include "env/real_env.hpp"
#include "figures.hpp"
#include "redis_figures.hpp"
#include "redis_scripts.hpp"

#include <holt/asio.hpp>
#include <holt/holt.hpp>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <fmt/core.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <map>
#include <optional>
#include <thread>
#include <vector>

namespace holt::bench {
namespace {

using namespace std::chrono_literals;
constexpr auto round_time = 1000ms;
constexpr int rounds = 5;

/// What one round of one kind gave.
struct Measured {
  double rate = 0;    ///< pairs per second
  double p50 = 0;     ///< seconds of a pair
  double cpu_us = 0;  ///< of the client, per pair
};

/// Counts pairs of several workers while it lives.
class Meter {
 public:
  [[nodiscard]] bool over() const { return over(BootClock::now()); }
  [[nodiscard]] bool over(Instant now) const { return now >= end_; }
  void pair(Instant began) {
    times_.push_back(std::chrono::duration<double>(BootClock::now() - began).count());
  }
  [[nodiscard]] Measured result() const {
    auto const pairs = static_cast<double>(times_.size());
    auto const span = std::chrono::duration<double>(BootClock::now() - start_).count();
    return {pairs / span, median(times_), (cpu_seconds() - cpu_) / pairs * 1e6};
  }

 private:
  Instant start_ = BootClock::now();
  Instant end_ = start_ + round_time;
  double cpu_ = cpu_seconds();
  std::vector<double> times_;
};

/// Looks at the clock as often as the probe does, and makes its owners as cheaply.
asio::awaitable<void> work_on(LeaseStore& leases, Name name, Meter& meter) {
  std::int64_t serial = 1'000'000'000'000'000'000;
  for (auto began = BootClock::now(); !meter.over(began); began = BootClock::now()) {
    Owner const owner("bench", "own" + std::to_string(++serial));
    LeaseRequest request({name}, owner, 30s);
    auto const granted = co_await leases.acquire(std::move(request), began + 5s);
    if (!granted) std::abort();
    auto const released = co_await leases.release(name, owner, began + 5s);
    if (!released) std::abort();
    meter.pair(began);
  }
}

/// The engine on its own loop: what it costs itself.
Measured engine_round(std::string const& url, int workers) {
  RealEnv env;
  auto const engine = redis::open(env, {url, "bench"});
  Meter meter;
  std::atomic<int> running = workers;
  for (int i = 0; i < workers; ++i) {
    Name const name("name-" + std::to_string(i));
    asio::co_spawn(env.executor(), work_on(engine->leases(), name, meter),
                   [&](std::exception_ptr error) {
                     if (error) std::abort();
                     if (--running == 0) running.notify_all();
                   });
  }
  for (int left = running; left != 0; left = running) running.wait(left);
  return meter.result();
}

Measured blocking_round(std::string const& url) {
  auto holt = open(url);
  Meter meter;
  while (!meter.over()) {
    auto const began = BootClock::now();
    auto lock = holt.try_lock("name");
    if (!lock || !lock->release()) std::abort();
    meter.pair(began);
  }
  return meter.result();
}

asio::awaitable<void> work_async(AsyncHolt holt, Name name, Meter& meter) {
  while (!meter.over()) {
    auto const began = BootClock::now();
    auto lock = co_await holt.try_lock(name);
    if (!lock) std::abort();
    auto const released = co_await holt.release(*lock);
    if (!released) std::abort();
    meter.pair(began);
  }
}

Measured async_round(std::string const& url, int workers) {
  AsyncHolt const holt(open(url));
  asio::io_context io(1);
  Meter meter;
  for (int i = 0; i < workers; ++i) {
    Name const name("name-" + std::to_string(i));
    asio::co_spawn(io, work_async(holt, name, meter), asio::detached);
  }
  io.run();
  return meter.result();
}

/// One field of the lines of JSON that probe and peers print.
double field(std::string const& line, std::string const& name) {
  auto const at = line.find("\"" + name + "\":");
  if (at == std::string::npos) return 0;
  return std::strtod(line.c_str() + at + name.size() + 3, nullptr);
}

std::string output_of(std::string const& command) {
  std::FILE* pipe = ::popen(command.c_str(), "r");
  if (pipe == nullptr) throw std::runtime_error("cannot run " + command);
  std::string text;
  for (int c = std::fgetc(pipe); c != EOF; c = std::fgetc(pipe)) text += static_cast<char>(c);
  if (::pclose(pipe) != 0) throw std::runtime_error("failed: " + command);
  return text;
}

void write_file(std::filesystem::path const& path, std::string_view text) {
  std::ofstream(path) << text;
}

Measured probe_round(Folder const& folder, int port, int workers) {
  std::string const keys =
      "holt:probe:{%h}:l:%n holt:probe:{%h}:q:%n holt:probe:{%h}:u:%n holt:probe:{%h}:t:%n "
      "holt:probe:{%h}:c holt:probe:{%h}:i";
  auto const line = output_of(
      fmt::format("{} {} {} {} {} '{}' '{}' {} '{}' '{}' 2>/dev/null", HOLT_REDIS_PROBE, port,
                  workers, 1, (folder.path() / "acquire.lua").string(), keys,
                  "%o %s0%s30000%s0%s1794799072486%s0%s0%s 35000 %e holt:probe:inbox: 1 %n",
                  (folder.path() / "release.lua").string(), keys, "%o %n holt:probe:inbox: 1"));
  return {field(line, "pairs_per_s"), field(line, "p50_us") * 1e-6, field(line, "cpu_us_per_pair")};
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
  return {field(line, "pairs_per_s"), field(line, "p50_us") * 1e-6, field(line, "cpu_us_per_pair")};
}

using Series = std::map<std::string, std::vector<Measured>>;

std::vector<double> values(std::vector<Measured> const& all, double Measured::* what) {
  std::vector<double> list;
  for (auto const& measured : all) list.push_back(measured.*what);
  return list;
}

double ratio(Series& series, std::string const& of, std::string const& to,
             double Measured::* what) {
  std::vector<double> ratios;
  for (std::size_t i = 0; i < series[of].size(); ++i) {
    ratios.push_back(series[of][i].*what / (series[to][i].*what));
  }
  return median(ratios);
}

void measure(int workers) {
  test::RedisServer server(test::RedisOptions{});
  Folder const folder;
  write_file(folder.path() / "acquire.lua", redis::scripts::acquire.text);
  write_file(folder.path() / "release.lua", redis::scripts::release.text);
  auto const url = server.url();
  auto const installed = peers();
  Series series;
  for (int i = 0; i < rounds; ++i) {
    series["probe"].push_back(probe_round(folder, server.port(), workers));
    series["engine"].push_back(engine_round(url, workers));
    series["async"].push_back(async_round(url, workers));
    if (workers == 1) series["blocking"].push_back(blocking_round(url));
    for (auto const* peer : {"redlock", "ioredis"}) {
      if (installed) series[peer].push_back(peer_round(*installed, peer, server.port(), workers));
    }
  }
  head(
      fmt::format("Locks: pairs per second, Redis, {} at a time", workers),
      "A pair is a fenced acquire and its release, distinct names, one connection. The probe sends "
      "the\nsame scripts from a bare loop. 5 rounds of 1 s each, alternating. " +
          settings_of(server) +
          (installed ? ""
                     : "\nThe peers, redlock 5 and ioredis, are not installed here: `npm install "
                       "--prefix bench/peers/redis`\ndoes it; it needs Node.js."));
  auto const rate = [&](std::string const& kind) {
    return fmt::format("{:.0f}", median(values(series[kind], &Measured::rate)));
  };
  row("probe, pairs per second", rate("probe"));
  row("engine / probe", ratio_text(ratio(series, "engine", "probe", &Measured::rate)),
      "at least 0.9x");
  row("engine, p50 of a pair / probe", ratio_text(ratio(series, "engine", "probe", &Measured::p50)),
      workers == 1 ? "at most 1.2x" : "");
  row("engine, CPU of the client per pair",
      fmt::format("{:.2f} µs", median(values(series["engine"], &Measured::cpu_us))),
      workers == 256 ? "at most 3 µs" : "");
  row("probe, CPU of the client per pair",
      fmt::format("{:.2f} µs", median(values(series["probe"], &Measured::cpu_us))));
  row("coroutines of a user / probe", ratio_text(ratio(series, "async", "probe", &Measured::rate)));
  if (workers == 1) {
    row("blocking call / probe", ratio_text(ratio(series, "blocking", "probe", &Measured::rate)));
  }
  if (!installed) row("engine / redlock, engine / ioredis", "peers not installed");
  for (auto const* peer : {"redlock", "ioredis"}) {
    if (series[peer].empty()) continue;
    row(fmt::format("{}, pairs per second (no fence)", peer), rate(peer));
    row(fmt::format("engine / {}", peer),
        ratio_text(ratio(series, "engine", peer, &Measured::rate)),
        std::string_view(peer) != "redlock" ? ""
        : workers == 1                      ? "at least 2x"
                                            : "at least 3.5x");
  }
}

}  // namespace
}  // namespace holt::bench

int main() {
  for (int const workers : {1, 16, 256}) holt::bench::measure(workers);
}
