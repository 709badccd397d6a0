// SPDX-License-Identifier: Apache-2.0
#pragma once
// Batch: calls of one kind that go to the server together. The first goes at once; those that come
// while as many statements are under way as there are connections wait, and go with the next one,
// so they share its commit. Callers of one that has landed often come back at once: with a time to
// linger the next one waits so long for them, or some would be in each statement and the others
// wait for it; where they do not come, less and less often. If one of them cannot be decided
// because somebody keeps a lock, or is past a limit, each is sent again alone: nobody waits for
// what another is kept from, nor is refused what another may not have. On Env::executor().

#include "base/comeback.hpp"
#include "contracts/env.hpp"
#include "engines/postgres/errors.hpp"

#include <holt/error.hpp>

#include <boost/asio/async_result.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <algorithm>
#include <chrono>
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace holt::postgres {

/// `Result` is default constructible. `Run` sends the requests as one statement and answers as many
/// results, in the same order.
template <class Request, class Result>
class Batch {
 public:
  using Run =
      std::function<asio::awaitable<std::vector<Result>>(std::vector<Request>, Instant deadline)>;
  using Weight = std::size_t (*)(Request const& request);

  /// At most `most` in one statement, by their weights, and `at_once` statements at a time.
  Batch(Env& env, std::string operation, std::size_t most, int at_once, Weight weight, Run run,
        std::chrono::microseconds linger = {})
      : state_(std::make_shared<State>(env, std::move(operation), most, at_once, weight,
                                       std::move(run), linger)) {}
  /// Whoever waits hears nothing any more: the pool is closed first, which ends all that runs.
  ~Batch() { state_->run = nullptr; }
  Batch(Batch const&) = delete;
  Batch& operator=(Batch const&) = delete;

  /// Throws EngineError: what the statement failed with, or a time-out of this request's own.
  asio::awaitable<Result> call(Request request, Instant deadline) {
    auto initiate = [](auto handler, State* state, Request* asked, Instant until) {
      Entry entry{std::move(*asked), until, {}, false};
      entry.done = [handler = std::move(handler)](std::exception_ptr error, Result result) mutable {
        std::move(handler)(std::move(error), std::move(result));
      };
      state->add(std::move(entry));
    };
    Result result = co_await asio::async_initiate<asio::use_awaitable_t<> const,
                                                  void(std::exception_ptr, Result)>(
        initiate, asio::use_awaitable, state_.get(), &request, deadline);
    co_return result;
  }

 private:
  struct Entry {
    Request request;
    Instant deadline;
    std::move_only_function<void(std::exception_ptr, Result)> done;  ///< empty: given up
    bool alone;                                                      ///< not with others again
  };
  using Group = std::vector<Entry>;

  struct State : std::enable_shared_from_this<State> {
    State(Env& of, std::string what, std::size_t up_to, int statements, Weight how_heavy, Run how,
          std::chrono::microseconds how_long)
        : env(of),
          operation(std::move(what)),
          most(up_to),
          at_once(statements),
          weight(how_heavy),
          run(std::move(how)),
          linger(how_long) {}

    void add(Entry entry) {
      watch(entry.deadline);
      waiting.push_back(std::move(entry));
      if (comeback.awaits()) {
        if (!comeback.all(waiting.size())) return;
        env.cancel(alarm_of_comeback);
        end_comeback();
        return;
      }
      if (std::exchange(pumping, true)) return;
      // Whoever else asks in this turn of the loop comes along.
      asio::post(env.executor(), [self = this->shared_from_this()] {
        self->pumping = false;
        self->pump();
      });
    }

    void wait_for_comeback() {
      lingers_until = env.now() + linger;
      alarm_of_comeback = env.call_at(lingers_until, [weak = this->weak_from_this()] {
        auto const self = weak.lock();
        if (self && self->comeback.awaits() && self->env.now() >= self->lingers_until) {
          self->end_comeback();
        }
      });
    }

    void end_comeback() {
      comeback.end(waiting.size());
      pump();
    }

    /// Who lingers wants one statement with all callers. Another one goes beside it for those who
    /// are more than it has; and beside one that has a single caller, for whom it may wait for
    /// long.
    [[nodiscard]] bool may_send() const {
      if (running >= at_once || waiting.empty()) return false;
      return linger.count() == 0 || waiting.size() > sharers_under_way || waiting.front().alone;
    }

    static std::size_t sharers(Group const& group) { return group.size() > 1 ? group.size() : 0; }

    void pump() {
      while (run && !comeback.awaits() && may_send()) {
        auto group = std::make_shared<Group>();
        std::size_t sum = 0;
        while (!waiting.empty()) {
          auto const& next = waiting.front();
          sum += weight(next.request);
          bool const fits = sum <= most && !next.alone && (group->empty() || !group->front().alone);
          if (!fits && !group->empty()) break;
          group->push_back(std::move(waiting.front()));
          waiting.pop_front();
        }
        send(std::move(group));
      }
    }

    void send(std::shared_ptr<Group> group) {
      ++running;
      sharers_under_way += sharers(*group);
      groups.push_back(group);
      std::vector<Request> requests;
      requests.reserve(group->size());
      auto deadline = Instant::min();
      for (auto const& entry : *group) {
        requests.push_back(entry.request);
        deadline = std::max(deadline, entry.deadline);
      }
      asio::co_spawn(env.executor(), run(std::move(requests), deadline),
                     [self = this->shared_from_this(), group](std::exception_ptr error,
                                                              std::vector<Result> results) {
                       self->deliver(*group, error, std::move(results));
                     });
    }

    void deliver(Group& group, std::exception_ptr const& error, std::vector<Result> results) {
      --running;
      sharers_under_way -= sharers(group);
      std::erase_if(groups, [&](auto const& one) { return one.get() == &group; });
      if (error && group.size() > 1 && is_about_one(error)) {
        for (auto& entry : group) {
          entry.alone = true;
          waiting.push_back(std::move(entry));
        }
        pump();
        return;
      }
      results.resize(group.size());
      if (linger.count() > 0 && comeback.begin(group.size(), waiting.size())) wait_for_comeback();
      for (std::size_t i = 0; i < group.size(); ++i) {
        if (auto done = std::exchange(group[i].done, nullptr)) done(error, std::move(results[i]));
      }
      pump();
    }

    static bool is_about_one(std::exception_ptr const& error) {
      try {
        std::rethrow_exception(error);
      } catch (EngineError const& thrown) {
        auto const state = state_of(thrown);
        return state == lock_not_available || state == limit_exceeded;
      } catch (...) {
        return false;
      }
    }

    // One timer, for the earliest deadline that was asked for.
    void watch(Instant deadline) {
      if (deadline >= alarm) return;
      alarm = deadline;
      env.call_at(deadline, [weak = this->weak_from_this(), deadline] {
        auto const self = weak.lock();
        if (!self || self->alarm != deadline) return;
        self->alarm = Instant::max();
        self->look_at_clock();
      });
    }

    void look_at_clock() {
      auto const now = env.now();
      auto next = Instant::max();
      std::vector<std::pair<Entry, Outcome>> late;
      auto const look = [&](Entry& entry, Outcome outcome) {
        if (!entry.done) return;
        if (entry.deadline > now) {
          next = std::min(next, entry.deadline);
          return;
        }
        late.emplace_back(
            Entry{entry.request, entry.deadline, std::exchange(entry.done, nullptr), true},
            outcome);
      };
      for (auto const& group : groups) {
        for (auto& entry : *group) look(entry, Outcome::unknown);
      }
      for (auto& entry : waiting) look(entry, Outcome::not_applied);
      std::erase_if(waiting, [](Entry const& entry) { return !entry.done; });
      if (next != Instant::max()) watch(next);
      for (auto& [entry, outcome] : late) {
        entry.done(std::make_exception_ptr(failed(ErrorCode::network_timeout, outcome, operation,
                                                  "no answer from the server in time",
                                                  "is the server overloaded, or away?")),
                   Result());
      }
    }

    Env& env;
    std::string const operation;
    std::size_t const most;
    int const at_once;
    Weight const weight;
    Run run;
    std::chrono::microseconds const linger;
    Comeback comeback;
    Instant lingers_until;
    Env::TimerId alarm_of_comeback{};
    int running = 0;
    std::size_t sharers_under_way = 0;
    bool pumping = false;
    std::deque<Entry> waiting;
    std::vector<std::shared_ptr<Group>> groups;  ///< under way
    Instant alarm = Instant::max();
  };

  std::shared_ptr<State> state_;
};

}  // namespace holt::postgres
