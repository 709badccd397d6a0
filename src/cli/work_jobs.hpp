// SPDX-License-Identifier: Apache-2.0
#pragma once
// Runs a command for every task of a worker, several at a time (errands.hpp), each ended before its
// claim can pass on. The worker's threads bring the tasks and wait; the main thread starts the
// commands and sees to them.
//
//   exit code 0: completed, stdout is the result     65: dead at once
//   75: tried again at no cost                       anything else: a failed attempt
//
// The code of a command that we ended says nothing: its attempt failed.
//
// The first INT, TERM, HUP or QUIT claims nothing more, lets commands go on for `patience` and then
// ends them, at no cost to their tasks; a second one kills them.
// A command that cannot be started at all stops us; if the reason may pass, the task goes back at
// no cost, after a pause (start_pause.hpp).

#include "cli/errands.hpp"
#include "cli/start_pause.hpp"
#include "cli/watchdog.hpp"

#include <holt/clock.hpp>
#include <holt/queue.hpp>
#include <holt/task.hpp>

#include <signal.h>
#include <sys/resource.h>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

namespace holt::cli {

/// What is run, and how.
struct TaskWork {
  std::vector<std::string> command;      ///< at least one word
  std::vector<std::string> environment;  ///< NAME=value, beside what the task says
  std::size_t places = 1000;             ///< the watchdog's
  std::chrono::milliseconds grace{};
  std::chrono::milliseconds patience{};
  std::chrono::milliseconds again_after{};  ///< of exit code 75
  std::optional<rlimit> open_files;         ///< what the command gets; nothing: as we have it
};

class WorkJobs {
 public:
  /// Blocks signals from here on. Throws std::system_error.
  WorkJobs(Watchdog& watchdog, TaskWork work, sigset_t const& child_mask);
  ~WorkJobs();
  WorkJobs(WorkJobs const&) = delete;
  WorkJobs& operator=(WorkJobs const&) = delete;

  /// The handler: runs the command for this task and ends as it did. From the worker's threads.
  void attempt(Job& job);

  /// Until a signal ends it, or the command cannot be started at all; the worker is stopped then.
  /// Answers the exit status. Call it once, from the main thread, with a worker whose handler is
  /// attempt().
  [[nodiscard]] int run(Worker& worker);

 private:
  struct Attempt;
  class TaskErrand;

  [[nodiscard]] std::shared_ptr<Attempt> prepare(Job& job);
  [[nodiscard]] std::chrono::milliseconds set_back(Task const& task, std::string const& why);
  [[nodiscard]] std::shared_ptr<Attempt> next();
  void start_all();
  void start(std::shared_ptr<Attempt> const& attempt);
  void not_started(Attempt& attempt, int error);
  void see_to_stopping();
  [[nodiscard]] bool is_of_stopping(CommandExit const& exit) const;
  void handle(int signal);
  void stop();
  void say_what_we_wait_for() const;
  void close() noexcept;
  [[nodiscard]] bool is_over() const { return stopped_ && errands_.empty(); }

  TaskWork const work_;
  Errands errands_;
  Worker* worker_ = nullptr;
  std::mutex mutex_;
  std::deque<std::shared_ptr<Attempt>> waiting_;  ///< to be started
  bool closed_ = false;                           ///< no more are
  StartPause start_pause_;
  bool stopping_ = false;
  int stop_signal_ = 0;  ///< what we were told to stop by; 0: nothing
  Instant patience_ends_ = Instant::max();
  std::atomic<bool> stopped_ = false;
  std::thread stopper_;
  int status_ = 0;
};

}  // namespace holt::cli
