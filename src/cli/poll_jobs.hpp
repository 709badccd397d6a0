// SPDX-License-Identifier: Apache-2.0
#pragma once
// Runs a command for every endpoint that is due, several at a time (errands.hpp), each ended before
// the endpoint can be polled elsewhere. A poll ends, and its endpoint may move, when its command is
// gone. HUP calls `reload`; the first INT, TERM or QUIT ends all of it in order, a second one at
// once.

#include "cli/due_polls.hpp"
#include "cli/errands.hpp"
#include "cli/watchdog.hpp"

#include <holt/polling.hpp>

#include <signal.h>
#include <sys/signalfd.h>

#include <chrono>
#include <cstddef>
#include <functional>
#include <optional>
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
  ~PollJobs() { errands_.abandon(); }
  PollJobs(PollJobs const&) = delete;
  PollJobs& operator=(PollJobs const&) = delete;

  /// Until a signal ends it, or the command cannot be started at all; the polling is stopped then.
  /// Answers the exit status. Call it once, from the main thread.
  [[nodiscard]] int run();

 private:
  class Visit;

  void start_due();
  void start(Poll poll);
  void not_started(std::string const& title, int error);
  void handle(signalfd_siginfo const& info);
  void stop();
  [[nodiscard]] bool is_over() const {
    return stopping_ && due_->has_stopped() && errands_.empty();
  }

  Polling& polling_;
  PollWork const work_;
  Errands errands_;
  std::optional<DuePolls> due_;
  bool stopping_ = false;
  int status_ = 0;
};

}  // namespace holt::cli
