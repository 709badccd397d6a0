// SPDX-License-Identifier: Apache-2.0
#include "cli/poll_jobs.hpp"

#include "cli/braces.hpp"
#include "cli/child.hpp"
#include "cli/duration.hpp"
#include "cli/interruptible.hpp"
#include "cli/refusal.hpp"
#include "cli/signals.hpp"
#include "cli/stream.hpp"
#include "cli/text.hpp"

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
#include <vector>

namespace holt::cli {
namespace {

using std::chrono_literals::operator""s;

/// What stopping may take beside the grace: the endpoints are handed over meanwhile.
constexpr auto time_to_hand_over = 5s;

/// Not those that stop us: whoever stops us stops all of it, and the watchdog sees to the rest.
sigset_t awaited_signals() noexcept {
  auto set = ending_signals();
  for (int const signal : {SIGCHLD, SIGHUP, SIGPIPE}) ::sigaddset(&set, signal);
  return set;
}

/// Something that another endpoint, or another moment, may not meet.
bool is_passing(int error) noexcept {
  return error == EAGAIN || error == ENOMEM || error == EMFILE || error == ENFILE ||
         error == ETXTBSY;
}

std::string title_of(Poll const& poll) { return "poll of " + in_quotes(poll.endpoint()); }

}  // namespace

void PollJobs::Job::Wake::operator()() const noexcept { ::eventfd_write(fd, 1); }

PollJobs::PollJobs(Polling& polling, Watchdog& watchdog, PollWork work, sigset_t const& child_mask)
    : polling_(polling), watchdog_(watchdog), work_(std::move(work)), child_mask_(child_mask) {
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
  for (std::size_t place = work_.jobs; place > 0; --place) free_places_.push_back(place - 1);
}

PollJobs::~PollJobs() {
  kill_all();
  for (auto& job : jobs_) {
    watchdog_.stand_down(job.place);
    ::waitpid(job.pid, nullptr, 0);
  }
  jobs_.clear();
}

int PollJobs::run() {
  due_.emplace(polling_, work_.jobs, wake_.get());
  polling_.start();
  while (!is_over()) {
    start_due();
    check_jobs();
    wait();
    handle_signals();
    reap();
  }
  return status_;
}

// Starting.

void PollJobs::start_due() {
  while (auto poll = due_->take()) {
    bool const ours = !stopping_ && poll->held() && !poll->lost().stop_requested();
    if (ours) {
      start(std::move(*poll));
    } else {
      due_->make_room();
    }
  }
}

void PollJobs::start(Poll poll) {
  std::list<Job> one;
  auto& job = one.emplace_back(std::move(poll));
  job.place = free_places_.back();
  job.deadline = job.poll.deadline();
  if (work_.timeout) job.timeout = BootClock::now() + *work_.timeout;
  auto const command = filled_in(work_.command, job.poll.endpoint());
  std::vector<std::string> const environment{
      "HOLT_ENDPOINT=" + job.poll.endpoint(), "HOLT_POLLING=" + polling_.name().text(),
      "HOLT_NODE=" + polling_.node(), "HOLT_FENCE=" + job.poll.fence().decimal()};
  watchdog_.guard_until(job.deadline, job.place);
  ChildSetup const setup{.command = command,
                         .environment = environment,
                         .mask = child_mask_,
                         .on_child = on_child_,
                         .input = no_input_.get(),
                         .place = job.place};
  auto const started = start_child(setup, watchdog_);
  if (started.error != 0) {
    watchdog_.stand_down(job.place);
    not_started(job.poll, started.error);
    due_->make_room();
    return;
  }
  job.pid = started.pid;
  jobs_.splice(jobs_.end(), one);
  free_places_.pop_back();
  job.on_lost.emplace(job.poll.lost(), Job::Wake{wake_.get()});
}

/// A node that cannot run the command at all is no use to the endpoints: others are to have them.
void PollJobs::not_started(Poll const& poll, int error) {
  if (error == ETIME) return;  // the lease has ended: nothing to say that is not said elsewhere
  if (is_passing(error) || has_braces(work_.command.front())) {
    talk_of_trouble(title_of(poll) +
                    ": cannot run the command: " + std::system_category().message(error));
    return;
  }
  if (stopping_) return;
  status_ = refuse_to_start(work_.command.front(), error);
  stop();
}

// Ending.

void PollJobs::check_jobs() {
  auto const now = BootClock::now();
  for (auto& job : jobs_) check(job, now);
}

void PollJobs::check(Job& job, Instant now) {
  if (job.ending) {
    if (now < job.kill_at) return;
    ::kill(-job.pid, SIGKILL);
    job.kill_at = now + 1s;  // again, if the system had no time for it
    return;
  }
  job.deadline = std::max(job.deadline, job.poll.deadline());
  watchdog_.guard_until(job.deadline, job.place);
  auto const soon = std::min(job.deadline, now + work_.grace);
  if (!job.poll.held()) {
    end(job, now, "its lease is lost");
  } else if (job.poll.lost().stop_requested()) {
    end(job, soon, stopping_ ? "" : "it is no longer this node's");
  } else if (now >= job.deadline - work_.grace) {
    end(job, job.deadline, "its lease could not be renewed in time");
  } else if (now >= job.timeout) {
    end(job, soon, "it took longer than " + format_duration(*work_.timeout));
  }
}

void PollJobs::end(Job& job, Instant kill_at, std::string why) {
  job.ending = true;
  job.kill_at = kill_at;
  job.why = std::move(why);
  if (kill_at <= BootClock::now()) return check(job, kill_at);
  ::kill(-job.pid, SIGTERM);
  ::kill(-job.pid, SIGCONT);  // stopped processes too
}

void PollJobs::kill_all() noexcept {
  for (auto const& job : jobs_) ::kill(-job.pid, SIGKILL);
}

void PollJobs::reap() {
  for (auto job = jobs_.begin(); job != jobs_.end();) {
    siginfo_t info{};
    auto const pid = static_cast<id_t>(job->pid);
    // WNOWAIT: not reaped before the watchdog knows.
    bool const ended =
        ::waitid(P_PID, pid, &info, WEXITED | WNOHANG | WNOWAIT) != 0 || info.si_pid == job->pid;
    if (!ended) {
      ++job;
      continue;
    }
    if (job->ending) ::kill(-job->pid, SIGKILL);  // what the command has left behind
    watchdog_.stand_down(job->place);
    ::waitid(P_PID, pid, &info, WEXITED);
    report(*job, info);
    free_places_.push_back(job->place);
    job = jobs_.erase(job);
    due_->make_room();
  }
}

void PollJobs::report(Job const& job, siginfo_t const& info) const {
  auto const& why = job.why;
  if (job.ending) {
    if (!why.empty()) talk_of_trouble(title_of(job.poll) + " was ended: " + why);
  } else if (info.si_code == CLD_EXITED) {
    if (info.si_status == 0) return;
    talk_of_trouble(title_of(job.poll) + " failed: exit code " + std::to_string(info.si_status));
  } else if (watchdog_.has_killed(job.place)) {
    talk_of_trouble(title_of(job.poll) +
                    " was ended by the watchdog: its lease was lost before this process could act "
                    "(was it stopped?)");
  } else {
    talk_of_trouble(title_of(job.poll) + " failed: signal " + std::to_string(info.si_status) +
                    " (" + ::strsignal(info.si_status) + ")");
  }
}

// Waiting.

Instant PollJobs::next_check() const {
  auto next = Instant::max();
  for (auto const& job : jobs_) {
    next = std::min(next,
                    job.ending ? job.kill_at : std::min(job.deadline - work_.grace, job.timeout));
  }
  return next;
}

/// Sleeps until something happens; what it was, the checks find out.
void PollJobs::wait() {
  if (is_over()) return;
  auto const next = next_check();
  if (next != Instant::max()) timer_.set(next);
  std::array<pollfd, 3> events{pollfd{signals_.get(), POLLIN, 0}, pollfd{wake_.get(), POLLIN, 0},
                               pollfd{next == Instant::max() ? -1 : timer_.fd(), POLLIN, 0}};
  ::poll(events.data(), events.size(), -1);
  eventfd_t ignored = 0;
  ::eventfd_read(wake_.get(), &ignored);
}

void PollJobs::handle_signals() {
  signalfd_siginfo info{};
  while (::read(signals_.get(), &info, sizeof info) == sizeof info) handle(info);
}

void PollJobs::handle(signalfd_siginfo const& info) {
  auto const signal = static_cast<int>(info.ssi_signo);
  if (signal == SIGCHLD || signal == SIGPIPE) return;
  // The kernel sends HUP when the terminal is gone: nobody asks for anything then.
  bool const reload = signal == SIGHUP && work_.reload && info.ssi_code != SI_KERNEL;
  if (reload && !stopping_) {
    work_.reload();
  } else if (!stopping_) {
    stop();
  } else if (signal != SIGHUP) {
    kill_all();
    end_by_signal(signal);
  }
}

/// The polling tells the polls in flight to stop, and hands over each endpoint when its command is
/// gone.
void PollJobs::stop() {
  stopping_ = true;
  due_->stop(work_.grace + time_to_hand_over);
}

}  // namespace holt::cli
