// SPDX-License-Identifier: Apache-2.0
#pragma once
// FaultyLink: one node's way to the store's machine, with everything that can happen on it. A
// request and its reply travel as events of their own, so a paused or dead node's request may still
// be applied. What travels are the calls of FaultyLeaseStore and FaultyRecordStore.

#include "contracts/env.hpp"
#include "primitives/event.hpp"
#include "sim/options.hpp"
#include "support/sim_env.hpp"

#include <holt/error.hpp>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>

#include <algorithm>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace holt::sim {

class FaultyLink {
 public:
  /// Asks the store, on its machine.
  template <class Answer>
  using Request = std::function<asio::awaitable<Answer>(Instant deadline)>;

  FaultyLink(SimEnv& node, SimEnv& store_env, FaultOptions const& faults, std::uint64_t seed);

  /// Throws EngineError for what went wrong on the way, and what the store throws.
  template <class Answer>
  asio::awaitable<Answer> call(std::string operation, Request<Answer> request, Instant deadline);

  /// Called with each request that leaves.
  void on_call(std::function<void()> callback) { on_call_ = std::move(callback); }
  /// Nothing gets through, either way, until it is cleared.
  void cut(bool off) { cut_ = off; }
  /// The node has crashed: its calls fail at once, nothing is sent any more.
  void unplug() { unplugged_ = true; }
  /// And so has the store: what was on its way is lost, what it still decides counts for nothing.
  void lose_store() { store_lost_ = true; }
  [[nodiscard]] bool store_lost() const { return store_lost_; }
  /// From here on only ordinary delays.
  void heal() {
    faults_ = FaultOptions{};
    last_arrival_ = {};  // a new connection
  }
  /// Requests that the store has not finished with.
  [[nodiscard]] int under_way() const { return under_way_; }

  [[nodiscard]] World& world() const { return world_; }
  [[nodiscard]] SimEnv const& node() const { return node_; }
  void say(std::string_view text) { world_.say(node_.node(), text); }

 private:
  enum class Fate { fine, refused, lost, reply_lost, reset };
  struct Plan {
    Fate fate = Fate::fine;
    bool repeated = false;
    bool copy = false;     ///< the second of two: comes whenever it likes
    bool patient = false;  ///< the store does not know when the caller gives up
    Nanos there{};
    Nanos back{};
  };
  /// One request and its reply, shared by both ends.
  template <class Answer>
  struct Exchange {
    Exchange(Env& env, std::string what, Request<Answer> how, Nanos for_how_long)
        : operation(std::move(what)), request(std::move(how)), budget(for_how_long), arrived(env) {}

    std::string operation;
    Request<Answer> request;
    Nanos budget;
    Event arrived;
    std::optional<Answer> answer;
    std::exception_ptr error;
  };

  Plan draw();
  Nanos draw_delay();
  Nanos arrival_of(Plan const& plan);
  Nanos time_at_store(Plan const& plan, Nanos budget) const;
  static std::exception_ptr broken(ErrorCode code, Outcome outcome, std::string_view operation);
  template <class Answer>
  void send(std::shared_ptr<Exchange<Answer>> exchange, Plan plan);
  template <class Answer>
  asio::awaitable<void> serve(std::shared_ptr<Exchange<Answer>> exchange, Plan plan);
  template <class Answer>
  void reply(std::shared_ptr<Exchange<Answer>> exchange, Plan plan, std::optional<Answer> answer,
             std::exception_ptr error);

  SimEnv& node_;
  SimEnv& store_env_;
  World& world_;
  FaultOptions faults_;
  Random random_;
  std::function<void()> on_call_;
  bool cut_ = false;
  bool unplugged_ = false;
  bool store_lost_ = false;
  int under_way_ = 0;
  Nanos last_arrival_{};  ///< at the store, of what was sent in order
};

template <class Answer>
asio::awaitable<Answer> FaultyLink::call(std::string operation, Request<Answer> request,
                                         Instant deadline) {
  if (unplugged_)
    std::rethrow_exception(broken(ErrorCode::aborted, Outcome::not_applied, operation));
  if (on_call_) on_call_();
  auto plan = draw();
  auto exchange = std::make_shared<Exchange<Answer>>(node_, operation, std::move(request),
                                                     deadline - node_.now());
  if (cut_) plan.fate = Fate::lost;
  if (plan.fate == Fate::refused) {
    reply(exchange, plan, {},
          broken(ErrorCode::service_unavailable, Outcome::not_applied, operation));
  } else if (plan.fate != Fate::lost) {
    send(exchange, plan);
  }
  if (plan.repeated && plan.fate != Fate::refused && !cut_) {
    auto second = plan;
    second.copy = true;
    second.fate = Fate::reply_lost;
    second.there = random_.between(Nanos(1000), std::max(faults_.delay, faults_.slow_delay));
    send(exchange, second);
  }
  bool const arrived = co_await exchange->arrived.wait_until(deadline);
  if (!arrived) {
    say(operation + " timed out");
    std::rethrow_exception(broken(ErrorCode::network_timeout, Outcome::unknown, operation));
  }
  if (exchange->error) std::rethrow_exception(exchange->error);
  co_return std::move(*exchange->answer);
}

template <class Answer>
void FaultyLink::send(std::shared_ptr<Exchange<Answer>> exchange, Plan plan) {
  ++under_way_;
  world_.schedule(store_env_.node(), arrival_of(plan), [this, exchange, plan] {
    if (store_lost_) {
      --under_way_;
      return;
    }
    auto const done = [this](std::exception_ptr error) {
      --under_way_;
      if (error) std::rethrow_exception(error);
    };
    asio::co_spawn(store_env_.executor(), serve(exchange, plan), done);
  });
}

template <class Answer>
asio::awaitable<void> FaultyLink::serve(std::shared_ptr<Exchange<Answer>> exchange, Plan plan) {
  std::optional<Answer> answer;
  std::exception_ptr error;
  auto const deadline = store_env_.now() + time_at_store(plan, exchange->budget);
  try {
    auto got = co_await exchange->request(deadline);
    answer.emplace(std::move(got));
  } catch (EngineError const&) {
    error = std::current_exception();
  }
  if (plan.fate == Fate::reply_lost || cut_ || unplugged_) co_return;
  if (plan.fate == Fate::reset) {
    error = broken(ErrorCode::service_unavailable, Outcome::unknown, exchange->operation);
  }
  reply(exchange, plan, std::move(answer), error);
}

template <class Answer>
void FaultyLink::reply(std::shared_ptr<Exchange<Answer>> exchange, Plan plan,
                       std::optional<Answer> answer, std::exception_ptr error) {
  world_.schedule(node_.node(), world_.now() + plan.back,
                  [exchange, answer = std::move(answer), error]() mutable {
                    if (exchange->answer || exchange->error) return;
                    exchange->answer = std::move(answer);
                    exchange->error = error;
                    exchange->arrived.set();
                  });
}

}  // namespace holt::sim
