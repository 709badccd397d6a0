// SPDX-License-Identifier: Apache-2.0
#pragma once
// Runs a command for every endpoint that is due, several at a time, each in a group of processes of
// its own and under the watchdog's eye, and ends it before the endpoint can be polled elsewhere.
//
//   running --(told to stop: to move, paused, we stop; timeout)--> TERM, ending --(grace)--> KILL
//   running --(lease not renewed: deadline - grace)--> TERM, ending --(deadline)--> KILL
//   running --(lost)--> KILL
//
// A poll ends, and its endpoint may move, when its command is gone. HUP calls `reload`; the first
// INT, TERM or QUIT ends all of it in order, a second one at once.

#include "cli/boot_timer.hpp"
#include "cli/descriptor.hpp"
#include "cli/due_polls.hpp"
#include "cli/watchdog.hpp"

#include <holt/clock.hpp>
#include <holt/polling.hpp>

#include <signal.h>
#include <sys/signalfd.h>
#include <sys/types.h>

#include <chrono>
#include <cstddef>
#include <functional>
#include <list>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

namespace holt::cli {

/// What is run, and how.
struct PollWork {
  std::vector<std::string> command;  ///< as braces.hpp has it; at least one word
  std::size_t jobs = 4;              ///< at a time; the watchdog has as many places
  std::chrono::milliseconds grace{};
  std::optional<std::chrono::milliseconds> timeout;  ///< of one command
  std::function<void()> reload;                      ///< on HUP; empty: HUP ends it
};

class PollJobs {
 public:
  /// Blocks signals from here on. Throws std::system_error.
  PollJobs(Polling& polling, Watchdog& watchdog, PollWork work, sigset_t const& child_mask);
  /// Kills what runs.
  ~PollJobs();
  PollJobs(PollJobs const&) = delete;
  PollJobs& operator=(PollJobs const&) = delete;

  /// Until a signal ends it, or the command cannot be started at all; the polling is stopped then.
  /// Answers the exit status. Call it once, from the main thread.
  [[nodiscard]] int run();

 private:
  /// One command that runs.
  struct Job {
    explicit Job(Poll of) : poll(std::move(of)) {}
    struct Wake {
      int fd;
      void operator()() const noexcept;
    };
    Poll poll;
    std::size_t place = 0;
    pid_t pid = -1;
    Instant deadline;  ///< the watchdog's, as we last moved it
    Instant timeout = Instant::max();
    Instant kill_at;  ///< while ending
    bool ending = false;
    std::string why;  ///< it was ended; empty: not worth a word
    std::optional<std::stop_callback<Wake>> on_lost;
  };

  void start_due();
  void start(Poll poll);
  void not_started(Poll const& poll, int error);
  void check_jobs();
  void check(Job& job, Instant now);
  void end(Job& job, Instant kill_at, std::string why);
  void kill_all() noexcept;
  void wait();
  [[nodiscard]] Instant next_check() const;
  void handle_signals();
  void handle(signalfd_siginfo const& info);
  void reap();
  void report(Job const& job, siginfo_t const& info) const;
  void stop();
  [[nodiscard]] bool is_over() const { return stopping_ && due_->has_stopped() && jobs_.empty(); }

  Polling& polling_;
  Watchdog& watchdog_;
  PollWork const work_;
  sigset_t const& child_mask_;
  struct sigaction on_child_{};
  Descriptor signals_;
  Descriptor wake_;
  Descriptor no_input_;
  BootTimer timer_;
  std::list<Job> jobs_;
  std::vector<std::size_t> free_places_;
  std::optional<DuePolls> due_;
  bool stopping_ = false;
  int status_ = 0;
};

}  // namespace holt::cli
