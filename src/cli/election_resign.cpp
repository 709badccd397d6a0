// SPDX-License-Identifier: Apache-2.0
// holt election resign

#include "cli/command_line.hpp"
#include "cli/commands.hpp"
#include "cli/exit_code.hpp"
#include "cli/failure.hpp"
#include "cli/interruptible.hpp"
#include "cli/signals.hpp"
#include "cli/store.hpp"
#include "cli/stream.hpp"
#include "cli/text.hpp"

#include <holt/election.hpp>
#include <holt/name.hpp>
#include <holt/open.hpp>

#include <chrono>
#include <optional>
#include <string>

namespace holt::cli {
namespace {

int report(Resignation result, Holt& holt, Name const& name,
           std::optional<std::string> const& successor) {
  auto const election = "election " + in_quotes(name.text());
  if (result == Resignation::not_leader) {
    talk(election + " has no leader");
    return number(ExitCode::not_found);
  }
  if (result != Resignation::done) {
    throw Failure(ExitCode::conflict,
                  successor ? "the leader has not handed over to " + in_quotes(*successor) +
                                  " in time: is there such a candidate?"
                            : "the leader has not stepped down in time",
                  successor ? "holt election resign " + name.text() + " (without --to)"
                            : "holt lock break " + in_quotes("election/" + name.text()) +
                                  " --reason TEXT, if the leader does not listen");
  }
  auto const leader = holt.leader(name);
  talk(leader ? in_quotes(leader->id) + " leads " + election : election + " has no leader now");
  return number(ExitCode::ok);
}

int election_resign(CommandLine& line) {
  std::string text;
  std::optional<std::string> successor;
  std::optional<std::chrono::milliseconds> wait;
  StoreOptions store;
  line.word("ELECTION", text);
  line.value("--to", "ID", successor, "the candidate that is to lead next");
  line.duration("--wait", wait, "how long the leader may take (10s)");
  store.declare(line);
  if (!line.parse()) return number(ExitCode::ok);
  line.doing = "ask the leader of " + in_quotes(text) + " to resign";
  Name const name(text);
  BlockedSignals const blocked(ending_signals());
  auto holt = store.open();
  Interruptible const interruptible;
  auto const result =
      holt.resign_leader(name, successor.value_or(""), wait.value_or(std::chrono::seconds(10)));
  return report(result, holt, name, successor);
}

}  // namespace

constinit Command const election_resign_command{
    .words = "election resign",
    .synopsis = "ELECTION [options]",
    .summary = "Ask the leader to step down",
    .examples =
        "  holt election resign scheduler\n"
        "  holt election resign scheduler --to web-2\n",
    .details =
        "The leader stops its work, then lets the next candidate lead, and stands in line again.\n"
        "With --to that candidate comes first; if it does not answer, nothing changes. Exit code "
        "3:\n"
        "nobody leads; 5: it did not happen in time.\n",
    .run = &election_resign,
    .guide = "election",
};

}  // namespace holt::cli
