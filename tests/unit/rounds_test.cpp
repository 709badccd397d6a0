// SPDX-License-Identifier: Apache-2.0
// Rounds in virtual time: what is due when, and who of those that wait gets it.

#include "primitives/rounds.hpp"

#include "contracts/signal_bus.hpp"
#include "support/sim_env.hpp"
#include "unit/obliging_store.hpp"

#include <holt/error.hpp>

#include <boost/asio/co_spawn.hpp>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <list>
#include <string>
#include <vector>

namespace holt {
namespace {

using namespace std::chrono_literals;

/// Renews everything, or nothing while it is away.
class RenewingStore final : public ObligingStore {
 public:
  bool away = false;

  asio::awaitable<std::vector<std::expected<void, Lost>>> renew(std::vector<LeaseRenewal> renewals,
                                                                Instant /*deadline*/) override {
    if (away) {
      throw EngineError(ErrorCode::service_unavailable, Outcome::not_applied, "test", "renew",
                        "away");
    }
    std::vector<std::expected<void, Lost>> answers(renewals.size());
    co_return answers;
  }
};

class NoSignals final : public SignalBus {
 public:
  [[nodiscard]] std::string const& inbox() const override { return inbox_; }
  void listen() override {}
  [[nodiscard]] bool listening() const override { return false; }
  Delivery send(std::string_view /*inbox*/, Signal const& /*signal*/) override {
    return Delivery::unknown;
  }
  void publish(Signal const& /*signal*/) override {}
  Subscription subscribe(std::string /*topic*/, Handler /*handler*/) override { return 1; }
  void unsubscribe(Subscription /*subscription*/) override {}

 private:
  std::string const inbox_ = "nobody";
};

/// Somebody who waits for a turn.
struct Waiter {
  std::optional<PollTurn> turn;
  bool ended = false;
  Instant at;

  [[nodiscard]] std::string endpoint() const { return turn ? turn->duty->endpoint() : ""; }
};

class RoundsTest : public testing::Test {
 protected:
  static constexpr auto every = 10s;
  static constexpr auto ttl = 60s;

  ~RoundsTest() override {
    rounds_->end();
    while (!std::ranges::all_of(waiters_, &Waiter::ended) && world_.step()) {
    }
    keeper_.drop_all(LossReason::closed);
    bool closed = false;
    asio::co_spawn(env_.executor(), keeper_.close(), [&](std::exception_ptr) { closed = true; });
    while (!closed && world_.step()) {
    }
  }
  std::shared_ptr<Duty> duty(std::string const& endpoint) {
    auto lease = keeper_.keep(Name(endpoint), Owner("here", std::string(22, 'x')), Fence(++fence_),
                              env_.now(), ttl, usual_renewal);
    return std::make_shared<Duty>(env_, endpoint, std::move(lease), Event(env_));
  }
  std::shared_ptr<Duty> add(std::string const& endpoint) {
    auto ours = duty(endpoint);
    rounds_->add(ours);
    return ours;
  }
  Waiter& wait(Nanos patience = 1h, std::stop_token stop = {}) {
    auto& waiter = waiters_.emplace_back();
    auto const done = [this, &waiter](std::exception_ptr error, std::optional<PollTurn> turn) {
      if (error) std::rethrow_exception(error);
      waiter.turn = std::move(turn);
      waiter.ended = true;
      waiter.at = env_.now();
    };
    asio::co_spawn(env_.executor(), rounds_->next(env_.now() + patience, std::move(stop)), done);
    return waiter;
  }
  /// Waits and goes on until it has ended.
  Waiter& next(Nanos patience = 1h) {
    auto& waiter = wait(patience);
    while (!waiter.ended && world_.step()) {
    }
    return waiter;
  }
  void done(Waiter const& waiter) {
    rounds_->done(waiter.turn->duty, waiter.turn->started);
    pass(0s);
  }
  void pass(Nanos time) {
    bool passed = false;
    world_.schedule(node_, world_.now() + time, [&passed] { passed = true; });
    while (!passed) world_.step();
    // What was posted at that moment happens too.
    world_.schedule(node_, world_.now() + 1ms, [&passed] { passed = false; });
    while (passed) world_.step();
  }

