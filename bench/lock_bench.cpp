// SPDX-License-Identifier: Apache-2.0
// Lock pairs (take and give back, distinct names) per second through the whole library, next to
// the raw SQLite loop, in interleaved rounds; medians of the rounds' ratios.

#include "figures.hpp"
#include "raw_sqlite.hpp"

#include <holt/holt.hpp>

#include <fmt/core.h>

#include <atomic>
#include <thread>
#include <vector>

namespace holt::bench {
namespace {

using namespace std::chrono_literals;
constexpr auto round_time = 1500ms;
constexpr int rounds = 5;

double seconds(Instant::duration duration) {
  return std::chrono::duration<double>(duration).count();
}

double raw_rate(std::filesystem::path const& file, bool full) {
  RawSqlite raw(file, full);
  auto const start = BootClock::now();
  std::uint64_t pairs = 0;
  while (BootClock::now() - start < round_time) {
    raw.pair("name-1");
    ++pairs;
  }
  return static_cast<double>(pairs) / seconds(BootClock::now() - start);
}

double holt_rate(std::filesystem::path const& file, bool full, int callers) {
  auto holt = open("sqlite://" + file.string() + (full ? "?sync=full" : ""));
  std::atomic<std::uint64_t> pairs = 0;
  std::atomic<bool> go = false;
  std::atomic<bool> stop = false;
  std::vector<std::jthread> threads;
  for (int i = 0; i < callers; ++i) {
    threads.emplace_back([&, i] {
      Name const name("name-" + std::to_string(i));
      go.wait(false);
      std::uint64_t done = 0;
      while (!stop.load(std::memory_order_relaxed)) {
        auto lock = holt.try_lock(name);
        if (!lock || !lock->release()) std::abort();
        ++done;
      }
      pairs += done;
    });
  }
  auto const start = BootClock::now();
  go = true;
  go.notify_all();
  std::this_thread::sleep_for(round_time);
  stop = true;
  threads.clear();
  return static_cast<double>(pairs) / seconds(BootClock::now() - start);
}

void measure(bool full) {
  std::vector<double> at_one;
  std::vector<double> at_many;
  std::vector<double> raw_rates;
  Folder const folder;
  for (int i = 0; i < rounds; ++i) {
    auto const file = [&](char const* kind) {
      return folder.path() / fmt::format("{}-{}.db", kind, i);
    };
    auto const raw = raw_rate(file("raw"), full);
    at_one.push_back(holt_rate(file("one"), full, 1) / raw);
    at_many.push_back(holt_rate(file("many"), full, 256) / raw);
    raw_rates.push_back(raw);
  }
  head(fmt::format("Lock pairs on SQLite, synchronous={}", full ? "FULL" : "NORMAL"));
  row("raw loop, pairs per second", fmt::format("{:.0f}", median(raw_rates)));
  row("1 caller / raw", ratio_text(median(at_one)), "at least 0.8x");
  row("256 callers / raw", ratio_text(median(at_many)), full ? "at least 4x" : "(printed only)");
}

}  // namespace
}  // namespace holt::bench

int main() {
  holt::bench::measure(false);
  holt::bench::measure(true);
}
