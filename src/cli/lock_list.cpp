// SPDX-License-Identifier: Apache-2.0
// holt lock list

#include "cli/command_line.hpp"
#include "cli/commands.hpp"
#include "cli/exit_code.hpp"
#include "cli/lease_record.hpp"
#include "cli/output.hpp"
#include "cli/store.hpp"
#include "cli/stream.hpp"
#include "cli/text.hpp"

#include <holt/open.hpp>

#include <string>
#include <vector>

namespace holt::cli {
namespace {

constexpr std::uint32_t page_size = 1000;

std::vector<Record> all_leases(Holt& holt, std::string const& prefix) {
  std::vector<Record> records;
  std::string cursor;
  do {
    auto page = holt.list(prefix, cursor, page_size);
    for (auto const& lease : page.leases) records.push_back(lease_line(lease));
    cursor = page.next;
  } while (!cursor.empty());
  return records;
}

int lock_list(CommandLine& line) {
  std::string prefix;
  StoreOptions store;
  OutputOption output;
  line.optional_word("PREFIX", prefix);
  store.declare(line);
  output.declare(line);
  if (!line.parse()) return number(ExitCode::ok);
  auto const form = output.form();
  line.doing = "list locks";
  auto holt = store.open();
  auto const records = all_leases(holt, prefix);
  if (records.empty() && form == Output::table) {
    talk(prefix.empty() ? "no locks are held"
                        : "no locks are held whose names start with " + in_quotes(prefix));
  }
  write_records(form, records);
  return number(ExitCode::ok);
}

}  // namespace

constinit Command const lock_list_command{
    .words = "lock list",
    .synopsis = "[PREFIX] [options]",
    .summary = "List the locks that are held",
    .examples =
        "  holt lock list\n"
        "  holt lock list deploy/ -o json\n"
        "  holt lock list -o name\n",
    .details = "With PREFIX only those whose names start with it.\n",
    .run = &lock_list,
    .guide = "lock",
};

}  // namespace holt::cli
