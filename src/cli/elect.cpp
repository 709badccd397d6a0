// SPDX-License-Identifier: Apache-2.0
// holt elect: a command that runs on whoever leads.

#include "cli/command_line.hpp"
#include "cli/commands.hpp"
#include "cli/duration.hpp"
#include "cli/exit_code.hpp"
#include "cli/failure.hpp"
#include "cli/interrupt.hpp"
#include "cli/interruptible.hpp"
#include "cli/leash.hpp"
#include "cli/refusal.hpp"
#include "cli/signals.hpp"
#include "cli/store.hpp"
#include "cli/stream.hpp"
#include "cli/supervisor.hpp"
#include "cli/text.hpp"
#include "cli/watchdog.hpp"

#include <holt/clock.hpp>
#include <holt/election.hpp>
#include <holt/name.hpp>
#include <holt/open.hpp>

#include <signal.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

namespace holt::cli {
namespace {

using std::chrono::milliseconds;

struct ElectOptions {
  std::string name;
  std::optional<std::string> id;
  std::optional<milliseconds> ttl;
  std::optional<milliseconds> renew_every;
  std::optional<std::string> priority;
  std::optional<std::string> preferred_host;
  std::optional<milliseconds> lock_delay;
  std::optional<milliseconds> wait;
  std::optional<milliseconds> grace;
  StoreOptions store;
  std::vector<std::string> command;

  void declare(CommandLine& line) {
    line.word("ELECTION", name);
    line.value("--id", "ID", id, "who this is (default: host, process and a random part)");
    line.duration("--ttl", ttl, "how long a term lives without renewal (30s; 100ms to 1d)");
    line.duration("--renew-every", renew_every, "renewal and heartbeat (a third of the ttl)");
    line.value("--priority", "N", priority, "1 leads before 10, when nobody leads (5)");
    line.value("--preferred-host", "HOST", preferred_host, "the host that leads when it can");
    line.duration("--lock-delay", lock_delay, "how long nobody leads after a leader was lost (0)");
    line.duration("--wait", wait, "give up when it does not lead by then (default: wait for ever)");
    line.duration("--grace", grace, "time between TERM and KILL (5s or a sixth of the ttl)");
    store.declare(line);
    line.command_words(command);
  }

  void check() const {
    constexpr char const* right = "holt elect ELECTION -- COMMAND";
    if (command.empty()) throw UsageError("the command to run is missing", right);
    if (grace && *grace > time_to_live() / 3) {
      throw UsageError("--grace " + format_duration(*grace) + " is more than a third of the ttl, " +
                       format_duration(time_to_live()) + "; shorten it or lengthen --ttl");
    }
  }

