// SPDX-License-Identifier: Apache-2.0
// holt lock show

#include "cli/command_line.hpp"
#include "cli/commands.hpp"
#include "cli/exit_code.hpp"
#include "cli/lease_record.hpp"
#include "cli/output.hpp"
#include "cli/store.hpp"
#include "cli/stream.hpp"
#include "cli/text.hpp"

#include <holt/name.hpp>

#include <string>

namespace holt::cli {
namespace {

int lock_show(CommandLine& line) {
  std::string text;
  StoreOptions store;
  OutputOption output;
  line.word("NAME", text);
  store.declare(line);
  output.declare(line);
  if (!line.parse()) return number(ExitCode::ok);
  auto const form = output.form();
  line.doing = "show lock " + in_quotes(text);
  Name const name(text);
  auto holt = store.open();
  auto const lease = holt.find(name);
  if (!lease) {
    talk("lock " + in_quotes(text) + " is free");
    return number(ExitCode::not_found);
  }
  write_record(form, lease_record(*lease));
  return number(ExitCode::ok);
}

}  // namespace

constinit Command const lock_show_command{
    .words = "lock show",
    .synopsis = "NAME [options]",
    .summary = "Show who holds a lock",
    .examples =
        "  holt lock show deploy\n"
        "  holt lock show deploy -o json\n"
        "  if holt lock show deploy -o name 2>/dev/null; then echo taken; fi\n",
    .details = "Exit code 3: it is free.\n",
    .run = &lock_show,
    .guide = "lock",
};

}  // namespace holt::cli
