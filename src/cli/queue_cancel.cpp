// SPDX-License-Identifier: Apache-2.0
// holt queue cancel

#include "cli/command_line.hpp"
#include "cli/commands.hpp"
#include "cli/exit_code.hpp"
#include "cli/failure.hpp"
#include "cli/store.hpp"
#include "cli/stream.hpp"
#include "cli/task_record.hpp"

#include <holt/open.hpp>
#include <holt/queue.hpp>

#include <string>

namespace holt::cli {
namespace {

int queue_cancel(CommandLine& line) {
  std::string text;
  StoreOptions store;
  line.word("TASK", text);
  store.declare(line);
  if (!line.parse()) return number(ExitCode::ok);
  auto const id = task_id(text);
  line.doing = "cancel task " + id.text();
  auto holt = store.open();
  switch (holt.queue(id.queue()).cancel(id)) {
    case Cancellation::cancelled:
      talk("task " + id.text() + " will not run");
      return number(ExitCode::ok);
    case Cancellation::asked:
      talk("task " + id.text() + " runs, and is being asked to stop");
      return number(ExitCode::ok);
    case Cancellation::finished:
      throw Failure(ExitCode::conflict, "it has ended before", "holt queue show " + id.text());
    case Cancellation::not_found:
      break;
  }
  throw Failure(ExitCode::not_found, "there is no such task, or it is not kept any more",
                "holt queue list " + id.queue());
}

}  // namespace

constinit Command const queue_cancel_command{
    .words = "queue cancel",
    .synopsis = "TASK [options]",
    .summary = "Cancel a task that waits, or ask the one who does it to stop",
    .examples = "  holt queue cancel mail/42\n",
    .details =
        "A task that waits does not run any more. The handler of one that runs is asked to stop\n"
        "(the command of holt work gets TERM, and KILL after its grace), and the task ends\n"
        "cancelled, unless it is completed before.\n"
        "Exit code 3: there is no such task. 5: it has ended before, and nothing has changed.\n",
    .run = &queue_cancel,
    .guide = "queue",
};

}  // namespace holt::cli
