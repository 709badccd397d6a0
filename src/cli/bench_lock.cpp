// SPDX-License-Identifier: Apache-2.0
// holt bench lock

#include "cli/bench_callers.hpp"
#include "cli/bench_progress.hpp"
#include "cli/command_line.hpp"
#include "cli/commands.hpp"
#include "cli/duration.hpp"
#include "cli/exit_code.hpp"
#include "cli/failure.hpp"
#include "cli/interrupt.hpp"
#include "cli/interruptible.hpp"
#include "cli/latencies.hpp"
#include "cli/output.hpp"
#include "cli/progress.hpp"
#include "cli/signals.hpp"
#include "cli/store.hpp"
#include "cli/stream.hpp"
#include "cli/text.hpp"
#include "cli/wait_progress.hpp"

#include <holt/clock.hpp>
#include <holt/lock.hpp>
#include <holt/name.hpp>
#include <holt/open.hpp>

#include <fmt/format.h>

#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace holt::cli {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds usual_duration{10'000};
constexpr milliseconds shortest_duration{100};
constexpr milliseconds longest_duration{3'600'000};
constexpr std::uint64_t most_callers = 256;
constexpr std::uint64_t most_pairs = 1'000'000'000;
constexpr std::array<std::string_view, 2> names_choices{"own", "shared"};

