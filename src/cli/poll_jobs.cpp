// SPDX-License-Identifier: Apache-2.0
#include "cli/poll_jobs.hpp"

#include "cli/braces.hpp"
#include "cli/interruptible.hpp"
#include "cli/refusal.hpp"
#include "cli/stream.hpp"
#include "cli/text.hpp"

#include <cerrno>
#include <memory>
#include <stop_token>
#include <string>
#include <system_error>
#include <utility>

namespace holt::cli {
namespace {

using std::chrono_literals::operator""s;

/// What stopping may take beside the grace: the endpoints are handed over meanwhile.
constexpr auto time_to_hand_over = 5s;

std::string title_of(Poll const& poll) { return "poll of " + in_quotes(poll.endpoint()); }

}  // namespace

/// A poll as an errand.
class PollJobs::Visit final : public Errand {
 public:
  Visit(PollJobs& jobs, Poll poll) : jobs_(jobs), poll_(std::move(poll)) {}
  [[nodiscard]] bool held() const override { return poll_.held(); }
  [[nodiscard]] Instant deadline() const override { return poll_.deadline(); }
  [[nodiscard]] std::stop_token stop() const override { return poll_.lost(); }
  [[nodiscard]] std::string why_stopped() const override {
    return jobs_.stopping_ ? "" : "it is no longer this node's";
  }
  void finish(CommandExit const& exit) override {
    auto const end = exit.text();
    if (!end.empty()) talk_of_trouble(title_of(poll_) + ' ' + end);
    jobs_.due_->make_room();
  }

 private:
  PollJobs& jobs_;
  Poll poll_;
};

PollJobs::PollJobs(Polling& polling, Watchdog& watchdog, PollWork work, sigset_t const& child_mask)
    : polling_(polling),
      work_(std::move(work)),
      errands_(watchdog, work_.jobs, work_.grace, child_mask) {}

int PollJobs::run() {
  due_.emplace(polling_, work_.jobs, errands_.wake());
  polling_.start();
  while (!is_over()) {
    start_due();
    errands_.check();
    if (is_over()) break;
    errands_.wait();
    while (auto const signal = errands_.next_signal()) handle(*signal);
    errands_.reap();
  }
  return status_;
}

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
  ErrandCommand command;
  command.words = filled_in(work_.command, poll.endpoint());
  command.environment = {"HOLT_ENDPOINT=" + poll.endpoint(),
                         "HOLT_POLLING=" + polling_.name().text(), "HOLT_NODE=" + polling_.node(),
                         "HOLT_FENCE=" + poll.fence().decimal()};
  command.timeout = work_.timeout;
  auto const title = title_of(poll);
  auto const error = errands_.start(std::make_unique<Visit>(*this, std::move(poll)), command);
  if (error == 0) return;
  not_started(title, error);
  due_->make_room();
}

/// A node that cannot run the command at all is no use to the endpoints: others are to have them.
void PollJobs::not_started(std::string const& title, int error) {
  if (error == ETIME) return;  // the lease has ended: nothing to say that is not said elsewhere
  if (is_passing(error) || has_braces(work_.command.front())) {
    talk_of_trouble(title + ": cannot run the command: " + std::system_category().message(error));
    return;
  }
  if (stopping_) return;
  status_ = refuse_to_start(work_.command.front(), error);
  stop();
}

void PollJobs::handle(signalfd_siginfo const& info) {
  auto const signal = static_cast<int>(info.ssi_signo);
  // The kernel sends HUP when the terminal is gone: nobody asks for anything then.
  bool const reload = signal == SIGHUP && work_.reload && info.ssi_code != SI_KERNEL;
  if (reload && !stopping_) {
    work_.reload();
  } else if (!stopping_) {
    stop();
  } else if (signal != SIGHUP) {
    errands_.kill_all();
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