  sim::World world_{1};
  sim::NodeId node_ = world_.add_node("node");
  sim::SimEnv env_{world_, node_, {}, 1};
  RenewingStore store_;
  NoSignals signals_;
  EventLog log_;
  Keeper keeper_{env_, store_, signals_, log_};
  std::shared_ptr<Rounds> rounds_ = std::make_shared<Rounds>(env_, every);
  std::list<Waiter> waiters_;
  std::uint64_t fence_ = 0;
};

TEST_F(RoundsTest, WhatIsNewIsDueAtOnceAndThenEverySoOften) {
  auto const ours = add("a");
  auto const start = env_.now();
  auto const& first = next();
  EXPECT_EQ(first.endpoint(), "a");
  EXPECT_LT(first.at - start, 10ms);
  EXPECT_FALSE(ours->idle());
  pass(3s);
  done(first);
  EXPECT_TRUE(ours->idle());
  auto const& second = next();
  EXPECT_EQ(second.endpoint(), "a");
  EXPECT_GE(second.at, first.turn->started + every) << "counted from the start";
  EXPECT_LT(second.at, first.turn->started + every + 10ms);
  done(second);
}

TEST_F(RoundsTest, APollThatTakesLongerIsFollowedAtOnceByTheNextOnlyThen) {
  add("a");
  auto const& first = next();
  auto const& beside = wait();
  pass(3 * every);
  EXPECT_FALSE(beside.ended) << "never two of one endpoint";
  done(first);
  EXPECT_TRUE(beside.ended);
  EXPECT_EQ(beside.endpoint(), "a");
  done(beside);
}

TEST_F(RoundsTest, SeveralWaitersGetOneEach) {
  auto const& first = wait();
  auto const& second = wait();
  auto const& third = wait();
  pass(1s);
  EXPECT_FALSE(first.ended || second.ended || third.ended);
  add("a");
  add("b");
  pass(1s);
  std::vector<std::string> got;
  for (auto const* const waiter : {&first, &second, &third}) {
    if (waiter->ended) got.push_back(waiter->endpoint());
  }
  EXPECT_THAT(got, testing::UnorderedElementsAre("a", "b"));
  add("c");
  pass(1s);
  EXPECT_TRUE(first.ended && second.ended && third.ended);
  for (auto const& waiter : waiters_) done(waiter);
}

TEST_F(RoundsTest, AWaiterThatGivesUpLeavesTheHintToTheNext) {
  std::stop_source stop;
  auto const& cancelled = wait(1h, stop.get_token());
  auto const& impatient = wait(1s);
  auto const& patient = wait();
  pass(100ms);
  add("a");  // wakes the first, who is told to stop before it looks
  stop.request_stop();
  pass(500ms);
  EXPECT_TRUE(cancelled.ended);
  int got = 0;
  for (auto const& waiter : waiters_) got += waiter.turn ? 1 : 0;
  EXPECT_EQ(got, 1);
  add("b");
  pass(2s);
  EXPECT_TRUE(impatient.ended);
  EXPECT_TRUE(patient.ended);
  got = 0;
  for (auto const& waiter : waiters_) got += waiter.turn ? 1 : 0;
  EXPECT_EQ(got, 2) << "nothing is forgotten";
  for (auto const& waiter : waiters_) {
    if (waiter.turn) done(waiter);
  }
}

TEST_F(RoundsTest, GivesUpInTime) {
  auto const start = env_.now();
  auto const& waiter = next(2s);
  EXPECT_FALSE(waiter.turn);
  EXPECT_GE(waiter.at, start + 2s);
  EXPECT_LT(waiter.at, start + 2s + 10ms);
}

TEST_F(RoundsTest, WhatIsUncertainIsPassedOverUntilItIsNot) {
  auto const ours = add("a");
  auto const& first = next();
  store_.away = true;
  while (ours->lease().confirmed()) pass(1s);
  EXPECT_TRUE(ours->held());
  done(first);
  auto const& waiter = wait();
  pass(5s);
  EXPECT_FALSE(waiter.ended) << "it is due, and nobody can confirm it";
  EXPECT_TRUE(ours->idle());
  add("b");
  pass(1s);
  EXPECT_EQ(waiter.endpoint(), "b") << "others are not held up";
  done(waiter);
  store_.away = false;
  auto const& again = next();
  EXPECT_EQ(again.endpoint(), "a");
  EXPECT_TRUE(ours->lease().confirmed());
  done(again);
}

TEST_F(RoundsTest, WhatIsLostIsNotPolled) {
  auto const ours = add("a");
  keeper_.drop(ours->lease(), LossReason::expired);
  EXPECT_FALSE(next(30s).turn);
  ours->end();
  EXPECT_FALSE(next(30s).turn);
}

TEST_F(RoundsTest, WhatHasEndedOrIsRemovedIsNotPolledAgain) {
  auto const ended = add("a");
  ended->end();
  auto const removed = add("b");
  rounds_->remove(*removed);
  EXPECT_FALSE(next(30s).turn);
  auto const moving = add("c");
  auto const& poll = next();
  EXPECT_EQ(poll.endpoint(), "c");
  moving->end();
  done(poll);
  EXPECT_FALSE(next(30s).turn) << "not after the poll that was in flight either";
}

TEST_F(RoundsTest, AtTheEndNobodyWaitsAndNothingIsLeft) {
  auto const& first = wait();
  auto const& second = wait();
  pass(1s);
  rounds_->end();
  pass(1ms);
  EXPECT_TRUE(first.ended && second.ended);
  EXPECT_FALSE(first.turn || second.turn);
  EXPECT_FALSE(next().turn) << "nor later";
  rounds_->begin();
  EXPECT_FALSE(next(30s).turn) << "what there was before has gone";
  add("a");
  auto const& poll = next();
  EXPECT_EQ(poll.endpoint(), "a");
  rounds_->end();
  rounds_->begin();
  poll.turn->duty->end();
  done(poll);
  EXPECT_FALSE(next(30s).turn) << "a poll of before does not come back";
}

}  // namespace
}  // namespace holt
