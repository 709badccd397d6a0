// SPDX-License-Identifier: Apache-2.0
#include "cli/work_jobs.hpp"

#include "cli/duration.hpp"
#include "cli/interruptible.hpp"
#include "cli/refusal.hpp"
#include "cli/stream.hpp"
#include "cli/task_streams.hpp"
#include "cli/text.hpp"

#include <holt/task.hpp>

#include <sys/eventfd.h>

#include <algorithm>
#include <cerrno>
#include <exception>
#include <iterator>
#include <stdexcept>
#include <stop_token>
#include <string>
#include <system_error>
#include <utility>

namespace holt::cli {
namespace {

using std::chrono::milliseconds;
using std::chrono_literals::operator""s;

/// As in sysexits.h.
constexpr int wrong_data = 65;
constexpr int try_again = 75;

/// What stopping may take beside patience and grace: what was not started is given back meanwhile.
constexpr auto time_to_hand_in = 5s;

constexpr char const* told_to_stop = "holt work was told to stop";

std::string title_of(Task const& task) { return "task " + task.id.text(); }

/// The end of an attempt by its timeout, in whole seconds since 1970; empty: it has none. Rounded
/// up: a shell cannot count fractions, and a short timeout would else be over before it began.
std::string deadline_of(Task const& task) {
  if (task.timeout == milliseconds(0)) return {};
  auto const end = std::chrono::system_clock::now() + task.timeout;
  return std::to_string(std::chrono::ceil<std::chrono::seconds>(end.time_since_epoch()).count());
}

std::vector<std::string> environment_of(Job const& job) {
  auto const& task = job.task();
  std::vector<std::string> environment{
      "HOLT_TASK_ID=" + task.id.text(),
      "HOLT_TASK_QUEUE=" + task.id.queue(),
      "HOLT_TASK_KIND=" + task.kind,
      "HOLT_TASK_PRIORITY=" + std::to_string(task.priority),
      "HOLT_TASK_ATTEMPT=" + std::to_string(task.attempt),
      "HOLT_TASK_MAX_ATTEMPTS=" + std::to_string(task.max_attempts),
      "HOLT_TASK_DEADLINE=" + deadline_of(task),
      "HOLT_FENCE=" + job.fence().decimal(),
  };
  // The environment has no way to say NUL.
  bool const sayable = task.metadata.find('\0') == std::string::npos;
  environment.push_back("HOLT_TASK_METADATA=" + (sayable ? task.metadata : std::string()));
  return environment;
}

}  // namespace

/// Shared by the worker's thread, which waits in read_all(), and the main one.
struct WorkJobs::Attempt {
  explicit Attempt(Job& of) : job(of), streams(of.task().payload) {}
  void end(CommandExit how) {
    exit = std::move(how);
    streams.command_is_gone();
  }

  Job& job;  ///< lives until the thread that waits goes on
  TaskStreams streams;
  Instant started = BootClock::now();
  CommandExit exit;         ///< valid when the command is gone
  std::string not_started;  ///< why there was none; empty: there was one
  milliseconds pause{};     ///< how long the task should wait then
  bool at_no_cost = false;  ///< it is none of the task's fault
};

class WorkJobs::TaskErrand final : public Errand {
 public:
  TaskErrand(WorkJobs& jobs, std::shared_ptr<Attempt> attempt)
      : jobs_(jobs), attempt_(std::move(attempt)) {}
  [[nodiscard]] bool held() const override { return attempt_->job.held(); }
  [[nodiscard]] Instant deadline() const override { return attempt_->job.deadline(); }
  [[nodiscard]] std::stop_token stop() const override { return attempt_->job.stop(); }
  [[nodiscard]] std::string why_stopped() const override {
    auto const timeout = attempt_->job.task().timeout;
    bool const too_long =
        timeout > milliseconds(0) && BootClock::now() >= attempt_->started + timeout;
    return too_long ? "it took longer than " + format_duration(timeout) : "it was cancelled";
  }
  void finish(CommandExit const& exit) override {
    auto const text = exit.text();
    if (!text.empty()) talk_of_trouble(title_of(attempt_->job.task()) + ' ' + text);
    attempt_->at_no_cost = jobs_.is_of_stopping(exit);
    attempt_->end(exit);
  }

