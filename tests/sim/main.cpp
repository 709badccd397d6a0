// SPDX-License-Identifier: Apache-2.0
// holt_sim: runs simulations and says which broke a promise.
//   --seeds=N            how many, from --first (default: HOLT_SIM_SEEDS, else 200)
//   --first=K            the first seed (default 1)
//   --seed=K             only this one; -v tells everything that happens
//   --expect-violation   succeed if and only if some seed finds a violation (for mutants)

#include "sim/simulation.hpp"

#include <fmt/format.h>

#include <charconv>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <string>
#include <string_view>

namespace {

using holt::sim::Options;
using holt::sim::Result;

/// Every so many seeds are run again, to compare.
constexpr std::uint64_t repeat_every = 50;
constexpr std::uint64_t report_every = 500;

struct Arguments {
  std::uint64_t first = 1;
  std::uint64_t seeds = 200;
  bool verbose = false;
  bool expect_violation = false;
};

struct Totals {
  std::uint64_t passed = 0;
  std::uint64_t failed = 0;
  std::uint64_t steps = 0;
  std::uint64_t grants = 0;
  std::uint64_t writes = 0;
  std::uint64_t refused = 0;
  holt::sim::Nanos simulated{};
  holt::sim::Nanos longest_wait{};
};

std::optional<std::uint64_t> number(std::string_view text) {
  std::uint64_t value = 0;
  auto const [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

/// Takes one argument; false when it is none of ours.
bool parse(std::string_view argument, Arguments& arguments) {
  if (argument == "-v") {
    arguments.verbose = true;
    return true;
  }
  if (argument == "--expect-violation") {
    arguments.expect_violation = true;
    return true;
  }
  auto const equals = argument.find('=');
  if (equals == std::string_view::npos) return false;
  auto const name = argument.substr(0, equals);
  auto const value = number(argument.substr(equals + 1));
  if (!value) return false;
  if (name == "--seeds" && *value > 0) {
    arguments.seeds = *value;
  } else if (name == "--first") {
    arguments.first = *value;
  } else if (name == "--seed") {
    arguments.first = *value;
    arguments.seeds = 1;
  } else {
    return false;
  }
  return true;
}

void report_failure(Options const& options, Result const& result) {
  fmt::print("seed {} broke a promise at {:.6f} s: {}\n", options.seed,
             static_cast<double>(result.simulated.count()) / 1e9, *result.violation);
  fmt::print("  options: {}\n", holt::sim::describe(options));
  fmt::print("  replay:  make sim SEED={}\n", options.seed);
}

void add(Totals& totals, Result const& result) {
  ++(result.violation ? totals.failed : totals.passed);
  totals.steps += result.steps;
  totals.grants += result.grants;
  totals.writes += result.writes;
  totals.refused += result.refused;
  totals.simulated += result.simulated;
  totals.longest_wait = std::max(totals.longest_wait, result.longest_wait);
}

/// The same seed must give the same history, also when wall clocks jump (or do not).
std::optional<std::string> compare(Options options, std::uint64_t hash) {
  if (holt::sim::simulate(options).hash != hash) return "one seed has one history: two runs differ";
  options.faults.wall_steps = !options.faults.wall_steps;
  if (holt::sim::simulate(options).hash != hash) return "jumps of the wall clock change nothing";
  return std::nullopt;
}

Result run_seed(Options const& options, Arguments const& arguments) {
  bool const tell = arguments.verbose;
  auto result = holt::sim::simulate(options, [tell](std::string const& line) {
    if (tell) fmt::print("{}\n", line);
  });
  bool const twice = options.seed % repeat_every == 1 || arguments.seeds == 1;
  if (twice && !result.violation && !arguments.expect_violation) {
    result.violation = compare(options, result.hash);
  }
  return result;
}

Totals run_seeds(Arguments const& arguments) {
  Totals totals;
  for (auto seed = arguments.first; seed < arguments.first + arguments.seeds; ++seed) {
    auto const options = holt::sim::options_of(seed);
    if (arguments.verbose) fmt::print("{}\n", holt::sim::describe(options));
    auto const result = run_seed(options, arguments);
    add(totals, result);
    if (arguments.seeds == 1) fmt::print("history {:016x}\n", result.hash);
    if (result.violation) {
      report_failure(options, result);
      if (!arguments.expect_violation && !arguments.verbose) {
        for (auto const& line : result.last_lines) fmt::print("    {}\n", line);
      }
      if (arguments.expect_violation) break;
    }
    if ((seed - arguments.first + 1) % report_every == 0) {
      fmt::print("{} seeds, {} failed\n", seed - arguments.first + 1, totals.failed);
      std::fflush(stdout);
    }
  }
  return totals;
}

void report(Totals const& totals, std::chrono::duration<double> took) {
  auto const seeds = totals.passed + totals.failed;
  fmt::print(
      "{:.1f} simulated hours in {:.1f} s ({:.0f} seeds a minute): {} events, {} grants, {} "
      "writes of which {} came too late; longest wait in a healthy world {:.1f} s\n",
      static_cast<double>(totals.simulated.count()) / 3.6e12, took.count(),
      static_cast<double>(seeds) * 60 / took.count(), totals.steps, totals.grants, totals.writes,
      totals.refused, static_cast<double>(totals.longest_wait.count()) / 1e9);
  fmt::print("{} passed, {} failed\n", totals.passed, totals.failed);
}

}  // namespace

int main(int argc, char** argv) {
  Arguments arguments;
  if (char const* const seeds = std::getenv("HOLT_SIM_SEEDS"); seeds != nullptr) {
    arguments.seeds = number(seeds).value_or(arguments.seeds);
  }
  for (int i = 1; i < argc; ++i) {
    if (parse(argv[i], arguments)) continue;
    fmt::print(stderr,
               "holt_sim: cannot use '{}'; the options are --seeds=N --first=K --seed=K -v "
               "--expect-violation\n",
               argv[i]);
    return 2;
  }
  auto const began = std::chrono::steady_clock::now();
  auto const totals = run_seeds(arguments);
  report(totals, std::chrono::steady_clock::now() - began);
  if (!arguments.expect_violation) return totals.failed == 0 ? 0 : 1;
  if (totals.failed == 0) fmt::print("no seed noticed the mistake\n");
  return totals.failed == 0 ? 1 : 0;
}
