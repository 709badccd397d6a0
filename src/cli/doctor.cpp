// SPDX-License-Identifier: Apache-2.0
// holt doctor

#include "cli/command_line.hpp"
#include "cli/commands.hpp"
#include "cli/confirm.hpp"
#include "cli/exit_code.hpp"
#include "cli/failure.hpp"
#include "cli/output.hpp"
#include "cli/store.hpp"
#include "cli/stream.hpp"
#include "cli/text.hpp"

#include <holt/diagnosis.hpp>
#include <holt/fence.hpp>
#include <holt/open.hpp>

#include <algorithm>
#include <chrono>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace holt::cli {
namespace {

constexpr std::size_t widest_text = 1000;

Record finding_record(Finding const& finding) {
  std::string const status(to_string(finding.status));
  return {
      {"id", {}, finding.id, {}},
      {"status", "status", status, status},
      {"title", "check", finding.title, finding.title},
      {"detail", "found", finding.detail, printable(finding.detail, widest_text)},
      {"fix", {}, finding.fix, {}},
  };
}

std::int64_t how_many(std::vector<Finding> const& findings, FindingStatus status) {
  return std::ranges::count(findings, status, &Finding::status);
}

/// What to do, below the table: failures first.
std::string to_do(std::vector<Finding> const& findings) {
  std::string text;
  for (auto const status : {FindingStatus::fail, FindingStatus::warn}) {
    for (auto const& finding : findings) {
      if (finding.status != status) continue;
      text += "  " + padded(to_string(status), 6) + finding.title + ": " +
              printable(finding.fix, widest_text) + '\n';
    }
  }
  return text.empty() ? text : "\nTo do:\n" + text;
}

void say_sum(std::vector<Finding> const& findings) {
  auto const failed = how_many(findings, FindingStatus::fail);
  auto const warned = how_many(findings, FindingStatus::warn);
  if (failed + warned == 0) return talk("all is well");
  talk(std::to_string(failed) + " failed, " + std::to_string(warned) +
       (warned == 1 ? " warning" : " warnings"));
}

int show(std::vector<Finding> const& findings, Output form, bool strict) {
  std::vector<Record> records;
  records.reserve(findings.size());
  for (auto const& finding : findings) records.push_back(finding_record(finding));
  write_records(form, records);
  if (form == Output::table) {
    write_data(to_do(findings));
    say_sum(findings);
  }
  auto const limit = strict ? FindingStatus::warn : FindingStatus::fail;
  return number(worst(findings) >= limit ? ExitCode::failed : ExitCode::ok);
}

int raise_fence(Holt holt, Output form, bool sure) {
  auto const question = "raise the fences of instance " + in_quotes(holt.instance()) + " in " +
                        holt.url() + " by 2^32?";
  if (!sure && !confirm(question, "--yes")) {
    talk("nothing was changed");
    return number(ExitCode::failed);
  }
  auto const [before, after] = holt.raise_fence();
  write_record(form, {
                         {"instance", "instance", holt.instance(), holt.instance()},
                         {"before", "before", before.padded(), before.decimal()},
                         {"after", "after", after.padded(), after.decimal()},
                     });
  return number(ExitCode::ok);
}

int doctor(CommandLine& line) {
  std::optional<std::chrono::milliseconds> ttl;
  bool strict = false;
  bool raise = false;
  bool sure = false;
  StoreOptions store;
  OutputOption output;
  line.duration("--ttl", ttl, "the shortest ttl in use, to judge the latency by (30s)");
  line.flag("--strict", strict, "fail on warnings too");
  line.flag("--raise-fence", raise, "after a backup was restored: raise all later fences");
  line.flag("--yes", sure, "with --raise-fence: do not ask");
  store.declare(line);
  output.declare(line);
  if (!line.parse()) return number(ExitCode::ok);
  if (sure && !raise) throw UsageError("--yes is for --raise-fence: there is nothing else to ask");
  auto const form = output.form();
  if (raise) {
    line.doing = "raise the fences";
    return raise_fence(store.open(), form, sure);
  }
  line.doing = "look at the store";
  DiagnoseOptions options;
  options.ttl = ttl.value_or(options.ttl);
  auto [url, open_options] = store.opening();
  return show(diagnose(url, std::move(open_options), options), form, strict);
}

}  // namespace

constinit Command const doctor_command{
    .words = "doctor",
    .synopsis = "[options]",
    .summary = "Look for what is wrong with the store, and say how to mend it",
    .examples =
        "  holt doctor\n"
        "  holt doctor --ttl 2s                      is the store fast enough for this ttl?\n"
        "  holt doctor --strict -o json              for monitoring\n"
        "  holt doctor --raise-fence                 after a backup of the store was restored\n",
    .details =
        "Takes and releases some leases of its own to measure, and changes nothing else. A\n"
        "store that is not there is made, as every command does.\n"
        "Exit code 0: nothing failed. 1: something failed, or with --strict is in danger.\n"
        "\n"
        "--raise-fence is for a store whose file was replaced by an older copy: resources have\n"
        "seen higher fences than its counter would give next. It adds 2^32 to the counter of\n"
        "the instance, so that every later fence is above all before.\n",
    .run = &doctor,
};

}  // namespace holt::cli