/// The callers end when the store has answered; a call of the library gives up before this.
constexpr milliseconds patience{15'000};

struct Percentile {
  std::uint32_t thousandths;
  std::string_view label;
};
constexpr std::array percentiles{Percentile{500, "p50"}, Percentile{900, "p90"},
                                 Percentile{990, "p99"}, Percentile{999, "p99.9"}};

/// What was measured, and how it ended.
struct Result {
  Holt const& holt;
  BenchCallers const& callers;
  bool interrupted;
};

/// Nobody else has such names: they are of this process, on this host, at this moment.
std::string new_prefix() {
  std::array<char, 256> host{};
  ::gethostname(host.data(), host.size() - 1);
  auto const now = BootClock::now().time_since_epoch().count();
  return "holt-bench/" +
         Name(fmt::format("{} {} {}", printable(host.data()), ::getpid(), now)).hash() + '/';
}

/// One pair before the others: what is wrong with the store or the ttl shows here, and the first
/// call, which opens and makes things, is not measured.
void warm_up(Holt& holt, BenchPlan const& plan, Progress progress) {
  Interruptible const interruptible(slow_store_line(progress));
  auto lock = holt.try_lock(plan.prefix + "first", {.ttl = plan.ttl});
  bool const released = lock && lock->release();
  if (auto const signal = interruptible.signal(); signal != 0) {
    throw Failure(static_cast<ExitCode>(128 + signal), "interrupted before it began");
  }
  if (!released) {
    throw Failure(ExitCode::failed, "the first lock was lost before it could be released",
                  "a longer --ttl, or holt doctor");
  }
}

Field number_field(std::string_view key, std::string_view label, std::uint64_t value) {
  return {key, label, static_cast<std::int64_t>(value), std::to_string(value)};
}

Record totals(Result const& result) {
  auto const& [holt, callers, interrupted] = result;
  auto const& plan = callers.plan();
  auto const took = std::chrono::round<milliseconds>(callers.took());
  auto const rate = pairs_per_second(callers);
  std::string const names = plan.shared ? "shared" : "own";
  return {
      {"store", "store", holt.url(), holt.url()},
      {"instance", "instance", holt.instance(), holt.instance()},
      number_field("callers", "callers", plan.callers),
      {"names", "names", names, plan.shared ? "one for all" : "one each"},
      {"ttl_ms", "ttl", std::int64_t{plan.ttl.count()}, format_duration(plan.ttl)},
      {"took_ms", "took", std::int64_t{took.count()},
       format_duration(took) + (interrupted ? ", interrupted" : "")},
      {"interrupted", {}, interrupted, {}},
      number_field("pairs", "pairs", callers.pairs()),
      {"pairs_per_second", "per second", rate, std::to_string(rate)},
      number_field("failures", "failures", callers.failures()),
  };
}

/// The fields of one call, for programs: their keys begin with its word.
struct CallFields {
  std::string_view call;
  std::string_view label;
  std::array<std::string_view, 6> keys;
};
constexpr std::array calls{
    CallFields{"acquire",
               "acquire",
               {"acquire_count", "acquire_p50_ns", "acquire_p90_ns", "acquire_p99_ns",
                "acquire_p999_ns", "acquire_max_ns"}},
    CallFields{"release",
               "release",
               {"release_count", "release_p50_ns", "release_p90_ns", "release_p99_ns",
                "release_p999_ns", "release_max_ns"}},
    CallFields{"handover",
               "hand-over",
               {"handover_count", "handover_p50_ns", "handover_p90_ns", "handover_p99_ns",
                "handover_p999_ns", "handover_max_ns"}},
};

Record latency_record(CallFields const& call, Latencies const& latencies) {
  Record record{number_field(call.keys[0], "count", latencies.count())};
  auto const add = [&](std::string_view label, std::chrono::nanoseconds latency) {
    record.push_back(
        {call.keys.at(record.size()), label, std::int64_t{latency.count()}, latency_text(latency)});
  };
  for (auto const& [thousandths, label] : percentiles) {
    add(label, latencies.percentile(thousandths));
  }
  add("max", latencies.longest());
  return record;
}

void write_result(Output form, Result const& result) {
  auto const& callers = result.callers;
  std::array<Latencies const*, 3> const measured{&callers.acquire(), &callers.release(),
                                                 &callers.handover()};
  auto summary = totals(result);
  std::vector<Record> lines;
  for (std::size_t i = 0; i < calls.size(); ++i) {
    auto const record = latency_record(calls.at(i), *measured.at(i));
    if (form != Output::table) summary.insert(summary.end(), record.begin(), record.end());
    if (measured.at(i)->count() == 0) continue;
    std::string const label(calls.at(i).label);
    lines.push_back({{"call", "call", label, label}});
    lines.back().insert(lines.back().end(), record.begin(), record.end());
  }
  write_record(form, summary);
  if (form != Output::table || lines.empty()) return;
  write_data("\n");
  write_records(form, lines);
}

/// Measures, and writes what was measured. Answers the exit status.
int measure(Holt& holt, BenchPlan const& plan, milliseconds duration, Output form, Progress how) {
  Interrupt interrupt;
  BenchCallers callers(holt, plan);
  BenchProgress progress(how, duration);
  auto const end = BootClock::now() + duration;
  auto const left = [&] { return std::max(end - BootClock::now(), std::chrono::nanoseconds(0)); };
  bool ended = false;
  while (!ended && !interrupt.token().stop_requested() && left().count() > 0) {
    progress.show(callers);
    ended = callers.wait(std::min<std::chrono::nanoseconds>(progress.pause(), left()),
                         interrupt.token());
  }
  bool const interrupted = interrupt.token().stop_requested();
  if (!interrupted) {  // else the figures come first: a blocked store may leave no time for them
    callers.stop();
    callers.wait(patience);
  }
  progress.finish(callers, interrupted ? "interrupted" : "measured");
  if (interrupted) talk("interrupted; this is what was measured until then");
  write_result(form, {holt, callers, interrupted});
  callers.join();
  if (auto const signal = interrupt.finish(); signal != 0) return 128 + signal;
  if (callers.failures() == 0) return number(ExitCode::ok);
  throw Failure(
      ExitCode::failed,
      fmt::format("{} failed; the first: {}", callers.failures(), callers.first_failure()),
      "holt doctor");
}

void check_range(std::string_view flag, std::uint64_t value, std::uint64_t most) {
  if (value >= 1 && value <= most) return;
  throw UsageError(fmt::format("{}: {} is out of range; use 1 to {}", flag, value, most));
}

int bench_lock(CommandLine& line) {
  std::optional<milliseconds> duration;
  std::optional<std::uint64_t> pairs;
  std::optional<std::uint64_t> callers;
  std::optional<std::string> names;
  std::optional<milliseconds> ttl;
  StoreOptions store;
  OutputOption output;
  ProgressOption progress;
  line.duration("--for", duration, "how long to measure (10s; 100ms to 1h)");
  line.count("--pairs", pairs, "end after so many pairs, if that is sooner");
  line.count("--callers", callers, "how many take and release at the same time (1; up to 256)");
  line.choice("--names", "WHICH", names_choices, names,
              "own (the default): one per caller; shared: one for all, who wait in line");
  line.duration("--ttl", ttl, "how long a lease lives without renewal (30s; 100ms to 1d)");
  store.declare(line);
  output.declare(line);
  progress.declare(line);
  if (!line.parse()) return number(ExitCode::ok);
  auto const time = duration.value_or(usual_duration);
  if (time < shortest_duration || time > longest_duration) {
    throw UsageError("--for: " + format_duration(time) + " is out of range; use 100ms to 1h");
  }
  check_range("--callers", callers.value_or(1), most_callers);
  check_range("--pairs", pairs.value_or(1), most_pairs);
  line.doing = "measure locks";
  BlockedSignals const blocked(ending_signals());
  ::signal(SIGPIPE, SIG_IGN);
  auto holt = store.open();
  BenchPlan plan{.callers = static_cast<std::uint32_t>(callers.value_or(1)),
                 .shared = names == "shared",
                 .ttl = ttl.value_or(LockOptions{}.ttl),
                 .prefix = new_prefix()};
  plan.pairs = pairs.value_or(plan.pairs);
  warm_up(holt, plan, progress.form());
  return measure(holt, plan, time, output.form(), progress.form());
}

}  // namespace

constinit Command const bench_lock_command{
    .words = "bench lock",
    .synopsis = "[options]",
    .summary = "Measure how fast your store takes and releases locks",
    .examples =
        "  holt bench lock                           one caller, for ten seconds\n"
        "  holt bench lock --callers 16              sixteen at once, a name each\n"
        "  holt bench lock --callers 16 --names shared   sixteen who want the same lock\n"
        "  holt bench lock --for 1m -o json | jq .acquire_p99_ns\n",
    .details =
        "A pair is a lock taken and released by the calls that programs use. Each caller is a\n"
        "thread of this process and goes on as soon as it has its answer, so this is the most\n"
        "that the store can do: others who use it will notice. With --names shared a caller's\n"
        "acquire has its wait in line in it, and a hand-over is the time from just before the\n"
        "holder lets go until the next in line has the lock.\n"
        "Percentiles are by nearest rank, at most 1% too high; max is exact.\n"
        "Names start with holt-bench/ and are nobody else's; none is left afterwards, and the\n"
        "fence counter has moved on. Ctrl-C ends it early (130), with the figures until then.\n"
        "Exit code 1: some pairs failed; it gives up after 100.\n",
    .run = &bench_lock,
};

}  // namespace holt::cli
