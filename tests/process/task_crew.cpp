// SPDX-License-Identifier: Apache-2.0
#include "process/task_crew.hpp"

#include <gtest/gtest.h>

#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <set>

namespace holt::test {
namespace {

using namespace std::chrono_literals;

constexpr int most_forks = 20'000;

Settings settings_of(std::string const& url, Doer::Plan const& plan, int workers) {
  return {{"url", url},
          {"queue", plan.queue},
          {"ttl", std::to_string(plan.ttl.count())},
          {"concurrency", std::to_string(plan.concurrency)},
          {"prefetch", std::to_string(plan.prefetch)},
          {"ledger", plan.ledger},
          {"who", plan.who},
          {"workers", std::to_string(workers)}};
}

Doer::Plan plan_in(Settings const& settings) {
  Doer::Plan plan;
  plan.queue = settings.at("queue");
  plan.ttl = std::chrono::milliseconds(std::stol(settings.at("ttl")));
  plan.concurrency = static_cast<std::uint32_t>(std::stoul(settings.at("concurrency")));
  plan.prefetch = static_cast<std::uint32_t>(std::stoul(settings.at("prefetch")));
  plan.ledger = settings.at("ledger");
  plan.who = settings.at("who");
  return plan;
}

sigset_t set_of(std::initializer_list<int> numbers) {
  sigset_t set{};
  sigemptyset(&set);
  for (int const number : numbers) sigaddset(&set, number);
  return set;
}

/// Until SIGTERM, which everybody here has blocked; its exit status.
int work(std::string const& url, Doer::Plan const& plan) {
  try {
    auto holt = open(url, {.timeout = 30s});
    Doer doer(holt, plan);
    auto const asked = set_of({SIGTERM});
    int number = 0;
    sigwait(&asked, &number);
    return doer.stop(20s) ? 0 : 1;
  } catch (std::exception const&) {
    return 1;
  }
}

class Crew {
 public:
  explicit Crew(Settings const& settings)
      : url_(settings.at("url")),
        plan_(plan_in(settings)),
        workers_(std::stoul(settings.at("workers"))) {}

  /// Whether all ended well when they were asked to.
  bool run() {
    auto const heard = set_of({SIGTERM, SIGCHLD});
    sigprocmask(SIG_BLOCK, &heard, nullptr);
    bool well = true;
    for (bool stopping = false; !stopping || !running_.empty();) {
      while (!stopping && running_.size() < workers_ && forks_ < most_forks) start();
      int number = 0;
      sigwait(&heard, &number);
      int status = 0;
      for (pid_t gone = 0; (gone = ::waitpid(-1, &status, WNOHANG)) > 0;) {
        running_.erase(gone);
        well = well && (!stopping || status == 0);
      }
      if (number != SIGTERM) continue;
      stopping = true;
      for (auto const each : running_) ::kill(each, SIGTERM);
    }
    return well;
  }

 private:
  void start() {
    ++forks_;
    auto plan = plan_;
    plan.who += "-" + std::to_string(forks_);
    auto const child = ::fork();
    if (child == 0) {
      ::prctl(PR_SET_PDEATHSIG, SIGKILL);
      ::_exit(work(url_, plan));
    }
    if (child > 0) running_.insert(child);
  }

  std::string const url_;
  Doer::Plan const plan_;
  std::size_t const workers_;
  int forks_ = 0;
  std::set<pid_t> running_;
};

/// What a TaskCrew runs.
TEST(TaskCrewProcess, DISABLED_ReplacesThoseThatDie) {
  Crew crew(other_process_settings());
  EXPECT_TRUE(crew.run());
}

}  // namespace

TaskCrew::TaskCrew(std::string const& url, Doer::Plan const& plan, int workers)
    : process_("TaskCrewProcess.DISABLED_ReplacesThoseThatDie", settings_of(url, plan, workers)) {}

bool TaskCrew::stop() {
  process_.signal(SIGTERM);
  return process_.wait() == 0;
}

}  // namespace holt::test
