// SPDX-License-Identifier: Apache-2.0
// holt election show

#include "cli/command_line.hpp"
#include "cli/commands.hpp"
#include "cli/exit_code.hpp"
#include "cli/leader_record.hpp"
#include "cli/output.hpp"
#include "cli/store.hpp"
#include "cli/stream.hpp"
#include "cli/text.hpp"

#include <holt/name.hpp>
#include <holt/open.hpp>

#include <string>

namespace holt::cli {
namespace {

int election_show(CommandLine& line) {
  std::string text;
  StoreOptions store;
  OutputOption output;
  line.word("ELECTION", text);
  store.declare(line);
  output.declare(line);
  if (!line.parse()) return number(ExitCode::ok);
  auto const form = output.form();
  line.doing = "show election " + in_quotes(text);
  Name const name(text);
  auto holt = store.open();
  auto const leader = holt.leader(name);
  if (!leader) {
    talk("election " + in_quotes(text) + " has no leader");
    return number(ExitCode::not_found);
  }
  write_record(form, leader_record(*leader));
  return number(ExitCode::ok);
}

}  // namespace

constinit Command const election_show_command{
    .words = "election show",
    .synopsis = "ELECTION [options]",
    .summary = "Show who leads, since when, and how healthy it is",
    .examples =
        "  holt election show scheduler\n"
        "  holt election show scheduler -o json | jq -r .leader\n",
    .details =
        "The heartbeat is the leader's last renewal: how long ago, by the store's clock.\n"
        "Candidates is how many stand in line behind the leader. Exit code 3: nobody leads.\n",
    .run = &election_show,
    .guide = "election",
};

}  // namespace holt::cli
