// SPDX-License-Identifier: Apache-2.0
// holt queue show

#include "cli/command_line.hpp"
#include "cli/commands.hpp"
#include "cli/exit_code.hpp"
#include "cli/failure.hpp"
#include "cli/output.hpp"
#include "cli/store.hpp"
#include "cli/task_record.hpp"

#include <holt/open.hpp>
#include <holt/queue.hpp>

#include <string>

namespace holt::cli {
namespace {

int queue_show(CommandLine& line) {
  std::string text;
  StoreOptions store;
  OutputOption output;
  line.word("TASK", text);
  store.declare(line);
  output.declare(line);
  if (!line.parse()) return number(ExitCode::ok);
  auto const form = output.form();
  auto const id = task_id(text);
  line.doing = "show task " + id.text();
  auto holt = store.open();
  auto const task = holt.queue(id.queue()).find(id);
  if (!task) {
    throw Failure(ExitCode::not_found, "there is no such task, or it is not kept any more",
                  "holt queue list " + id.queue());
  }
  write_record(form, task_record(*task));
  return number(ExitCode::ok);
}

}  // namespace

constinit Command const queue_show_command{
    .words = "queue show",
    .synopsis = "TASK [options]",
    .summary = "Show a task: its state, its result, the errors of its attempts",
    .examples =
        "  holt queue show mail/42\n"
        "  holt queue show mail/42 -o json | jq -r '.errors[].error'\n",
    .details =
        "Payload and result are shown as text; in JSON, bytes that are no UTF-8 are in\n"
        "payload_base64 and result_base64. Exit code 3: there is no such task, or it is not kept\n"
        "any more.\n",
    .run = &queue_show,
    .guide = "queue",
};

}  // namespace holt::cli
