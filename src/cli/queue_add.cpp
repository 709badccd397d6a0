// SPDX-License-Identifier: Apache-2.0
// holt queue add

#include "cli/command_line.hpp"
#include "cli/commands.hpp"
#include "cli/duration.hpp"
#include "cli/exit_code.hpp"
#include "cli/failure.hpp"
#include "cli/payload.hpp"
#include "cli/store.hpp"
#include "cli/stream.hpp"
#include "cli/text.hpp"

#include <holt/open.hpp>
#include <holt/queue.hpp>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace holt::cli {
namespace {

using std::chrono::milliseconds;

/// In the order of enum Unique.
constexpr std::array<std::string_view, 3> scopes{"waiting", "unfinished", "period"};

struct AddOptions {
  std::string queue;
  std::optional<std::string> kind;
  std::optional<std::string> payload;
  std::optional<std::uint64_t> priority;
  std::optional<milliseconds> delay;
  std::optional<std::uint64_t> max_attempts;
  std::optional<milliseconds> timeout;
  std::optional<milliseconds> keep;
  std::optional<std::string> metadata;
  std::optional<std::string> unique;
  std::optional<std::string> unique_while;
  std::optional<milliseconds> unique_for;
  std::optional<milliseconds> wait;

  void declare(CommandLine& line) {
    line.word("QUEUE", queue);
    line.value("--kind", "KIND", kind, "what is to be done: workers choose by it");
    line.value("--payload", "PAYLOAD", payload,
               "text (@@ for a first @), @FILE, or -: one task per line of stdin");
    line.count("--priority", priority, "1 is the most urgent, 10 the least (5)");
    line.duration("--delay", delay, "does not run before it has passed");
    line.count("--max-attempts", max_attempts, "dead after so many failures (3; 1 to 100)");
    line.duration("--timeout", timeout, "of an attempt, which is ended then (default: none)");
    line.duration("--keep", keep, "how long it is known when it is completed (1d)");
    line.value("--metadata", "TEXT", metadata, "kept with the task (at most 4 KiB)");
    line.value("--unique", "KEY", unique, "no second task with this key, see below");
    line.choice("--unique-while", "STATE", scopes, unique_while,
                "while it is waiting; unfinished (the default), or for a period");
    line.duration("--unique-for", unique_for, "the period, from its adding on");
    line.duration("--wait", wait, "wait for its end, print its result instead of its id");
  }

  void check() const {
    constexpr char const* right = "holt queue add QUEUE --kind KIND [--payload JSON]";
    if (!kind) throw UsageError("--kind is missing: what is to be done?", right);
    if (priority && (*priority < 1 || *priority > 10)) {
      throw UsageError("--priority " + std::to_string(*priority) + " is not possible",
                       "1 (the most urgent) to 10 (the least)");
    }
    if (max_attempts && (*max_attempts < 1 || *max_attempts > task_limits::attempts)) {
      throw UsageError("--max-attempts " + std::to_string(*max_attempts) + " is not possible",
                       "1 to 100");
    }
    if (!unique && (unique_while || unique_for)) {
      throw UsageError("--unique-while and --unique-for need --unique KEY");
    }
    if (unique && unique->empty()) {
      throw UsageError("--unique is empty, which would be no key at all",
                       "1 to 512 bytes, or leave --unique out");
    }
    if (unique_for && *unique_for == milliseconds(0)) {
      throw UsageError("--unique-for 0s is no period", "--unique-for 20h, or leave it out");
    }
    bool const period = unique_while == scopes[2];
    if (period && !unique_for) throw UsageError("--unique-while period needs --unique-for");
    if (unique_for && unique_while && !period) {
      throw UsageError("--unique-for is for --unique-while period");
    }
    bool const many = payload == "-";
    if (many && unique) throw UsageError("--unique makes one task of all lines of --payload -");
    if (many && wait) throw UsageError("--wait is for one task, and --payload - adds many");
  }

