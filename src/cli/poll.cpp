// SPDX-License-Identifier: Apache-2.0
// holt poll: a command for every endpoint, on whichever node has it.

#include "cli/command_line.hpp"
#include "cli/commands.hpp"
#include "cli/duration.hpp"
#include "cli/endpoint_list.hpp"
#include "cli/exit_code.hpp"
#include "cli/failure.hpp"
#include "cli/interruptible.hpp"
#include "cli/nearest.hpp"
#include "cli/poll_jobs.hpp"
#include "cli/signals.hpp"
#include "cli/store.hpp"
#include "cli/stream.hpp"
#include "cli/text.hpp"
#include "cli/watchdog.hpp"

#include <holt/name.hpp>
#include <holt/open.hpp>
#include <holt/polling.hpp>

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <cstdint>
#include <exception>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace holt::cli {
namespace {

using std::chrono::milliseconds;

constexpr std::uint64_t most_jobs = 1000;

/// In the order of enum PollWeights.
constexpr std::array<std::string_view, 2> weights_choices{"mixed", "compatible"};

double number_of(std::string_view flag, std::string const& text) {
  double number = 0;
  auto const* const begin = text.data();
  auto const* const end = begin + text.size();
  auto const read = std::from_chars(begin, end, number);
  if (read.ec == std::errc{} && read.ptr == end) return number;
  throw UsageError(std::string(flag) + ' ' + in_quotes(text) + " is no number; write it as 1.5");
}

struct PollOptions {
  std::string name = "default";
  std::optional<std::string> endpoints;
  bool stored = false;
  std::optional<milliseconds> every;
  std::optional<milliseconds> ttl;
  std::optional<std::string> node;
  std::optional<std::uint64_t> jobs;
  std::optional<milliseconds> timeout;
  std::optional<milliseconds> grace;
  std::optional<std::string> weight;
  std::optional<std::string> cap;
  std::optional<std::string> weights;
  std::optional<std::uint64_t> moves;
  StoreOptions store;
  std::vector<std::string> command;

  void declare(CommandLine& line) {
    line.optional_word("POLLING", name);
    line.value("--endpoints", "FILE", endpoints, "what to poll, one per line; - for stdin");
    line.flag("--stored", stored, "instead: what holt poll add has put into the store");
    line.duration("--every", every, "between two polls of an endpoint (10s)");
    line.duration("--ttl", ttl,
                  "how long an endpoint stays with a node that died (30s; 100ms to 1d)");
    line.value("--node", "ID", node, "who this is (default: host, start and a random part)");
    line.count("--jobs", jobs, "how many commands at a time (4; 1 to 1000)");
    line.duration("--timeout", timeout, "end a command that takes longer (default: never)");
    line.duration("--grace", grace, "time between TERM and KILL (5s or a sixth of the ttl)");
    line.value("--weight", "FACTOR", weight, "this node's share beside others (1)");
    line.value("--cap", "FACTOR", cap, "no node has more than so many times its share (no cap)");
    line.choice("--weights", "WHICH", weights_choices, weights,
                "mixed (the default), or compatible: as fleets with FNV-1a have it");
    line.count("--moves", moves, "how many endpoints move to this node at a time (32)");
    store.declare(line);
    line.command_words(command);
    line.exclusive("--endpoints", "--stored");
  }

  void check() const {
    constexpr char const* right = "holt poll [POLLING] --endpoints FILE -- COMMAND {}";
    if (command.empty()) {
      std::string message = "the command to run is missing";
      auto const meant = nearest(name, known_words("poll"));
      if (!meant.empty()) message += "; did you mean \"holt poll " + std::string(meant) + "\"?";
      throw UsageError(message, right);
    }
    if (!endpoints && !stored)
      throw UsageError("what is to be polled? --endpoints or --stored", right);
    if (endpoints && stored) throw UsageError("--endpoints and --stored exclude each other");
    if (jobs && (*jobs < 1 || *jobs > most_jobs)) throw UsageError("--jobs: use 1 to 1000");
    if (timeout && timeout->count() == 0) throw UsageError("--timeout 0s leaves no time at all");
    if (grace && *grace > time_to_live() / 3) {
      throw UsageError("--grace " + format_duration(*grace) + " is more than a third of the ttl, " +
                       format_duration(time_to_live()) + "; shorten it or lengthen --ttl");
    }
  }

