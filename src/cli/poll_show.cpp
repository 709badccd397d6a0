// SPDX-License-Identifier: Apache-2.0
// holt poll show

#include "cli/command_line.hpp"
#include "cli/commands.hpp"
#include "cli/exit_code.hpp"
#include "cli/output.hpp"
#include "cli/store.hpp"
#include "cli/stream.hpp"
#include "cli/text.hpp"

#include <holt/name.hpp>
#include <holt/open.hpp>
#include <holt/polling.hpp>

#include <cstdint>
#include <string>
#include <vector>

namespace holt::cli {
namespace {

std::string or_dash(std::string const& text) { return text.empty() ? "-" : printable(text); }

Record record_of(EndpointInfo const& endpoint) {
  bool const held = !endpoint.node.empty();
  std::string const state(to_string(endpoint.state));
  auto const since = held ? timestamp(endpoint.since) : std::string();
  return {
      {"endpoint", "endpoint", endpoint.endpoint, printable(endpoint.endpoint)},
      {"state", "state", state, state},
      {"node", "node", endpoint.node, or_dash(endpoint.node)},
      {"preferred", "preferred", endpoint.preferred, or_dash(endpoint.preferred)},
      {"fence", "fence", endpoint.fence.padded(), held ? endpoint.fence.decimal() : "-"},
      {"since", "since", since, or_dash(since)},
      {"expires_in_ms", "", std::int64_t{endpoint.expires_in.count()}, ""},
      {"paused", "paused", endpoint.paused, endpoint.paused ? "yes" : "no"},
  };
}

int poll_show(CommandLine& line) {
  std::string text = "default";
  StoreOptions store;
  OutputOption output;
  line.optional_word("POLLING", text);
  store.declare(line);
  output.declare(line);
  if (!line.parse()) return number(ExitCode::ok);
  auto const form = output.form();
  line.doing = "show polling " + in_quotes(text);
  Name const name(text);
  auto holt = store.open();
  std::vector<Record> records;
  for (auto const& endpoint : holt.endpoints(name)) records.push_back(record_of(endpoint));
  write_records(form, records);
  if (!records.empty()) return number(ExitCode::ok);
  if (form == Output::table) talk("polling " + in_quotes(text) + " has no endpoints");
  return number(ExitCode::not_found);
}

}  // namespace

constinit Command const poll_show_command{
    .words = "poll show",
    .synopsis = "[POLLING] [options]",
    .summary = "Show which node polls which endpoint, and which one should",
    .examples =
        "  holt poll show feeds\n"
        "  holt poll show feeds -o json | jq -r '.[] | select(.node != .preferred) | .endpoint'\n",
    .details =
        "Of the endpoints that a node has, and of those in the store. State is owned; uncertain,\n"
        "when the renewal of its lease is late; unknown, when nobody has it. POLLING is\n"
        "\"default\" if not given. Exit code 3: there are none.\n",
    .run = &poll_show,
    .guide = "poll",
};

}  // namespace holt::cli
