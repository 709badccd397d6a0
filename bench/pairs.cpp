// SPDX-License-Identifier: Apache-2.0
#include "pairs.hpp"

#include "env/real_env.hpp"
#include "figures.hpp"

#include <holt/asio.hpp>
#include <holt/holt.hpp>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <fmt/core.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <stdexcept>

namespace holt::bench {
namespace {

using namespace std::chrono_literals;

/// Counts pairs of several workers while it lives.
class Meter {
 public:
  explicit Meter(std::chrono::milliseconds time) : end_(start_ + time) {}

  [[nodiscard]] bool over() const { return over(BootClock::now()); }
  [[nodiscard]] bool over(Instant now) const { return now >= end_; }
  void pair(Instant began) {
    times_.push_back(std::chrono::duration<double>(BootClock::now() - began).count());
  }
  [[nodiscard]] Measured result() const {
    auto const pairs = static_cast<double>(times_.size());
    auto const span = std::chrono::duration<double>(BootClock::now() - start_).count();
    return {pairs / span, median(times_), (cpu_seconds() - cpu_) / pairs * 1e6, pairs};
  }

 private:
  Instant start_ = BootClock::now();
  Instant end_;
  double cpu_ = cpu_seconds();
  std::vector<double> times_;
};

/// Looks at the clock as often as a probe does, and makes its owners as cheaply.
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

}  // namespace

Measured engine_round(OpenEngine open, std::string const& url, Load load) {
  RealEnv env;
  auto const engine = open(env, {url, "bench"});
  Meter meter(load.time);
  std::atomic<int> running = load.workers;
  for (int i = 0; i < load.workers; ++i) {
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

Measured blocking_round(std::string const& url, Load load) {
  auto holt = open(url);
  Meter meter(load.time);
  while (!meter.over()) {
    auto const began = BootClock::now();
    auto lock = holt.try_lock("name");
    if (!lock || !lock->release()) std::abort();
    meter.pair(began);
  }
  return meter.result();
}

Measured async_round(std::string const& url, Load load) {
  AsyncHolt const holt(open(url));
  asio::io_context io(1);
  Meter meter(load.time);
  for (int i = 0; i < load.workers; ++i) {
    Name const name("name-" + std::to_string(i));
    asio::co_spawn(io, work_async(holt, name, meter), asio::detached);
  }
  io.run();
  return meter.result();
}

std::string output_of(std::string const& command) {
  std::FILE* pipe = ::popen(command.c_str(), "r");
  if (pipe == nullptr) throw std::runtime_error("cannot run " + command);
  std::string text;
  for (int c = std::fgetc(pipe); c != EOF; c = std::fgetc(pipe)) text += static_cast<char>(c);
  if (::pclose(pipe) != 0) throw std::runtime_error("failed: " + command);
  return text;
}

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

std::string rate_text(Series& series, std::string const& of) {
  return fmt::format("{:.0f}", median(values(series[of], &Measured::rate)));
}

}  // namespace holt::bench
