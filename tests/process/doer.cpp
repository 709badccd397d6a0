// SPDX-License-Identifier: Apache-2.0
#include "process/doer.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <condition_variable>
#include <csignal>
#include <mutex>
#include <sstream>
#include <string>

namespace holt::test {
namespace {

using namespace std::chrono_literals;

constexpr std::array<std::chrono::milliseconds, 1> at_once{0ms};

Worker make_worker(Holt& holt, Doer::Plan const& plan) {
  return holt.worker({.queue = plan.queue,
                      .name = plan.who,
                      .concurrency = plan.concurrency,
                      .ttl = plan.ttl,
                      .prefetch = plan.prefetch,
                      .retry = {.delays = at_once}});
}

/// Until it is asked to stop, or the time is over.
void rest(Job const& job, std::chrono::milliseconds most) {
  std::mutex mutex;
  std::condition_variable_any changed;
  std::unique_lock lock(mutex);
  changed.wait_for(lock, job.stop(), most, [] { return false; });
}

bool first_to_make(std::string const& file) {
  int const made = ::open(file.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (made >= 0) ::close(made);
  return made >= 0;
}

}  // namespace

Doer::Doer(Holt& holt, Plan const& plan)
    : ledger_(plan.ledger, plan.who),
      queue_(holt.queue(plan.queue)),
      worker_(make_worker(holt, plan)) {
  worker_.handle(kind, [this](Job& job) {
    auto run = ledger_.started(job);
    act(job);
    job.result(job.fence().decimal());
    run.leave(job.deadline());
  });
  worker_.on_late([this](LateFinish const& late) { ledger_.refused(late); });
  worker_.start();
}

void Doer::act(Job& job) {
  std::istringstream words(job.task().payload);
  std::string what;
  words >> what;
  int number = 0;
  if (what == "nap" && words >> number) rest(job, std::chrono::milliseconds(number));
  if (what == "chain" && words >> number && number > 0) add_next(job, number - 1);
  if (what == "stay") rest(job, 60s);
  std::string file;
  if (what == "die" || (what == "crash" && words >> file && first_to_make(file))) {
    ::kill(::getpid(), SIGKILL);
  }
}

/// What could not be sent at all is for the caller to say again.
void Doer::add_next(Job const& job, int number) {
  while (!job.stop().stop_requested()) {
    try {
      queue_.add(kind, "chain " + std::to_string(number), {.max_attempts = 100});
      return;
    } catch (EngineError const& error) {
      if (error.outcome() != Outcome::not_applied) throw;
      rest(job, 1ms);
    }
  }
}

bool Doer::stop(std::chrono::milliseconds patience) {
  bool const in_order = worker_.stop(patience);
  if (in_order) ledger_.left();
  return in_order;
}

}  // namespace holt::test