  [[nodiscard]] TaskOptions task() const {
    TaskOptions options;
    if (priority) options.priority = static_cast<std::int32_t>(*priority);
    if (max_attempts) options.max_attempts = static_cast<std::uint32_t>(*max_attempts);
    options.delay = delay.value_or(options.delay);
    options.timeout = timeout.value_or(options.timeout);
    options.keep = keep.value_or(options.keep);
    if (metadata) options.metadata = *metadata;
    if (unique) options.unique = *unique;
    if (unique_while) {
      options.unique_while =
          static_cast<Unique>(std::ranges::find(scopes, *unique_while) - scopes.begin());
    }
    if (unique_for) {
      options.unique_while = Unique::period;
      options.unique_period = *unique_for;
    }
    return options;
  }
};

int add_lines(Queue queue, AddOptions const& options) {
  PayloadLines input;
  std::size_t count = 0;
  try {
    for (auto lines = input.next(); !lines.empty(); lines = input.next()) {
      std::vector<TaskDraft> drafts;
      drafts.reserve(lines.size());
      for (auto& line : lines) drafts.push_back({*options.kind, std::move(line), options.task()});
      std::string ids;
      for (auto const& added : queue.add_many(drafts)) ids += added.id.text() + '\n';
      count += drafts.size();
      write_data(ids);
    }
  } catch (...) {
    if (count > 0) talk_of_trouble(std::to_string(count) + " tasks were added before this:");
    throw;
  }
  talk("added " + std::to_string(count) + (count == 1 ? " task" : " tasks"));
  return number(ExitCode::ok);
}

int wait_for(Queue queue, TaskId const& id, milliseconds wait) {
  auto const task = queue.wait(id, wait);
  if (!task) {
    throw Failure(ExitCode::not_found, "it has not ended in " + format_duration(wait),
                  "holt queue show " + id.text());
  }
  if (task->state == TaskState::completed) {
    write_data(task->result);
    return number(ExitCode::ok);
  }
  throw Failure(ExitCode::failed, "it is " + std::string(to_string(task->state)),
                "holt queue show " + id.text());
}

int add_one(CommandLine& line, Queue queue, AddOptions const& options) {
  auto const payload = payload_of(options.payload.value_or(""));
  auto const added = queue.add(*options.kind, payload, options.task());
  auto const id = added.id.text();
  if (added.duplicate) talk("nothing was added: task " + id + " has this key");
  if (!options.wait) {
    write_data(id + '\n');
    return number(ExitCode::ok);
  }
  if (!added.duplicate) talk("added task " + id);
  line.doing = "wait for task " + id;
  return wait_for(std::move(queue), added.id, *options.wait);
}

int queue_add(CommandLine& line) {
  AddOptions options;
  StoreOptions store;
  options.declare(line);
  store.declare(line);
  if (!line.parse()) return number(ExitCode::ok);
  options.check();
  line.doing = "add to queue " + in_quotes(options.queue);
  auto holt = store.open();
  auto queue = holt.queue(options.queue);
  if (options.payload == "-") return add_lines(std::move(queue), options);
  return add_one(line, std::move(queue), options);
}

}  // namespace

constinit Command const queue_add_command{
    .words = "queue add",
    .synopsis = "QUEUE --kind KIND [options]",
    .summary = "Add a task to a queue, or one for each line",
    .examples =
        "  holt queue add mail --kind welcome --payload '{\"to\":\"ada\"}'\n"
        "  holt queue add mail --kind reminder --payload @letter.json --delay 2h --priority 8\n"
        "  jq -c '.users[]' all.json | holt queue add mail --kind welcome --payload -\n"
        "  holt queue add report --kind nightly --unique nightly --unique-for 20h\n"
        "  holt queue add sums --kind add --payload '[1,2]' --wait 30s\n",
    .details =
        "Prints the task's id, one per line. It is stored when its id is printed. A payload is\n"
        "any bytes, at most 1 MiB, and none if not given; JSON is a convention, and nobody checks\n"
        "it. One that begins with @ is given with another @ before it. With --payload - every "
        "line\n"
        "of standard input that is not empty is a task; thousands are added at a time, all of\n"
        "these or none, and a failure says how many were before.\n"
        "\n"
        "With --unique nothing is added while a task with that key is there, and that one's id is\n"
        "printed: while it waits or runs, with --unique-while waiting only until it is started,\n"
        "with --unique-for for so long from its adding on.\n"
        "With --wait the result is printed. Exit code 1: the task is dead or was cancelled. 3: it\n"
        "has not ended in time.\n",
    .run = &queue_add,
    .guide = "queue",
};

}  // namespace holt::cli