  [[nodiscard]] milliseconds time_to_live() const { return ttl.value_or(PollingOptions{}.ttl); }

  [[nodiscard]] PollWork work() const {
    PollWork work;
    work.command = command;
    work.jobs = jobs.value_or(work.jobs);
    work.grace = grace.value_or(std::min(milliseconds(5'000), time_to_live() / 6));
    work.timeout = timeout;
    return work;
  }

  [[nodiscard]] PollingOptions polling() const {
    PollingOptions options;
    options.ttl = time_to_live();
    options.stored = stored;
    if (node) options.node = *node;
    if (every) options.every = *every;
    if (weight) options.weight = number_of("--weight", *weight);
    if (cap) options.cap = number_of("--cap", *cap);
    if (weights == weights_choices[1]) options.weights = PollWeights::compatible;
    if (moves)
      options.moves = static_cast<std::uint32_t>(std::min<std::uint64_t>(*moves, UINT32_MAX));
    return options;
  }
};

/// The list as it is now, instead of the one before. If it cannot be had, that one stays.
void read_again(Polling& polling, std::string const& file) {
  try {
    auto const endpoints = read_endpoints(file);
    polling.set_endpoints(endpoints);
    talk("read " + in_quotes(file) + " again: " + std::to_string(endpoints.size()) + " endpoints");
  } catch (std::exception const& error) {
    talk_of_trouble(std::string("nothing is changed: ") + error.what());
  }
}

int poll_endpoints(CommandLine& line, PollOptions const& options) {
  Name const name(options.name);
  auto const wanted = options.polling();
  auto work = options.work();
  Watchdog watchdog(work.jobs);  // before there are threads and open files
  std::vector<std::string> endpoints;
  if (options.endpoints) endpoints = read_endpoints(*options.endpoints);
  std::optional<BlockedSignals> blocked;
  std::optional<Interruptible> clean_up;  // both before the store, whose closing they outlive
  auto holt = options.store.open();
  blocked.emplace(ending_signals());
  auto polling = holt.polling(name, wanted);
  if (options.endpoints) {
    polling.set_endpoints(endpoints);
    if (endpoints.empty()) talk("there is no endpoint in " + in_quotes(*options.endpoints));
    if (*options.endpoints != "-") {
      work.reload = [&polling, &options] { read_again(polling, *options.endpoints); };
    }
  }
  line.doing = "run " + in_quotes(options.command.front());
  int status = 0;
  {
    PollJobs jobs(polling, watchdog, std::move(work), blocked->before());
    status = jobs.run();
  }
  clean_up.emplace();
  return status;
}

int poll(CommandLine& line) {
  PollOptions options;
  options.declare(line);
  if (!line.parse()) return number(ExitCode::ok);
  options.check();
  line.doing = "take part in polling " + in_quotes(options.name);
  return poll_endpoints(line, options);
}

}  // namespace

constinit Command const poll_command{
    .words = "poll",
    .synopsis = "[POLLING] --endpoints FILE [options] -- COMMAND [ARGS...]",
    .summary = "Run a command for every endpoint, each on one node of a fleet",
    .examples =
        "  holt poll --endpoints feeds.txt -- curl -fsS -o /dev/null {}\n"
        "  holt poll feeds --endpoints feeds.txt --every 1m --jobs 8 -- ./fetch.sh {}\n"
        "  holt poll feeds --stored -- ./fetch.sh      what holt poll add feeds URL has added\n",
    .details =
        "Start it on every machine, with the same list: the endpoints are shared, each is polled\n"
        "on one of them, and a machine that comes or goes takes or leaves its part. Every {} in\n"
        "the command is replaced by the endpoint, without a shell; where there is none, the\n"
        "endpoint is added as the last word. POLLING is \"default\" if not given.\n"
        "The command gets HOLT_ENDPOINT, HOLT_POLLING, HOLT_NODE and HOLT_FENCE, a number that\n"
        "grows whenever the endpoint changes hands, and no standard input. One that fails is\n"
        "reported, and polled again when its time comes. When its endpoint is to go elsewhere it\n"
        "may run for 5s more, then it gets TERM, and KILL before anybody else can poll it.\n"
        "HUP reads FILE again. INT and TERM end the commands, hand over the endpoints and end it;\n"
        "a second one ends it at once.\n",
    .run = &poll,
    .runs_child = true,
    .runs_many = true,
};

}  // namespace holt::cli
