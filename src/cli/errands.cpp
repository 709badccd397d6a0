// SPDX-License-Identifier: Apache-2.0
#include "cli/errands.hpp"

#include "cli/child.hpp"
#include "cli/duration.hpp"
#include "cli/signals.hpp"

#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <list>
#include <string>
#include <system_error>
#include <utility>

namespace holt::cli {
namespace {

using std::chrono_literals::operator""ms;
using std::chrono_literals::operator""s;

/// timeout(1) tells its command, and at once its command's group: a person takes longer.
constexpr auto one_request = 200ms;

/// Not those that stop us: whoever stops us stops all of it, and the watchdog sees to the rest.
sigset_t awaited_signals() noexcept {
  auto set = ending_signals();
  for (int const signal : {SIGCHLD, SIGHUP, SIGPIPE}) ::sigaddset(&set, signal);
  return set;
}

/// As long as nobody has reaped it.
bool has_ended(pid_t pid, siginfo_t& info) noexcept {
  // WNOWAIT: not reaped before the watchdog knows.
  return ::waitid(P_PID, static_cast<id_t>(pid), &info, WEXITED | WNOHANG | WNOWAIT) != 0 ||
         info.si_pid == pid;
}

}  // namespace

bool is_passing(int error) noexcept {
  return error == EAGAIN || error == ENOMEM || error == EMFILE || error == ENFILE ||
         error == ETXTBSY;
}

std::string CommandExit::text() const {
  if (ended) return why.empty() ? std::string() : "was ended: " + why;
  if (code == 0) return {};
  if (code > 0) return "failed: exit code " + std::to_string(code);
  if (unattended) {
    return "was ended by the watchdog: its lease was lost before this process could act (was it "
           "stopped?)";
  }
  return "failed: signal " + std::to_string(signal) + " (" + ::strsignal(signal) + ")";
}

void Errands::Wake::operator()() const noexcept { ::eventfd_write(fd, 1); }

Errands::Errands(Watchdog& watchdog, std::size_t places, std::chrono::milliseconds grace,
                 sigset_t const& child_mask)
    : watchdog_(watchdog), grace_(grace), child_mask_(child_mask) {
  auto const set = awaited_signals();
  ::pthread_sigmask(SIG_BLOCK, &set, nullptr);
  struct sigaction by_default{};
  by_default.sa_handler = SIG_DFL;  // ignored, children could not be awaited
  ::sigaction(SIGCHLD, &by_default, &on_child_);
  signals_ = Descriptor(::signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK));
  wake_ = Descriptor(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  no_input_ = Descriptor(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  if (!signals_.is_open() || !wake_.is_open() || !no_input_.is_open()) {
    throw std::system_error(errno, std::system_category(), "cannot watch the commands");
  }
  for (std::size_t place = places; place > 0; --place) free_places_.push_back(place - 1);
}

void Errands::abandon() noexcept {
  kill_all();
  for (auto& running : running_) {
    watchdog_.stand_down(running.place);
    ::waitpid(running.pid, nullptr, 0);
  }
  running_.clear();
}

int Errands::start(std::unique_ptr<Errand> errand, ErrandCommand const& command) {
  std::list<Running> one;
  auto& running = one.emplace_back(std::move(errand), free_places_.back());
  running.deadline = running.errand->deadline();
  if (command.timeout) {
    running.timeout = *command.timeout;
    running.timeout_at = BootClock::now() + running.timeout;
  }
  watchdog_.guard_until(running.deadline, running.place);
  ChildSetup const setup{.command = command.words,
                         .environment = command.environment,
                         .mask = child_mask_,
                         .on_child = on_child_,
                         .input = command.input < 0 ? no_input_.get() : command.input,
                         .output = command.output,
                         .errors = command.errors,
                         .open_files = command.open_files ? &*command.open_files : nullptr,
                         .place = running.place};
  auto const started = start_child(setup, watchdog_);
  if (started.error != 0) {
    watchdog_.stand_down(running.place);
    return started.error;
  }
  running.pid = started.pid;
  running_.splice(running_.end(), one);
  free_places_.pop_back();
  running.on_stop.emplace(running.errand->stop(), Wake{wake_.get()});
  return 0;
}

// Ending.

void Errands::check() {
  auto const now = BootClock::now();
  for (auto& running : running_) check(running, now);
}

void Errands::check(Running& running, Instant now) {
  if (running.ending) {
    if (now < running.kill_at) return;
    ::kill(-running.pid, SIGKILL);
    running.kill_at = now + 1s;  // again, if the system had no time for it
    return;
  }
  auto const& errand = *running.errand;
  running.deadline = std::max(running.deadline, errand.deadline());
  watchdog_.guard_until(running.deadline, running.place);
  auto const soon = std::min(running.deadline, now + grace_);
  if (!errand.held()) {
    end(running, now, "its lease is lost");
  } else if (errand.stop().stop_requested()) {
    end(running, soon, errand.why_stopped());
  } else if (now >= running.deadline - grace_) {
    end(running, running.deadline, "its lease could not be renewed in time");
  } else if (now >= running.timeout_at) {
    end(running, soon, "it took longer than " + format_duration(running.timeout));
  }
}

/// One that has just ended by itself was not ended by us, and its exit code counts.
void Errands::end(Running& running, Instant kill_at, std::string why) {
  siginfo_t info{};
  if (has_ended(running.pid, info)) return;
  running.ending = true;
  running.kill_at = kill_at;
  running.why = std::move(why);
  if (kill_at <= BootClock::now()) return check(running, kill_at);
  ::kill(-running.pid, SIGTERM);
  ::kill(-running.pid, SIGCONT);  // stopped processes too
}

void Errands::end_all(std::string const& why) {
  auto const now = BootClock::now();
  for (auto& running : running_) {
    if (!running.ending) end(running, std::min(running.deadline, now + grace_), why);
  }
}

void Errands::kill_all() noexcept {
  for (auto const& running : running_) ::kill(-running.pid, SIGKILL);
}

void Errands::reap() {
  for (auto running = running_.begin(); running != running_.end();) {
    siginfo_t info{};
    if (!has_ended(running->pid, info)) {
      ++running;
      continue;
    }
    if (running->ending) ::kill(-running->pid, SIGKILL);  // what the command has left behind
    watchdog_.stand_down(running->place);
    ::waitid(P_PID, static_cast<id_t>(running->pid), &info, WEXITED);
    running->on_stop.reset();
    free_places_.push_back(running->place);
    running->errand->finish(exit_of(*running, info));
    running = running_.erase(running);
  }
}

CommandExit Errands::exit_of(Running const& running, siginfo_t const& info) const {
  CommandExit exit;
  bool const by_itself = info.si_code == CLD_EXITED;
  exit.code = by_itself ? info.si_status : -1;
  exit.signal = by_itself ? 0 : info.si_status;
  exit.ended = running.ending;
  exit.why = running.why;
  exit.unattended = !by_itself && !running.ending && watchdog_.has_killed(running.place);
  return exit;
}

// Waiting.

Instant Errands::next_check() const {
  auto next = Instant::max();
  for (auto const& running : running_) {
    next = std::min(next, running.ending ? running.kill_at
                                         : std::min(running.deadline - grace_, running.timeout_at));
  }
  return next;
}

void Errands::wait(Instant until) {
  auto const next = std::min(until, next_check());
  if (next != Instant::max()) timer_.set(next);
  std::array<pollfd, 3> events{pollfd{signals_.get(), POLLIN, 0}, pollfd{wake_.get(), POLLIN, 0},
                               pollfd{next == Instant::max() ? -1 : timer_.fd(), POLLIN, 0}};
  ::poll(events.data(), events.size(), -1);
  eventfd_t ignored = 0;
  ::eventfd_read(wake_.get(), &ignored);
}

std::optional<signalfd_siginfo> Errands::next_signal() {
  signalfd_siginfo info{};
  while (::read(signals_.get(), &info, sizeof info) == sizeof info) {
    auto const signal = static_cast<int>(info.ssi_signo);
    if (signal != SIGCHLD && signal != SIGPIPE && !is_echo(signal)) return info;
  }
  return std::nullopt;
}

/// Each HUP counts: it may ask for something that has changed since the one before.
bool Errands::is_echo(int signal) noexcept {
  if (signal == SIGHUP) return false;
  auto const now = BootClock::now();
  if (signal == last_signal_ && now < last_signal_at_ + one_request) return true;
  last_signal_ = signal;
  last_signal_at_ = now;
  return false;
}

}  // namespace holt::cli