  [[nodiscard]] milliseconds time_to_live() const { return ttl.value_or(ElectionOptions{}.ttl); }
  [[nodiscard]] milliseconds grace_or_default() const {
    return grace.value_or(std::min(milliseconds(5'000), time_to_live() / 6));
  }

  [[nodiscard]] ElectionOptions election() const {
    ElectionOptions options;
    options.ttl = time_to_live();
    if (id) options.id = *id;
    if (renew_every) options.renew_every = *renew_every;
    if (preferred_host) options.preferred_host = *preferred_host;
    if (lock_delay) options.lock_delay = *lock_delay;
    if (priority) {
      auto const* const end = priority->data() + priority->size();
      auto const read = std::from_chars(priority->data(), end, options.priority);
      if (read.ec != std::errc{} || read.ptr != end) {
        throw UsageError("--priority " + in_quotes(*priority) + " is no number; use 1 to 10");
      }
    }
    return options;
  }
};

/// Our term, as the command's supervisor sees it. Ends when the election says so, and the
/// leadership passes on when the command is gone: the election's listener waits for that.
class TermLeash final : public Leash {
 public:
  explicit TermLeash(Election& election)
      : election_(election),
        registration_(election.on([this](ElectionEvent const& event) { hear(event); },
                                  Election::Listen::in_turn)) {}
  ~TermLeash() override { election_.remove(registration_); }
  TermLeash(TermLeash const&) = delete;
  TermLeash& operator=(TermLeash const&) = delete;

  /// Waits until the term begins. False: it has not by `until`, or `stop` fired.
  bool begins(std::stop_token stop, Instant until) {
    std::unique_lock lock(mutex_);
    auto const begun = [this] { return term_ != Fence(); };
    if (until == Instant::max()) return changed_.wait(lock, std::move(stop), begun);
    return changed_.wait_until(lock, std::move(stop), until, begun);
  }
  /// The command has ended.
  void let_go() {
    std::scoped_lock const lock(mutex_);
    gone_ = true;
    changed_.notify_all();
  }

  [[nodiscard]] std::string what() const override {
    return "leadership of " + in_quotes(election_.name().text());
  }
  [[nodiscard]] std::vector<std::string> environment() const override {
    std::scoped_lock const lock(mutex_);
    return {"HOLT_ELECTION=" + election_.name().text(), "HOLT_FENCE=" + term_.decimal()};
  }
  [[nodiscard]] Instant deadline() const override { return election_.deadline(); }
  [[nodiscard]] std::stop_token lost() const override { return lost_.get_token(); }
  [[nodiscard]] LossReason loss() const override {
    std::scoped_lock const lock(mutex_);
    return loss_;
  }

 private:
  void hear(ElectionEvent const& event) {
    std::unique_lock lock(mutex_);
    if (event.kind == ElectionEventKind::leadership_acquired && term_ == Fence()) {
      term_ = event.term;
      changed_.notify_all();
    } else if (event.kind == ElectionEventKind::leadership_lost && event.term == term_) {
      loss_ = event.reason;
      lock.unlock();
      lost_.request_stop();
      lock.lock();
      changed_.wait(lock, [this] { return gone_; });
    } else if (event.kind == ElectionEventKind::election_failed && !std::exchange(told_, true)) {
      talk_of_trouble("the store cannot be asked, trying again: " + event.cause);
    }
  }

  Election& election_;
  std::mutex mutable mutex_;
  std::condition_variable_any changed_;
  Fence term_;
  LossReason loss_ = LossReason::none;
  std::stop_source lost_;
  bool gone_ = false;
  bool told_ = false;
  Election::Registration registration_;  ///< last: from here on events come
};

Instant end_of_wait(std::optional<milliseconds> wait) {
  constexpr std::chrono::hours longest{24 * 365 * 100};
  if (!wait || *wait >= longest) return Instant::max();
  return BootClock::now() + *wait;
}

/// Stands for election until it leads. Throws Failure when a signal came first.
bool wait_to_lead(TermLeash& leash, std::optional<milliseconds> wait) {
  Interrupt interrupt;
  bool const leads = leash.begins(interrupt.token(), end_of_wait(wait));
  if (auto const signal = interrupt.finish(); signal != 0) {
    throw Failure(static_cast<ExitCode>(128 + signal), "interrupted while waiting");
  }
  return leads;
}

/// Lets go whatever happens: the election's listener waits for it.
struct LettingGo {
  TermLeash& leash;
  ~LettingGo() { leash.let_go(); }
};

int run_while_leading(CommandLine& line, ElectOptions const& options, bool& interrupted) {
  Name const name(options.name);
  auto const wanted = options.election();
  Watchdog watchdog;  // before there are threads and open files
  std::optional<BlockedSignals> blocked;
  std::optional<Interruptible> clean_up;  // both before the store, whose closing they outlive
  auto holt = options.store.open();
  blocked.emplace(ending_signals());
  auto election = holt.election(name, wanted);
  TermLeash leash(election);
  CommandEnd end;
  {
    LettingGo const letting_go{leash};
    election.start();
    if (!wait_to_lead(leash, options.wait)) {
      talk_of_trouble("does not lead election " + in_quotes(name.text()) + " after " +
                      format_duration(*options.wait));
      return number(ExitCode::not_acquired);
    }
    line.doing = "run " + in_quotes(options.command.front());
    Supervisor supervisor(leash, watchdog, options.grace_or_default(), blocked->before());
    end = supervisor.run(options.command);
  }
  clean_up.emplace();
  election.stop();
  if (end.start_error != 0) return refuse_to_start(options.command.front(), end.start_error);
  interrupted = end.interrupted;
  return end.lease_lost ? number(ExitCode::lease_lost) : end.status;
}

int elect(CommandLine& line) {
  ElectOptions options;
  options.declare(line);
  if (!line.parse()) return number(ExitCode::ok);
  options.check();
  line.doing = "stand for election " + in_quotes(options.name);
  bool interrupted = false;
  auto const status = run_while_leading(line, options, interrupted);
  // Ctrl-C went to the command alone. A shell ends its loop only if we die of it as well.
  if (interrupted) ::raise(SIGINT);
  return status;
}

}  // namespace

constinit Command const elect_command{
    .words = "elect",
    .synopsis = "ELECTION [options] -- COMMAND [ARGS...]",
    .summary = "Stand for election and run a command while leading",
    .examples =
        "  holt elect scheduler -- ./scheduler\n"
        "  holt elect scheduler --ttl 5s --id web-1 -- ./scheduler\n"
        "  holt elect scheduler --preferred-host web-1 -- ./scheduler   web-1 leads when it can\n",
    .details =
        "It waits, at no cost, until it leads; then the command runs, and everything that holt "
        "run\n"
        "says of its command holds: signals, terminal, watchdog. The command gets HOLT_ELECTION "
        "and\n"
        "HOLT_FENCE, the number of the term, which grows with every leader.\n"
        "When the term ends, by resign or because the lease is lost, the command gets TERM, and\n"
        "KILL before anybody else can lead: exit code 123. Let a supervisor start it again. When\n"
        "the command ends by itself the next candidate leads at once.\n",
    .run = &elect,
    .runs_child = true,
    .guide = "election",
};

}  // namespace holt::cli
