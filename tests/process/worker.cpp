// SPDX-License-Identifier: Apache-2.0
#include "process/worker.hpp"

#include "process/doer.hpp"
#include "process/fetcher.hpp"
#include "process/voter.hpp"

#include <holt/holt.hpp>

#include <sys/resource.h>

#include <algorithm>
#include <condition_variable>
#include <iostream>
#include <mutex>
#include <optional>
#include <sstream>
#include <vector>

namespace holt::test {
namespace {

using std::chrono::milliseconds;

class Worker {
 public:
  explicit Worker(std::string const& url) : holt_(open(url)) {}

  std::string answer(std::istringstream& words) {
    std::string command;
    words >> command;
    if (command == "lock") return lock(words);
    if (command == "held") return lock_->held() ? "yes" : "no " + reason();
    if (command == "await_lost") return await_lost(words);
    if (command == "hold") return hold(words);
    if (command == "count_held") return count_held();
    if (command == "release") return release();
    if (command == "find") return find(words);
    if (command == "stand") return stand(words);
    if (command == "await_leading") return await_leading(words, true);
    if (command == "await_following") return await_leading(words, false);
    if (command == "step_down") return std::string(to_string(voter_->stop()));
    if (command == "stand_again") return stand_again();
    if (command == "fetch") return fetch(words);
    if (fetcher_) {
      if (auto const answer = of_fetcher(command, words)) return *answer;
    }
    if (command == "work") return work(words);
    if (command == "stop_working") return stop_working(words);
    if (command == "cpu") return cpu();
    if (command == "at") return std::to_string(BootClock::now().time_since_epoch().count());
    return "error unknown command";
  }

 private:
  std::string lock(std::istringstream& words) {
    std::string name;
    int ttl = 0;
    int wait = 0;
    words >> name >> ttl >> wait;
    auto held = holt_.lock(name, {.ttl = milliseconds(ttl), .wait = milliseconds(wait)});
    if (!held) return "busy " + std::string(to_string(held.error().why));
    lock_.emplace(std::move(*held));
    return "locked " + lock_->fence().decimal();
  }

  std::string reason() { return std::string(to_string(lock_->loss())); }

  std::string await_lost(std::istringstream& words) {
    int patience = 0;
    words >> patience;
    std::mutex mutex;
    std::condition_variable changed;
    std::optional<Instant> fired;
    std::stop_callback const on_lost(lock_->lost(), [&] {
      std::scoped_lock const guard(mutex);
      fired = BootClock::now();
      changed.notify_all();
    });
    std::unique_lock guard(mutex);
    changed.wait_for(guard, milliseconds(patience), [&] { return fired.has_value(); });
    if (!fired) return "still_held";
    return "lost " + reason() + " " + std::to_string((*fired - lock_->deadline()).count());
  }

  std::string hold(std::istringstream& words) {
    int count = 0;
    int ttl = 0;
    words >> count >> ttl;
    for (int i = 0; i < count; ++i) {
      auto held = holt_.try_lock("hold-" + std::to_string(i), {.ttl = milliseconds(ttl)});
      if (!held) return "error busy";
      many_.push_back(std::move(*held));
    }
    return "holding " + std::to_string(many_.size());
  }

  std::string count_held() {
    return std::to_string(std::ranges::count_if(many_, [](auto& lock) { return lock.held(); }));
  }

  std::string release() {
    auto const released = lock_->release();
    if (released) return "released";
    return "lost " + std::string(to_string(released.error().reason));
  }

  std::string find(std::istringstream& words) {
    std::string name;
    words >> name;
    auto const found = holt_.find(name);
    return found ? "owner " + found->owner.text() : "free";
  }

  std::string stand(std::istringstream& words) {
    std::string name;
    int ttl = 0;
    std::string log;
    std::string who;
    words >> name >> ttl >> log >> who;
    voter_.emplace(holt_, name, milliseconds(ttl), log, who);
    return "standing";
  }

  std::string stand_again() {
    voter_->start();
    return "standing";
  }

  std::string await_leading(std::istringstream& words, bool leading) {
    int patience = 0;
    words >> patience;
    static_cast<void>(voter_->awaits(leading, milliseconds(patience)));
    auto const term = voter_->term();
    return term == Fence() ? "follows" : "leads " + term.decimal();
  }

  std::string fetch(std::istringstream& words) {
    Fetcher::Plan plan;
    int ttl = 0;
    int every = 0;
    words >> plan.polling >> ttl >> every >> plan.log >> plan.who;
    plan.ttl = milliseconds(ttl);
    plan.every = milliseconds(every);
    for (std::string endpoint; words >> endpoint;) plan.endpoints.push_back(endpoint);
    fetcher_.emplace(holt_, plan);
    return "fetching";
  }

  std::optional<std::string> of_fetcher(std::string const& command, std::istringstream& words) {
    if (command == "await_poll") return await_poll(words);
    if (command == "polls") return std::to_string(fetcher_->polls());
    if (command == "owned") return std::to_string(fetcher_->owned().size());
    if (command == "keep") {
      std::string endpoint;
      int patience = 0;
      words >> endpoint >> patience;
      return told_of(fetcher_->keep(endpoint, milliseconds(patience)));
    }
    if (command == "kept") return told_of(fetcher_->kept());
    if (command == "let_go") {
      fetcher_->let_go();
      return "done";
    }
    if (command == "stop_fetching") return fetcher_->stop() ? "stopped" : "late";
    if (command == "mistakes") {
      auto const mistakes = fetcher_->mistakes();
      return mistakes.empty() ? "none" : mistakes;
    }
    return std::nullopt;
  }

  std::string await_poll(std::istringstream& words) {
    std::string endpoint;
    int patience = 0;
    words >> endpoint >> patience;
    auto const fence = fetcher_->next_poll(endpoint, milliseconds(patience));
    return fence ? "polled " + fence->decimal() : "none";
  }

  std::string work(std::istringstream& words) {
    Doer::Plan plan;
    int ttl = 0;
    words >> plan.queue >> ttl >> plan.concurrency >> plan.ledger >> plan.who;
    plan.ttl = milliseconds(ttl);
    doer_.emplace(holt_, plan);
    return "working";
  }

  std::string stop_working(std::istringstream& words) {
    int patience = 0;
    words >> patience;
    return doer_->stop(milliseconds(patience)) ? "stopped" : "late";
  }

  static std::string told_of(std::optional<Fetcher::Kept> const& kept) {
    if (!kept) return "none";
    return "kept " + kept->endpoint + " " + kept->fence.decimal() +
           (kept->held ? " held" : " lost") + (kept->told ? " told" : " untold");
  }

  static std::string cpu() {
    rusage used{};
    ::getrusage(RUSAGE_SELF, &used);
    auto const micros = [](timeval const& time) { return time.tv_sec * 1'000'000 + time.tv_usec; };
    return std::to_string(micros(used.ru_utime) + micros(used.ru_stime));
  }

  Holt holt_;
  std::optional<Lock> lock_;
  std::vector<Lock> many_;
  std::optional<Voter> voter_;
  std::optional<Fetcher> fetcher_;
  std::optional<Doer> doer_;
};

}  // namespace

int serve_commands(std::string const& url) {
  Worker worker(url);
  for (std::string line; std::getline(std::cin, line);) {
    std::istringstream words(line);
    try {
      std::cout << worker.answer(words) << std::endl;
    } catch (std::exception const& error) {
      std::cout << "error " << error.what() << std::endl;
    }
  }
  return 0;
}

}  // namespace holt::test
