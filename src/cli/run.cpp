// SPDX-License-Identifier: Apache-2.0
// holt run: a command under a lock, as people use flock(1).

#include "cli/command_line.hpp"
#include "cli/commands.hpp"
#include "cli/duration.hpp"
#include "cli/exit_code.hpp"
#include "cli/failure.hpp"
#include "cli/interruptible.hpp"
#include "cli/leash.hpp"
#include "cli/once_per.hpp"
#include "cli/progress.hpp"
#include "cli/refusal.hpp"
#include "cli/signals.hpp"
#include "cli/store.hpp"
#include "cli/stream.hpp"
#include "cli/supervisor.hpp"
#include "cli/take_lock.hpp"
#include "cli/text.hpp"
#include "cli/watchdog.hpp"

#include <holt/clock.hpp>
#include <holt/error.hpp>
#include <holt/lock.hpp>
#include <holt/name.hpp>
#include <holt/open.hpp>

#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

namespace holt::cli {
namespace {

using std::chrono::milliseconds;

struct RunOptions {
  std::optional<std::string> lock;
  TakeOptions take;
  std::optional<milliseconds> wait;
  bool no_wait = false;
  std::optional<milliseconds> grace;
  OncePer once;
  StoreOptions store;
  ProgressOption progress;
  std::vector<std::string> command;

  void declare(CommandLine& line) {
    line.value("--lock", "NAME", lock, "the lock to hold while the command runs");
    line.duration("--wait", wait, "give up when it is not free by then (default: wait for ever)");
    line.flag("--no-wait", no_wait, "give up at once when it is not free");
    line.exclusive("--wait", "--no-wait");
    take.declare(line);
    line.duration("--grace", grace,
                  "time between TERM and KILL on loss (5s or a sixth of the ttl)");
    once.declare(line);
    store.declare(line);
    progress.declare(line);
    line.command_words(command);
  }

  void check() const {
    constexpr char const* right = "holt run --lock NAME -- COMMAND";
    if (!lock) throw UsageError("--lock is missing: which lock should be held?", right);
    if (command.empty()) throw UsageError("the command to run is missing", right);
    once.check();
    if (wait && no_wait) throw UsageError("--wait and --no-wait contradict each other");
    auto const ttl = take.ttl_or_default();
    // A healthy lease has at least 5/12 of its ttl left; a longer grace would end it as lost.
    if (grace && *grace > ttl / 3) {
      throw UsageError("--grace " + format_duration(*grace) + " is more than a third of the ttl, " +
                       format_duration(ttl) + "; shorten it or lengthen --ttl");
    }
  }

  [[nodiscard]] milliseconds longest_wait() const {
    return no_wait ? milliseconds(0) : wait.value_or(wait_forever);
  }

