// SPDX-License-Identifier: Apache-2.0
// holt election watch

#include "cli/command_line.hpp"
#include "cli/commands.hpp"
#include "cli/exit_code.hpp"
#include "cli/follow.hpp"
#include "cli/output.hpp"
#include "cli/signals.hpp"
#include "cli/store.hpp"
#include "cli/stream.hpp"
#include "cli/text.hpp"

#include <holt/name.hpp>
#include <holt/open.hpp>
#include <holt/watch.hpp>

#include <signal.h>

#include <chrono>
#include <optional>
#include <string>
#include <vector>

namespace holt::cli {
namespace {

/// What happened to the leadership, in one word; empty: nothing that an onlooker would ask for.
std::string_view word_for(LeaseEvent const& event) {
  switch (event.kind) {
    case LeaseEventKind::present:
      return event.lease.offered ? "" : "leads";
    case LeaseEventKind::acquired:
      return "elected";
    case LeaseEventKind::broken:
      return "asked to stop";
    case LeaseEventKind::released:
      return "stepped down";
    case LeaseEventKind::expired:
      return "lost";
    case LeaseEventKind::offered:
    case LeaseEventKind::waiting:
      break;
  }
  return "";
}

void write_event(Output form, std::string const& election, LeaseEvent const& event) {
  std::string const word(word_for(event));
  if (word.empty()) return;
  auto const seen = timestamp(event.seen_at);
  auto const& lease = event.lease;
  if (form == Output::table) {
    constexpr std::size_t widest = 13;
    auto const term = lease.fence == Fence() ? "none" : lease.fence.decimal();
    write_data(seen + "  " + padded(word, widest) + "  " + printable(lease.note) + "  term " +
               term + '\n');
    return;
  }
  write_record(form, {{"name", "election", election, election},
                      {"event", "event", word, word},
                      {"seen_at", "seen", seen, seen},
                      {"leader", "leader", lease.note, printable(lease.note)},
                      {"term", "term", lease.fence.padded(), lease.fence.decimal()}});
}

int election_watch(CommandLine& line) {
  std::string text;
  std::optional<std::chrono::milliseconds> duration;
  StoreOptions store;
  OutputOption output;
  line.word("ELECTION", text);
  line.duration("--for", duration, "end after this time");
  store.declare(line);
  output.declare(line);
  if (!line.parse()) return number(ExitCode::ok);
  auto const form = output.form();
  line.doing = "watch election " + in_quotes(text);
  Name const name(text);
  BlockedSignals const blocked(ending_signals());
  ::signal(SIGPIPE, SIG_IGN);
  auto holt = store.open();
  return follow(holt.observe(name), duration, [&](std::vector<LeaseEvent> const& events) {
    for (auto const& event : events) write_event(form, name.text(), event);
  });
}

}  // namespace

constinit Command const election_watch_command{
    .words = "election watch",
    .synopsis = "ELECTION [options]",
    .summary = "Tell who leads, whenever that changes",
    .examples =
        "  holt election watch scheduler\n"
        "  holt election watch scheduler -o ndjson | jq -r 'select(.event == \"elected\") | "
        ".leader'\n",
    .details =
        "One line per event: leads (when the watch began), elected, asked to stop (the leadership\n"
        "was broken), stepped down, lost (the lease ended). -o json and ndjson give one object "
        "per\n"
        "line. It ends after --for, when nobody reads its output any more, or with Ctrl-C (130).\n",
    .run = &election_watch,
    .guide = "election",
};

}  // namespace holt::cli
