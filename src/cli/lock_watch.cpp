// SPDX-License-Identifier: Apache-2.0
// holt lock watch

#include "cli/command_line.hpp"
#include "cli/commands.hpp"
#include "cli/duration.hpp"
#include "cli/exit_code.hpp"
#include "cli/follow.hpp"
#include "cli/lease_record.hpp"
#include "cli/output.hpp"
#include "cli/signals.hpp"
#include "cli/store.hpp"
#include "cli/stream.hpp"
#include "cli/text.hpp"

#include <holt/open.hpp>
#include <holt/watch.hpp>

#include <signal.h>

#include <chrono>
#include <optional>
#include <string>
#include <vector>

namespace holt::cli {
namespace {

using std::chrono::milliseconds;

constexpr std::size_t widest_kind = 8;

Record event_record(LeaseEvent const& event) {
  std::string const kind(to_string(event.kind));
  auto const seen = timestamp(event.seen_at);
  auto record = lease_record(event.lease);
  record.insert(record.begin() + 1,
                {{"event", "event", kind, kind}, {"seen_at", "seen", seen, seen}});
  return record;
}

/// What a person wants to know beside the name.
std::string details(LeaseEvent const& event) {
  auto const& lease = event.lease;
  switch (event.kind) {
    case LeaseEventKind::waiting:
      return std::to_string(lease.waiting) + " in line";
    case LeaseEventKind::broken:
      return "fence " + lease.fence.decimal() + ", because " + in_quotes(lease.broken);
    case LeaseEventKind::released:
    case LeaseEventKind::expired:
      return "fence " + lease.fence.decimal();
    default:
      break;
  }
  auto text = "fence " + lease.fence.decimal() + ", ttl " + format_duration(lease.ttl);
  if (lease.waiting > 0) text += ", " + std::to_string(lease.waiting) + " in line";
  if (event.kind == LeaseEventKind::present && lease.offered) text += ", offered";
  if (event.kind == LeaseEventKind::present && !lease.broken.empty()) text += ", broken";
  return lease.note.empty() ? text : text + ", " + in_quotes(lease.note);
}

std::string line_of(LeaseEvent const& event) {
  return timestamp(event.seen_at) + "  " + padded(to_string(event.kind), widest_kind) + "  " +
         event.lease.name.text() + "  " + details(event) + '\n';
}

void write_events(Output form, std::vector<LeaseEvent> const& events) {
  for (auto const& event : events) {
    if (form == Output::table) {
      write_data(line_of(event));
    } else {
      write_record(form, event_record(event));
    }
  }
}

int lock_watch(CommandLine& line) {
  std::string prefix;
  std::optional<milliseconds> duration;
  StoreOptions store;
  OutputOption output;
  line.optional_word("PREFIX", prefix);
  line.duration("--for", duration, "end after this time");
  store.declare(line);
  output.declare(line);
  if (!line.parse()) return number(ExitCode::ok);
  auto const form = output.form();
  line.doing = "watch locks";
  BlockedSignals const blocked(ending_signals());
  ::signal(SIGPIPE, SIG_IGN);
  auto holt = store.open();
  return follow(holt.watch(prefix), duration,
                [form](std::vector<LeaseEvent> const& events) { write_events(form, events); });
}

}  // namespace

constinit Command const lock_watch_command{
    .words = "lock watch",
    .synopsis = "[PREFIX] [options]",
    .summary = "Tell what happens to locks while it happens",
    .examples =
        "  holt lock watch\n"
        "  holt lock watch deploy/ --for 10m\n"
        "  holt lock watch -o ndjson | jq -r 'select(.event == \"expired\") | .name'\n",
    .details =
        "One line per event: present (held when the watch began), acquired, offered (to the\n"
        "next in line), broken, waiting (more or fewer in line), released, expired. -o json and\n"
        "ndjson give one object per line. What comes and goes within some hundredths of a\n"
        "second may not be seen.\n"
        "It ends after --for, when nobody reads its output any more, or with Ctrl-C (130).\n",
    .run = &lock_watch,
};

}  // namespace holt::cli
