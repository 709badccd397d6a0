// SPDX-License-Identifier: Apache-2.0
#include "cli/bench_progress.hpp"

#include "cli/bench_callers.hpp"
#include "cli/duration.hpp"
#include "cli/progress.hpp"
#include "cli/stream.hpp"

#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace holt::cli {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds between_bars{200};
constexpr std::size_t bar_width = 16;

milliseconds in_ms(std::chrono::nanoseconds time) { return std::chrono::round<milliseconds>(time); }

/// How much is done, from 0 to 1.
double share_of(BenchCallers const& callers, milliseconds duration) {
  auto const of_time = std::chrono::duration<double>(callers.took()) / duration;
  auto const of_pairs =
      static_cast<double>(callers.pairs()) / static_cast<double>(callers.plan().pairs);
  return std::clamp(std::max(of_time, of_pairs), 0.0, 1.0);
}

std::string json(BenchCallers const& callers, std::string_view event) {
  return boost::json::serialize(boost::json::object{
      {"event", event},
      {"took_ms", in_ms(callers.took()).count()},
      {"pairs", callers.pairs()},
      {"pairs_per_second", pairs_per_second(callers)},
      {"failures", callers.failures()},
  });
}

}  // namespace

std::string latency_text(std::chrono::nanoseconds latency) {
  auto const seconds = std::chrono::duration<double>(latency).count();
  if (seconds < 1e-3) return fmt::format("{:.1f} µs", seconds * 1e6);
  if (seconds < 1) return fmt::format("{:.2f} ms", seconds * 1e3);
  return fmt::format("{:.2f} s", seconds);
}

std::int64_t pairs_per_second(BenchCallers const& callers) {
  auto const seconds = std::chrono::duration<double>(callers.took()).count();
  auto const pairs = static_cast<double>(callers.pairs());
  return seconds > 0 ? std::llround(pairs / seconds) : 0;
}

BenchProgress::BenchProgress(Progress form, milliseconds duration)
    : form_(form), duration_(duration) {}

BenchProgress::~BenchProgress() { clear_line(); }

void BenchProgress::show(BenchCallers const& callers) {
  bool const first = !begun_;
  begun_ = true;
  pause_ = form_ == Progress::line ? between_bars : pause_after(form_, pause_);
  switch (form_) {
    case Progress::line:
      return show_line(fitting("holt: " + bar(callers)));
    case Progress::plain:
      return talk(first ? "measuring for " + format_duration(duration_) + "; Ctrl-C ends it early"
                        : line(callers));
    case Progress::json:
      return talk_plainly(json(callers, "measuring"));
    case Progress::quiet:
      break;
  }
}

void BenchProgress::finish(BenchCallers const& callers, std::string_view how) {
  clear_line();
  if (form_ == Progress::json) talk_plainly(json(callers, how));
}

/// Short enough for 80 columns. The percentile is that of acquire, the slower call.
std::string BenchProgress::bar(BenchCallers const& callers) const {
  auto const share = share_of(callers, duration_);
  auto const done = static_cast<std::size_t>(share * static_cast<double>(bar_width));
  return fmt::format("[{}{}] {:3.0f}%, {} pairs/s, p99 {}; Ctrl-C ends it", std::string(done, '#'),
                     std::string(bar_width - done, '.'), share * 100, pairs_per_second(callers),
                     latency_text(callers.acquire().percentile(990)));
}

std::string BenchProgress::line(BenchCallers const& callers) const {
  return fmt::format("{:.0f}% after {}: {} pairs, {} per second",
                     share_of(callers, duration_) * 100, rounded_duration(in_ms(callers.took())),
                     callers.pairs(), pairs_per_second(callers));
}

}  // namespace holt::cli
