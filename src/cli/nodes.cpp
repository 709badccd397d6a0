// SPDX-License-Identifier: Apache-2.0
// holt nodes

#include "cli/command_line.hpp"
#include "cli/commands.hpp"
#include "cli/duration.hpp"
#include "cli/exit_code.hpp"
#include "cli/output.hpp"
#include "cli/store.hpp"
#include "cli/stream.hpp"
#include "cli/text.hpp"

#include <holt/open.hpp>
#include <holt/polling.hpp>

#include <array>
#include <charconv>
#include <cstdint>
#include <string>
#include <vector>

namespace holt::cli {
namespace {

/// The shortest that reads back as the same number.
std::string text_of(double number) {
  std::array<char, 32> text{};
  auto const end = std::to_chars(text.data(), text.data() + text.size(), number).ptr;
  return {text.data(), end};
}

Record record_of(NodeInfo const& node) {
  auto const since = timestamp(node.since);
  auto const weight = text_of(node.weight);
  return {
      {"node", "node", node.node, printable(node.node)},
      {"polling", "polling", node.polling, printable(node.polling)},
      {"status", "status", node.status, printable(node.status)},
      {"weight", "weight", weight, weight},
      {"endpoints", "endpoints", static_cast<std::int64_t>(node.endpoints),
       std::to_string(node.endpoints)},
      {"since", "since", since, since},
      {"ttl_ms", "", std::int64_t{node.ttl.count()}, ""},
      {"heartbeat_age_ms", "heartbeat", std::int64_t{node.heartbeat_age.count()},
       rounded_duration(node.heartbeat_age) + " ago"},
  };
}

int list_nodes(CommandLine& line) {
  std::string polling;
  StoreOptions store;
  OutputOption output;
  line.optional_word("POLLING", polling);
  store.declare(line);
  output.declare(line);
  if (!line.parse()) return number(ExitCode::ok);
  auto const form = output.form();
  line.doing = "list nodes";
  auto holt = store.open();
  std::vector<Record> records;
  for (auto const& node : holt.nodes(polling)) records.push_back(record_of(node));
  if (records.empty() && form == Output::table) {
    talk(polling.empty() ? "nobody polls" : "nobody polls in " + in_quotes(polling));
  }
  write_records(form, records);
  return number(ExitCode::ok);
}

}  // namespace

constinit Command const nodes_command{
    .words = "nodes",
    .synopsis = "[POLLING] [options]",
    .summary = "List the nodes that poll, and how much each has",
    .examples =
        "  holt nodes\n"
        "  holt nodes feeds -o json\n",
    .details =
        "Those that are alive, of one polling or of all. The heartbeat is the node's last\n"
        "renewal: how long ago, by the store's clock.\n",
    .run = &list_nodes,
    .guide = "poll",
};

}  // namespace holt::cli
