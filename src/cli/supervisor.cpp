// SPDX-License-Identifier: Apache-2.0
#include "cli/supervisor.hpp"

#include "cli/child.hpp"
#include "cli/duration.hpp"
#include "cli/signals.hpp"
#include "cli/stream.hpp"
#include "cli/text.hpp"

#include <holt/clock.hpp>

#include <poll.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <stop_token>
#include <string>
#include <system_error>
#include <vector>

namespace holt::cli {
namespace {

using std::chrono_literals::operator""s;

std::string time_until(Instant when) {
  auto const left = std::chrono::round<std::chrono::milliseconds>(when - BootClock::now());
  return rounded_duration(left);
}

int shell_status(siginfo_t const& info) {
  return info.si_code == CLD_EXITED ? info.si_status : 128 + info.si_status;
}

}  // namespace

Supervisor::Supervisor(Leash const& leash, Watchdog& watchdog, std::chrono::milliseconds grace,
                       sigset_t const& child_mask)
    : leash_(leash),
      watchdog_(watchdog),
      grace_(grace),
      child_mask_(child_mask),
      deadline_(leash.deadline()) {
  auto const set = forwarded_signals();
  ::pthread_sigmask(SIG_BLOCK, &set, nullptr);
  struct sigaction by_default{};
  by_default.sa_handler =
      SIG_DFL;  // ignored, as some parents have it, children could not be awaited
  ::sigaction(SIGCHLD, &by_default, &on_child_);
  signals_ = Descriptor(::signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK));
  lost_ = Descriptor(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!signals_.is_open() || !lost_.is_open()) {
    throw std::system_error(errno, std::system_category(), "cannot watch the command");
  }
}

CommandEnd Supervisor::run(std::vector<std::string> const& command) {
  watchdog_.guard_until(deadline_);
  auto const environment = leash_.environment();
  ChildSetup const setup{.command = command,
                         .environment = environment,
                         .mask = child_mask_,
                         .on_child = on_child_,
                         .terminal = terminal_.lend_at_start()};
  auto const started = start_child(setup, watchdog_);
  if (started.error == ETIME) return {.lease_lost = true};
  if (started.error != 0) return {.start_error = started.error};
  child_ = started.pid;
  std::stop_callback const on_lost(leash_.lost(), [fd = lost_.get()] { ::eventfd_write(fd, 1); });
  while (!has_ended()) {
    check_lease();
    wait();
    handle_signals();
  }
  return finish();
}

/// Sleeps until something happens; what it was, the checks find out.
void Supervisor::wait() {
  timer_.set(ending_ ? kill_at_ : deadline_ - grace_);
  std::array<pollfd, 3> events{pollfd{signals_.get(), POLLIN, 0}, pollfd{timer_.fd(), POLLIN, 0},
                               pollfd{ending_ ? -1 : lost_.get(), POLLIN, 0}};
  ::poll(events.data(), events.size(), -1);
}

void Supervisor::handle_signals() {
  signalfd_siginfo info{};
  while (::read(signals_.get(), &info, sizeof info) == sizeof info) {
    auto const signal = static_cast<int>(info.ssi_signo);
    if (signal == SIGCHLD) {
      check_stopped();
    } else if (signal == SIGCONT) {
      resume();
    } else if (signal != SIGPIPE) {  // that one is about our own output
      signal_group(signal);
    }
  }
}

void Supervisor::check_lease() {
  auto const now = BootClock::now();
  if (ending_) {
    if (now >= kill_at_) kill_command();
    return;
  }
  move_deadline();
  auto const loss = leash_.loss();
  if (loss != LossReason::none || now >= deadline_ - grace_) end_command(loss);
}

/// To the end of the lease as the store last confirmed it.
void Supervisor::move_deadline() noexcept {
  deadline_ = std::max(deadline_, leash_.deadline());
  watchdog_.guard_until(deadline_);
}

/// `reason` is none when the lease is still ours but could not be renewed in time.
void Supervisor::end_command(LossReason reason) {
  ending_ = true;
  std::string why;
  kill_at_ = deadline_;
  switch (reason) {
    case LossReason::none:
      why = " could not be renewed in time";
      break;
    case LossReason::broken:
      why = " was broken by somebody";
      break;
    case LossReason::released:
      why = " is to be handed over";
      kill_at_ = std::min(deadline_, BootClock::now() + grace_);
      break;
    default:
      talk_of_trouble(leash_.what() + " is lost (" + std::string(to_string(reason)) +
                      "): killing the command");
      return kill_command();
  }
  talk_of_trouble(leash_.what() + why + ": sent TERM to the command, KILL follows in " +
                  time_until(kill_at_));
  signal_group(SIGTERM);
  signal_group(SIGCONT);  // stopped processes too
}

void Supervisor::kill_command() {
  signal_group(SIGKILL);
  kill_at_ = BootClock::now() + 1s;  // again, if the system had no time for it
}

bool Supervisor::has_ended() const {
  siginfo_t info{};
  // WNOWAIT: not reaped before the watchdog knows.
  return ::waitid(P_PID, static_cast<id_t>(child_), &info, WEXITED | WNOHANG | WNOWAIT) != 0 ||
         info.si_pid == child_;
}

CommandEnd Supervisor::finish() {
  if (ending_) signal_group(SIGKILL);  // what the command has left behind
  watchdog_.stand_down();
  siginfo_t info{};
  ::waitid(P_PID, static_cast<id_t>(child_), &info, WEXITED);
  terminal_.take_back(child_);
  bool const by_signal = info.si_code != CLD_EXITED;
  bool const killed = by_signal && info.si_status == SIGKILL;
  if (killed) terminal_.restore_modes();
  bool const by_watchdog = killed && watchdog_.has_killed();
  if (by_watchdog && !ending_) {
    talk_of_trouble(
        leash_.what() +
        " was lost before this process could act (was it stopped?): the watchdog has killed the "
        "command");
  }
  return {.status = shell_status(info),
          .lease_lost = ending_ || by_watchdog,
          .interrupted = terminal_.is_lent() && by_signal && info.si_status == SIGINT};
}

/// Ctrl-Z, or a command in the background that wants the terminal.
void Supervisor::check_stopped() {
  siginfo_t info{};
  if (::waitid(P_PID, static_cast<id_t>(child_), &info, WSTOPPED | WNOHANG) != 0 ||
      info.si_pid != child_) {
    return;
  }
  bool const wants_terminal = info.si_status == SIGTTIN || info.si_status == SIGTTOU;
  if (wants_terminal && terminal_.lend(child_)) {
    signal_group(SIGCONT);
  } else if (terminal_.exists() && !ending_) {
    suspend();
  }
}

/// Stops our own group as well, so that the shell sees a stopped job. SIGCONT goes on from here.
void Supervisor::suspend() {
  move_deadline();
  terminal_.take_back(child_);
  talk("suspended: " + leash_.what() + " is not renewed meanwhile, and the command is killed in " +
       time_until(deadline_) + " unless it is resumed");
  sigset_t stop;
  ::sigemptyset(&stop);
  ::sigaddset(&stop, SIGTSTP);
  ::kill(0, SIGTSTP);
  ::pthread_sigmask(SIG_UNBLOCK, &stop, nullptr);
  ::pthread_sigmask(SIG_BLOCK, &stop, nullptr);
}

void Supervisor::resume() {
  if (terminal_.is_lent()) terminal_.lend(child_);
  signal_group(SIGCONT);
}

}  // namespace holt::cli