 private:
  WorkJobs& jobs_;
  std::shared_ptr<Attempt> attempt_;
};

WorkJobs::WorkJobs(Watchdog& watchdog, TaskWork work, sigset_t const& child_mask)
    : work_(std::move(work)), errands_(watchdog, work_.places, work_.grace, child_mask) {}

WorkJobs::~WorkJobs() {
  errands_.abandon();
  close();
  if (stopper_.joinable()) stopper_.join();
}

// The worker's threads.

/// Nothing of this object is touched once the command runs: whoever hangs in passing on what the
/// command says, where nobody reads it, is left behind when stopping gives up.
void WorkJobs::attempt(Job& job) {
  auto const attempt = prepare(job);
  auto const again_after = work_.again_after;
  {
    std::scoped_lock const lock(mutex_);
    if (closed_) throw TryAgain("the worker was stopped", milliseconds(0));
    waiting_.push_back(attempt);
    ::eventfd_write(errands_.wake(), 1);
  }
  attempt->streams.read_all();
  if (!attempt->not_started.empty()) throw TryAgain(attempt->not_started, attempt->pause);
  auto const& exit = attempt->exit;
  auto& result = attempt->streams.result();
  bool const done = exit.code == 0 && !exit.ended;
  if (done && result.size() <= task_limits::result_bytes) return job.result(std::move(result));
  auto complaint = attempt->streams.complaint();
  if (done) complaint = "its output is above 1 MiB, which is the most a result may have";
  auto error = exit.text();
  if (!complaint.empty()) error += (error.empty() ? "" : ": ") + complaint;
  if (attempt->at_no_cost) throw TryAgain(error, milliseconds(0));
  if (exit.ended) throw std::runtime_error(error);
  if (exit.code == try_again) throw TryAgain(error, again_after);
  if (exit.code == wrong_data) throw RejectTask(error);
  throw std::runtime_error(error);
}

/// What it takes may be short for now.
std::shared_ptr<WorkJobs::Attempt> WorkJobs::prepare(Job& job) {
  try {
    return std::make_shared<Attempt>(job);
  } catch (std::system_error const& error) {
    throw TryAgain(error.what(), set_back(job.task(), error.what()));
  }
}

/// Answers how long the task should wait. Any thread.
milliseconds WorkJobs::set_back(Task const& task, std::string const& why) {
  std::scoped_lock const lock(mutex_);
  auto const failure = start_pause_.failed(BootClock::now());
  if (failure.is_news) {
    talk_of_trouble(title_of(task) + ": " + why + "; such tasks go back, at no cost to them");
  }
  return failure.pause;
}

// The main thread.

int WorkJobs::run(Worker& worker) {
  worker_ = &worker;
  worker.start();
  while (!is_over()) {
    start_all();
    see_to_stopping();
    errands_.check();
    errands_.wait(patience_ends_ == Instant::min() ? Instant::max() : patience_ends_);
    while (auto const signal = errands_.next_signal()) handle(static_cast<int>(signal->ssi_signo));
    errands_.reap();
  }
  return status_;
}

std::shared_ptr<WorkJobs::Attempt> WorkJobs::next() {
  std::scoped_lock const lock(mutex_);
  if (waiting_.empty()) return nullptr;
  auto first = std::move(waiting_.front());
  waiting_.pop_front();
  return first;
}

void WorkJobs::start_all() {
  while (auto const attempt = next()) start(attempt);
}

void WorkJobs::start(std::shared_ptr<Attempt> const& attempt) {
  ErrandCommand command;
  command.words = work_.command;
  command.environment = environment_of(attempt->job);
  std::ranges::copy(work_.environment, std::back_inserter(command.environment));
  command.input = attempt->streams.input();
  command.output = attempt->streams.output();
  command.errors = attempt->streams.errors();
  command.open_files = work_.open_files;
  auto const error =
      stopping_ ? ECANCELED : errands_.start(std::make_unique<TaskErrand>(*this, attempt), command);
  if (error != 0) return not_started(*attempt, error);
  std::scoped_lock const lock(mutex_);
  start_pause_.succeeded();
}

/// Who cannot run the command at all is no use to the tasks: others are to have them.
void WorkJobs::not_started(Attempt& attempt, int error) {
  attempt.not_started = "cannot run the command: " + std::system_category().message(error);
  if (stopping_) {
    attempt.not_started = "the worker was stopped";
  } else if (is_passing(error)) {
    attempt.pause = set_back(attempt.job.task(), attempt.not_started);
  } else if (error != ETIME) {
    status_ = refuse_to_start(work_.command.front(), error);
    stop();
  }
  attempt.streams.command_is_gone();
}

void WorkJobs::handle(int signal) {
  if (!stopping_) {
    stop_signal_ = signal;
    say_what_we_wait_for();
    return stop();
  }
  if (signal == SIGHUP) return;
  errands_.kill_all();
  end_by_signal(signal);
}

void WorkJobs::say_what_we_wait_for() const {
  auto const count = errands_.count();
  if (count == 0) return;
  auto const commands = count == 1 ? "the command" : std::to_string(count) + " commands";
  talk("waiting " + format_duration(work_.patience) + " at most for " + commands +
       "; once more to kill " + (count == 1 ? "it" : "them"));
}

/// The worker waits for the commands, longer than they get.
void WorkJobs::stop() {
  stopping_ = true;
  patience_ends_ = BootClock::now() + work_.patience;
  stopper_ = std::thread([this] {
    try {
      worker_->stop(work_.patience + work_.grace + time_to_hand_in);
    } catch (std::exception const& error) {
      talk_of_trouble(std::string("cannot give back what was not started: ") + error.what());
    }
    stopped_ = true;
    ::eventfd_write(errands_.wake(), 1);
  });
}

void WorkJobs::see_to_stopping() {
  if (BootClock::now() < patience_ends_ || patience_ends_ == Instant::min()) return;
  patience_ends_ = Instant::min();
  errands_.end_all(told_to_stop);
}

/// True also for a command that died of what stops us: whoever stops a service tells all of it.
bool WorkJobs::is_of_stopping(CommandExit const& exit) const {
  if (exit.ended) return exit.why == told_to_stop;
  return stop_signal_ != 0 && (exit.signal == stop_signal_ || exit.code == 128 + stop_signal_);
}

/// Whoever still waits goes on, and nobody starts to.
void WorkJobs::close() noexcept {
  std::scoped_lock const lock(mutex_);
  closed_ = true;
  for (auto const& attempt : waiting_) {
    attempt->not_started = "the worker was stopped";
    attempt->streams.command_is_gone();
  }
  waiting_.clear();
}

}  // namespace holt::cli
