// SPDX-License-Identifier: Apache-2.0
// holt list

#include "cli/command_line.hpp"
#include "cli/commands.hpp"
#include "cli/exit_code.hpp"
#include "cli/instance_record.hpp"
#include "cli/output.hpp"
#include "cli/store.hpp"
#include "cli/stream.hpp"

#include <holt/instance.hpp>

#include <utility>
#include <vector>

namespace holt::cli {
namespace {

int list(CommandLine& line) {
  StoreOptions store;
  OutputOption output;
  store.declare_store(line);
  output.declare(line);
  if (!line.parse()) return number(ExitCode::ok);
  auto const form = output.form();
  line.doing = "list instances";
  auto [url, options] = store.opening();
  auto instances = open_instances(url, std::move(options));
  std::vector<Record> records;
  for (auto const& instance : instances.list()) records.push_back(instance_record(instance));
  if (records.empty() && form == Output::table) {
    talk("there are no instances in this store");
    talk_of_a_way_out("holt up (to start one in this folder)");
  }
  write_records(form, records);
  return number(ExitCode::ok);
}

}  // namespace

constinit Command const list_command{
    .words = "list",
    .synopsis = "[options]",
    .summary = "List the instances of a store",
    .examples =
        "  holt list\n"
        "  holt list -o json\n"
        "  holt list -o name\n",
    .details =
        "All that are up, on whichever host, and those that ended without holt down in the last\n"
        "hour: stopped. Degraded: it lives, but a heartbeat is missing, it is between two leaders\n"
        "or it is being stopped; -o json says which.\n",
    .run = &list,
};

}  // namespace holt::cli
