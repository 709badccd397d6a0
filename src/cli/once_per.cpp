// SPDX-License-Identifier: Apache-2.0
#include "cli/once_per.hpp"

#include "cli/command_line.hpp"
#include "cli/duration.hpp"
#include "cli/failure.hpp"
#include "cli/stream.hpp"
#include "cli/text.hpp"

#include <holt/error.hpp>
#include <holt/once.hpp>
#include <holt/open.hpp>

#include <chrono>
#include <string>

namespace holt::cli {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds shortest{100};
constexpr std::chrono::hours longest{24 * 366};

std::string skipped(Name const& name, CountedRun const& run) {
  std::string text = "skipped: " + in_quotes(name.text()) + " was done";
  if (run.period == milliseconds(0)) return text + " by a newer version of Holt";
  text += " at " + timestamp(run.started_at);
  if (!run.note.empty()) text += " by " + in_quotes(run.note);
  return text + ", once per " + format_duration(run.period);
}

}  // namespace

void OncePer::declare(CommandLine& line) {
  line.duration("--once-per", period_,
                "do nothing if it was done within this time, by anybody (100ms to 366d)");
}

void OncePer::check() const {
  if (!period_ || (*period_ >= shortest && *period_ <= longest)) return;
  throw UsageError("--once-per " + format_duration(*period_) +
                   " is out of range: use 100ms to 366d");
}

bool OncePer::is_done(Holt& holt, Name const& name) const {
  if (!period_) return false;
  auto const run = holt.last_run(name);
  if (run) talk(skipped(name, *run));
  return run.has_value();
}

void OncePer::count(Holt& holt, Lock const& lock, Instant started, std::string_view note) const {
  if (!period_) return;
  auto const what = "the run of " + in_quotes(lock.name().text()) + " is not counted, ";
  try {
    CountOptions const options{.period = *period_, .started = started, .note = note};
    if (!holt.count_run(lock, options)) {
      talk(what + "it may run again within " + format_duration(*period_) +
           ": the lock was lost just before the command ended");
    }
  } catch (EngineError const& error) {
    talk(what + "it may run again within " + format_duration(*period_) + ": " + error.what());
  }
}

}  // namespace holt::cli
