// SPDX-License-Identifier: Apache-2.0
// holt work: a command for every task of a queue.

#include "cli/command_line.hpp"
#include "cli/commands.hpp"
#include "cli/duration.hpp"
#include "cli/exit_code.hpp"
#include "cli/failure.hpp"
#include "cli/flag.hpp"
#include "cli/interruptible.hpp"
#include "cli/open_files.hpp"
#include "cli/program.hpp"
#include "cli/refusal.hpp"
#include "cli/signals.hpp"
#include "cli/store.hpp"
#include "cli/stream.hpp"
#include "cli/text.hpp"
#include "cli/watchdog.hpp"
#include "cli/work_jobs.hpp"

#include <holt/open.hpp>
#include <holt/queue.hpp>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace holt::cli {
namespace {

using std::chrono::milliseconds;

constexpr std::uint64_t most_at_a_time = 1000;
constexpr std::uint64_t usually_at_a_time = 5;
/// Each command's streams, and what the store and we ourselves may need.
constexpr std::uint64_t files_of_a_command = 6;
constexpr std::uint64_t other_files = 50;

/// What the library takes when nothing is said here; a value that is none, it refuses.
milliseconds usual_ttl() {
  if (auto const* const variable = std::getenv("HOLT_QUEUE_LOCK_DURATION")) {
    if (auto const said = parse_duration(variable)) return *said;
  }
  return milliseconds(10'000);
}

/// The same of concurrency; nothing: the library is to refuse what is set.
std::optional<std::uint64_t> usual_concurrency() {
  auto const* const variable = std::getenv("HOLT_QUEUE_WORKERS");
  if (variable == nullptr || *variable == '\0') return usually_at_a_time;
  auto const said = parse_count(variable);
  bool const possible = said && *said >= 1 && *said <= most_at_a_time;
  return possible ? said : std::nullopt;
}

void check_open_files(std::uint64_t commands) {
  auto const most = open_files_limit();
  auto const needed = commands * files_of_a_command + other_files;
  if (needed <= most) return;
  auto const fit = most < other_files ? 0 : (most - other_files) / files_of_a_command;
  auto const fewer = "--concurrency " + std::to_string(fit) + " or less, or ";
  throw UsageError(
      std::to_string(commands) + " commands at a time need " + std::to_string(needed) +
          " open files, and no more than " + std::to_string(most) + " are allowed",
      (fit > 0 ? fewer : "") + "a higher limit (ulimit -Hn, or LimitNOFILE of systemd)");
}

struct WorkOptions {
  std::optional<std::string> queue;
  std::optional<std::string> kinds;
  std::optional<std::uint64_t> concurrency;
  std::optional<milliseconds> ttl;
  std::optional<milliseconds> poll;
  std::optional<std::string> name;
  std::optional<milliseconds> backoff;
  std::optional<milliseconds> longest_backoff;
  std::optional<milliseconds> again_after;
  std::optional<milliseconds> patience;
  std::optional<milliseconds> grace;
  StoreOptions store;
  std::vector<std::string> command;

  void declare(CommandLine& line) {
    line.value("--queue", "QUEUE", queue, "whose tasks to do");
    line.value("--kind", "KINDS", kinds, "only tasks of these, commas between (default: all)");
    line.count("--concurrency", concurrency, "how many commands at a time (5; 1 to 1000)");
    line.duration("--ttl", ttl, "after which a worker that died is noticed (10s; 1s to 1d)");
    line.duration("--poll", poll, "how often to look where the store cannot wake us (1s)");
    line.value("--name", "ID", name, "who this is (default: host and process)");
    line.duration("--backoff", backoff, "longest wait after the first failure; doubles (1s)");
    line.duration("--longest-backoff", longest_backoff, "and never above this (1h)");
    line.duration("--again-after", again_after, "wait after exit code 75 (5s)");
    line.duration("--patience", patience, "how long commands may go on when it is stopped (10s)");
    line.duration("--grace", grace, "time between TERM and KILL (5s or a sixth of the ttl)");
    store.declare(line);
    line.command_words(command);
  }

  void check() const {
    constexpr char const* right = "holt work --queue QUEUE -- COMMAND";
    if (!queue) throw UsageError("--queue is missing: whose tasks should be done?", right);
    if (command.empty()) throw UsageError("the command to run is missing", right);
    auto const chosen = chosen_kinds();
    if (std::ranges::find(chosen, "") != chosen.end()) {
      throw UsageError("--kind " + in_quotes(*kinds) + " has an empty kind in it",
                       "--kind welcome,reminder, or leave it out to do all kinds");
    }
    if (concurrency && (*concurrency < 1 || *concurrency > most_at_a_time)) {
      throw UsageError("--concurrency: use 1 to 1000");
    }
    if (grace && *grace > time_to_live() / 3) {
      throw UsageError("--grace " + format_duration(*grace) + " is more than a third of the ttl, " +
                       format_duration(time_to_live()) + "; shorten it or lengthen --ttl");
    }
  }

  /// Without the spaces around them; none: all.
  [[nodiscard]] std::vector<std::string> chosen_kinds() const {
    std::vector<std::string> chosen;
    for (std::size_t at = 0; kinds && at <= kinds->size();) {
      auto const end = std::min(kinds->find(',', at), kinds->size());
      auto const first = std::min(kinds->find_first_not_of(' ', at), end);
      auto const last = kinds->find_last_not_of(' ', end - 1) + 1;
      chosen.push_back(first < end ? kinds->substr(first, last - first) : std::string());
      at = end + 1;
    }
    return chosen;
  }

  [[nodiscard]] milliseconds time_to_live() const { return ttl ? *ttl : usual_ttl(); }

  [[nodiscard]] TaskWork work() const {
    TaskWork work;
    work.command = command;
    work.environment = store.environment();
    work.places = concurrency.value_or(usually_at_a_time);
    work.grace = grace.value_or(std::min(milliseconds(5'000), time_to_live() / 6));
    work.patience = patience.value_or(milliseconds(10'000));
    work.again_after = again_after.value_or(milliseconds(5'000));
    return work;
  }

  [[nodiscard]] WorkerOptions worker() const {
    WorkerOptions options;
    options.queue = *queue;
    if (name) options.name = *name;
    if (concurrency) options.concurrency = static_cast<std::uint32_t>(*concurrency);
    if (ttl) options.ttl = *ttl;
    if (poll) options.poll = *poll;
    if (backoff) options.retry.first = *backoff;
    if (longest_backoff) options.retry.longest = *longest_backoff;
    return options;
  }
};

void handle_all(Worker& worker, WorkOptions const& options, WorkJobs& jobs) {
  auto const handler = [&jobs](Job& job) { jobs.attempt(job); };
  if (!options.kinds) return worker.handle_others(handler);
  for (auto const& kind : options.chosen_kinds()) worker.handle(kind, handler);
}

int do_tasks(CommandLine& line, WorkOptions const& options) {
  auto work = options.work();
  work.open_files = raise_open_files();
  check_open_files(work.places);
  Watchdog watchdog(work.places);  // before there are threads and open files
  std::optional<BlockedSignals> blocked;
  std::optional<Interruptible> clean_up;  // both before the store, whose closing they outlive
  auto holt = options.store.open();
  blocked.emplace(ending_signals());
  auto worker = holt.worker(options.worker());
  int status = 0;
  {
    WorkJobs jobs(watchdog, std::move(work), blocked->before());
    handle_all(worker, options, jobs);
    line.doing = "run " + in_quotes(options.command.front());
    worker.on_late([](LateFinish const& late) {
      talk_of_trouble("task " + late.id.text() +
                      " ended too late: its claim had ended, so this end does not count");
    });
    status = jobs.run(worker);
  }
  clean_up.emplace();
  return status;
}

int work(CommandLine& line) {
  WorkOptions options;
  options.declare(line);
  if (!line.parse()) return number(ExitCode::ok);
  if (!options.concurrency) options.concurrency = usual_concurrency();
  options.check();
  line.doing = "work on queue " + in_quotes(*options.queue);
  if (auto const missing = look_up_program(options.command.front()); missing != 0) {
    return refuse_to_start(options.command.front(), missing);
  }
  return do_tasks(line, options);
}

}  // namespace

constinit Command const work_command{
    .words = "work",
    .synopsis = "--queue QUEUE [options] -- COMMAND [ARGS...]",
    .summary = "Run a command for every task of a queue",
    .examples =
        "  holt work --queue mail -- ./send.sh\n"
        "  holt work --queue mail --kind welcome,reminder --concurrency 20 -- ./send.py\n"
        "  holt work --queue video --ttl 1m --patience 30m -- ./encode.sh\n",
    .details =
        "The command reads the task's payload from its standard input, and finds HOLT_TASK_ID,\n"
        "_QUEUE, _KIND, _PRIORITY, _ATTEMPT, _MAX_ATTEMPTS, _METADATA and _DEADLINE (in whole\n"
        "seconds since 1970, empty without a timeout) in its environment, and HOLT_FENCE,\n"
        "a number above that of every attempt before: a resource that refuses lower ones is safe.\n"
        "\n"
        "Exit code 0 completes the task, with standard output as its result (1 MiB at most).\n"
        "65: it is dead at once, for trying again cannot help. 75: it is tried again at no cost,\n"
        "a hundred times at most. Anything else is a failed attempt: it is tried again later, and\n"
        "dead after the last; the end of standard error, which is passed on, is kept as the\n"
        "error.\n"
        "\n"
        "No shell is involved, and each command is a process group of its own. It gets TERM, and\n"
        "KILL before anybody else can have the task: when the claim cannot be renewed, when the\n"
        "task is cancelled or takes longer than its timeout; a watchdog process does the same\n"
        "when holt itself is stopped or killed. The exit code of a command that was ended does\n"
        "not count.\n"
        "\n"
        "INT, TERM, HUP and QUIT claim nothing more, let commands go on for --patience, end the\n"
        "others at no cost to their tasks, and end it; a second INT, TERM or QUIT kills them:\n"
        "exit code 130, 143 or 131. A passing reason for which a command cannot be started costs\n"
        "its task nothing.\n"
        "\n"
        "Without --concurrency, --ttl and --poll, and their variables HOLT_WORK_CONCURRENCY, _TTL\n"
        "and _POLL, those of programs with workers are heeded: HOLT_QUEUE_WORKERS,\n"
        "HOLT_QUEUE_LOCK_DURATION and HOLT_QUEUE_POLL_INTERVAL. With --store and --instance the\n"
        "command finds HOLT_STORE and HOLT_INSTANCE in its environment.\n",
    .run = &work,
    .runs_child = true,
    .runs_many = true,
};

}  // namespace holt::cli
