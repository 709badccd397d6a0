// SPDX-License-Identifier: Apache-2.0
// holt queue list

#include "cli/command_line.hpp"
#include "cli/commands.hpp"
#include "cli/exit_code.hpp"
#include "cli/failure.hpp"
#include "cli/output.hpp"
#include "cli/store.hpp"
#include "cli/stream.hpp"
#include "cli/task_record.hpp"
#include "cli/text.hpp"

#include <holt/open.hpp>
#include <holt/queue.hpp>

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace holt::cli {
namespace {

constexpr std::uint32_t page_size = 1000;

/// In the order of enum TaskState.
constexpr std::array<std::string_view, 7> states{"scheduled", "pending", "running",  "completed",
                                                 "retrying",  "dead",    "cancelled"};

struct ListOptions {
  std::string queue;
  std::optional<std::string> state;
  std::optional<std::string> kind;
  std::optional<std::uint64_t> limit;

  void declare(CommandLine& line) {
    line.word("QUEUE", queue);
    line.choice("--state", "STATE", states, state, "only tasks in this state");
    line.value("--kind", "KIND", kind, "only tasks of this kind");
    line.count("--limit", limit, "at most so many (default: all)");
  }

  void check() const {
    if (limit == 0U) throw UsageError("--limit 0 would list nothing", "--limit 1, or more");
  }

  [[nodiscard]] std::optional<TaskState> wanted_state() const {
    if (!state) return std::nullopt;
    return static_cast<TaskState>(std::ranges::find(states, *state) - states.begin());
  }
};

std::vector<Record> records_of(Queue queue, ListOptions const& options) {
  auto const limit = options.limit.value_or(UINT64_MAX);
  std::vector<Record> records;
  std::string cursor;
  do {
    auto const page = queue.list(options.wanted_state(), cursor, page_size);
    for (auto const& task : page.tasks) {
      if (options.kind && task.kind != *options.kind) continue;
      if (records.size() == limit) return records;
      records.push_back(task_line(task));
    }
    cursor = page.next;
  } while (!cursor.empty() && records.size() < limit);
  return records;
}

/// `3 pending, 1 running`, of all that there are.
std::string sum_of(TaskCounts const& counts) {
  std::array<std::uint64_t, 7> const each{counts.scheduled, counts.pending,  counts.running,
                                          counts.completed, counts.retrying, counts.dead,
                                          counts.cancelled};
  std::string sum;
  for (std::size_t i = 0; i < each.size(); ++i) {
    if (each[i] == 0) continue;
    if (!sum.empty()) sum += ", ";
    bool const more = each[i] >= TaskCounts::limit;
    sum += (more ? "at least " : "") + std::to_string(each[i]) + ' ' + std::string(states[i]);
  }
  return sum.empty() ? "no tasks" : sum;
}

int queue_list(CommandLine& line) {
  ListOptions options;
  StoreOptions store;
  OutputOption output;
  options.declare(line);
  store.declare(line);
  output.declare(line);
  if (!line.parse()) return number(ExitCode::ok);
  options.check();
  auto const form = output.form();
  line.doing = "list the tasks of queue " + in_quotes(options.queue);
  auto holt = store.open();
  auto queue = holt.queue(options.queue);
  write_records(form, records_of(queue, options));
  if (form == Output::table) {
    talk("queue " + in_quotes(options.queue) + ": " + sum_of(queue.count()));
  }
  return number(ExitCode::ok);
}

}  // namespace

constinit Command const queue_list_command{
    .words = "queue list",
    .synopsis = "QUEUE [options]",
    .summary = "List the tasks of a queue",
    .examples =
        "  holt queue list mail\n"
        "  holt queue list mail --state dead -o json\n"
        "  holt queue list mail --state pending --kind welcome -o name | xargs -n1 holt queue "
        "cancel\n",
    .details =
        "In the order of adding, without payloads, results and errors: holt queue show has them.\n"
        "Of tasks that were completed without a result the last 1,000 are kept for sure.\n",
    .run = &queue_list,
    .guide = "queue",
};

}  // namespace holt::cli