  [[nodiscard]] milliseconds grace_or_default() const {
    return grace.value_or(std::min(milliseconds(5'000), take.ttl_or_default() / 6));
  }

  [[nodiscard]] std::string note() const {
    if (take.note) return *take.note;
    std::array<char, 256> host{};
    ::gethostname(host.data(), host.size() - 1);
    return "pid " + std::to_string(::getpid()) + " on " + host.data() + ": " +
           printable(command.front());
  }
};

class LockLeash final : public Leash {
 public:
  explicit LockLeash(Lock const& lock) : lock_(lock) {}
  [[nodiscard]] std::string what() const override {
    return "lock " + in_quotes(lock_.name().text());
  }
  [[nodiscard]] std::vector<std::string> environment() const override {
    return {"HOLT_LOCK_NAME=" + lock_.name().text(), "HOLT_FENCE=" + lock_.fence().decimal()};
  }
  [[nodiscard]] Instant deadline() const override { return lock_.deadline(); }
  [[nodiscard]] std::stop_token lost() const override { return lock_.lost(); }
  [[nodiscard]] LossReason loss() const override { return lock_.loss(); }

 private:
  Lock const& lock_;
};

/// The command has ended; a lease that cannot be released ends by itself. Of a lost one there is
/// nothing to release, but a broken one waits for this.
void release(Lock& lock, bool loss_was_told) {
  auto const loss = lock.loss();
  if (loss_was_told && loss != LossReason::none && loss != LossReason::broken) return;
  try {
    if (!lock.release() && !loss_was_told) {
      talk_of_trouble("lock " + in_quotes(lock.name().text()) +
                      " was lost just before the command ended");
    }
  } catch (EngineError const& error) {
    talk_of_trouble("cannot release lock " + in_quotes(lock.name().text()) +
                    ", its lease ends by itself: " + error.what());
  }
}

/// Takes the lock and sees the command through. Answers the exit status.
int run_under_lock(CommandLine& line, RunOptions const& options, bool& interrupted) {
  Name const name(*options.lock);
  Watchdog watchdog;  // before there are threads and open files
  std::optional<BlockedSignals> blocked;
  std::optional<Interruptible> clean_up;  // both before the store, whose closing they outlive
  auto holt = options.store.open();
  blocked.emplace(ending_signals());
  auto const note = options.note();
  if (options.once.is_done(holt, name)) return number(ExitCode::ok);
  auto lock = take_lock(
      holt, name,
      {.ttl = options.take.ttl_or_default(), .wait = options.longest_wait(), .note = note},
      options.progress.form());
  if (!lock) {
    talk_of_trouble(refusal(name, lock.error(), options.longest_wait()));
    return number(ExitCode::not_acquired);
  }
  if (options.once.is_done(holt, name)) return number(ExitCode::ok);  // while we waited
  line.doing = "run " + in_quotes(options.command.front());
  LockLeash const leash(*lock);
  Supervisor supervisor(leash, watchdog, options.grace_or_default(), blocked->before());
  auto const started = BootClock::now();
  auto const end = supervisor.run(options.command);
  clean_up.emplace();
  if (end.succeeded()) options.once.count(holt, *lock, started, note);
  release(*lock, end.lease_lost);
  if (end.start_error != 0) return refuse_to_start(options.command.front(), end.start_error);
  interrupted = end.interrupted;
  return end.lease_lost ? number(ExitCode::lease_lost) : end.status;
}

int run(CommandLine& line) {
  RunOptions options;
  options.declare(line);
  if (!line.parse()) return number(ExitCode::ok);
  options.check();
  line.doing = "take lock " + in_quotes(*options.lock);
  bool interrupted = false;
  auto const status = run_under_lock(line, options, interrupted);
  // Ctrl-C went to the command alone. A shell ends its loop only if we die of it as well.
  if (interrupted) ::raise(SIGINT);
  return status;
}

}  // namespace

constinit Command const run_command{
    .words = "run",
    .synopsis = "--lock NAME [options] -- COMMAND [ARGS...]",
    .summary = "Run a command while holding a lock, as flock does",
    .examples =
        "  holt run --lock deploy -- ./deploy.sh production\n"
        "  holt run --lock nightly --no-wait -- make backup    skip it if it runs already\n"
        "  holt run --lock migrate --wait 2m -- ./migrate      give up after two minutes\n"
        "  holt run --lock nightly --once-per 20h -- make backup   from cron, on every machine\n",
    .details =
        "The command gets HOLT_LOCK_NAME and HOLT_FENCE, a number that grows with every holder:\n"
        "a resource that refuses lower numbers is safe even from a holder that was paused.\n"
        "\n"
        "No shell is involved. The command runs in a process group of its own, gets your stdin "
        "and\n"
        "terminal, and every signal that holt gets. The lease is renewed while it runs. If that\n"
        "fails, or somebody breaks the lock, the command gets TERM, and KILL when the lease ends:\n"
        "it is gone before the next holder starts. A watchdog process does the same when holt\n"
        "itself is stopped or killed. Ctrl-Z stops the renewal as well.\n"
        "Processes that the command leaves in the background go on without the lock.\n"
        "\n"
        "With --once-per a run counts if the command ended with status 0 while the lock was held.\n"
        "For that long from its start nobody runs it again: exit code 0, and a line says who did\n"
        "it when. A run that failed, was killed or lost the lock does not count: the next one in\n"
        "line tries. For a daily job use 20h: two starts may be a little less than a day apart.\n",
    .run = &run,
    .runs_child = true,
    .manual =
        "Without --wait and --no-wait it waits for ever, as flock(1) does; those who wait are\n"
        "served in the order in which they came. Words after the command's name belong to the\n"
        "command. When a holder cannot release its lock any more, the others wait for the ttl.\n"
        "The note is by default the process, the host and the command's name.\n"
        "\n"
        "# Losing the lease\n"
        "The command is ended before the lease can pass to the next holder.\n"
        "- If the lease cannot be renewed, the command's group gets TERM a grace before the lease\n"
        "ends, and KILL at its end. The grace is 5s or a sixth of the ttl, and at most a third.\n"
        "- If somebody breaks the lock, TERM as soon as holt learns of it, at its next renewal at\n"
        "the latest (a third of the ttl), and KILL at the end of the lease; the lock passes on as\n"
        "soon as the command is gone.\n"
        "- If the store says that the lease is not ours any more (broken with --now, the store\n"
        "deleted), KILL at once.\n"
        "- If holt itself is stopped, a watchdog process sends KILL at the end of the lease; if\n"
        "holt dies, at once.\n"
        "\n"
        "This cannot be promised when the watchdog is stopped or killed too, when a virtual\n"
        "machine or a container is frozen as a whole, for processes that have left the group\n"
        "(daemons, jobs of an interactive shell), for set-user-ID commands, and for writes that\n"
        "are under way in the kernel. Only a resource that checks the fence is safe then.\n"
        "\n"
        "# In a terminal\n"
        "The command gets the terminal, and Ctrl-C goes to it alone. Ctrl-Z suspends both the\n"
        "command and holt, and nobody renews the lease meanwhile: if it is not resumed before the\n"
        "lease ends, the command is killed.\n",
};

}  // namespace holt::cli
