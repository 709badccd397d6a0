// SPDX-License-Identifier: Apache-2.0
// holt election list

#include "cli/command_line.hpp"
#include "cli/commands.hpp"
#include "cli/exit_code.hpp"
#include "cli/leader_record.hpp"
#include "cli/output.hpp"
#include "cli/store.hpp"
#include "cli/stream.hpp"
#include "cli/text.hpp"

#include <holt/open.hpp>

#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <vector>

namespace holt::cli {
namespace {

constexpr std::uint32_t page_size = 1000;

/// For a table of many; JSON has all of it.
Record leader_line(LeaderInfo const& leader) {
  constexpr std::array<std::string_view, 3> wide{"since", "ttl_ms", "state"};
  auto record = leader_record(leader);
  for (auto& field : record) {
    if (std::ranges::find(wide, field.key) != wide.end()) field.label = {};
  }
  return record;
}

std::vector<Record> all_leaders(Holt& holt, std::string const& prefix) {
  std::vector<Record> records;
  std::string after;
  while (true) {
    auto const page = holt.leaders(prefix, after, page_size);
    for (auto const& leader : page) records.push_back(leader_line(leader));
    if (page.size() < page_size) return records;
    after = page.back().election.text();
  }
}

int election_list(CommandLine& line) {
  std::string prefix;
  StoreOptions store;
  OutputOption output;
  line.optional_word("PREFIX", prefix);
  store.declare(line);
  output.declare(line);
  if (!line.parse()) return number(ExitCode::ok);
  auto const form = output.form();
  line.doing = "list elections";
  auto holt = store.open();
  auto const records = all_leaders(holt, prefix);
  if (records.empty() && form == Output::table) {
    talk(prefix.empty() ? "no election has a leader"
                        : "no election has a leader whose name starts with " + in_quotes(prefix));
  }
  write_records(form, records);
  return number(ExitCode::ok);
}

}  // namespace

constinit Command const election_list_command{
    .words = "election list",
    .synopsis = "[PREFIX] [options]",
    .summary = "List the elections that have a leader",
    .examples =
        "  holt election list\n"
        "  holt election list billing/ -o json\n",
    .details = "With PREFIX only those whose names start with it.\n",
    .run = &election_list,
    .guide = "election",
};

}  // namespace holt::cli
