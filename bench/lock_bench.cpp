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
constexpr auto round_time = 1000ms;
constexpr int rounds = 9;

double seconds(Instant::duration duration) {
  return std::chrono::duration<double>(duration).count();
}

double raw_rate(std::filesystem::path const& file, bool full, Layout layout) {
  RawSqlite raw(file, full, layout);
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

/// What was measured, once per round.
struct Series {
  std::vector<double> raw, two_tables, one, many;
};

std::vector<double> ratios(std::vector<double> const& rates, std::vector<double> const& base) {
  std::vector<double> all;
  for (std::size_t i = 0; i < rates.size(); ++i) all.push_back(rates[i] / base[i]);
  return all;
}

void measure(bool full) {
  Series series;
  Folder const folder;
  for (int i = 0; i < rounds; ++i) {
    auto const file = [&](char const* kind) {
      return folder.path() / fmt::format("{}-{}.db", kind, i);
    };
    series.raw.push_back(raw_rate(file("raw"), full, Layout::one_table));
    series.one.push_back(holt_rate(file("one"), full, 1));
    series.two_tables.push_back(raw_rate(file("two"), full, Layout::two_tables));
    series.many.push_back(holt_rate(file("many"), full, 256));
  }
  auto const against = [](std::vector<double> const& rates, std::vector<double> const& base) {
    return ratio_text(median(ratios(rates, base)));
  };
  head(
      fmt::format("Locks: pairs per second, SQLite, synchronous={}", full ? "FULL" : "NORMAL"),
      full
          ? "The same with every commit on the disk before it is answered (`?sync=full`)."
          : "A pair is a fenced acquire and its release, distinct names, through the whole "
            "library. "
            "The raw\nloop is a bare prepared-statement loop on one connection with the same "
            "pragmas, one transaction\nper operation and Holt's layout, which keeps the counter of "
            "fences beside the leases; a table of\nits own costs one page more per acquire. 9 "
            "rounds of 1 s each, alternating.");
  row("raw loop in Holt's layout, pairs per second", fmt::format("{:.0f}", median(series.raw)));
  row("1 caller / raw", against(series.one, series.raw), "at least 0.8x");
  row("256 callers / raw", against(series.many, series.raw),
      full ? "at least 4x" : "(printed only)");
  row("raw loop with a table for fences / raw", against(series.two_tables, series.raw));
}

}  // namespace
}  // namespace holt::bench

int main() {
  holt::bench::measure(false);
  holt::bench::measure(true);
}
