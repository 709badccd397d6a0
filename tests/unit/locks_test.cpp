// SPDX-License-Identifier: Apache-2.0
// Locks: when who waits asks again, on virtual time, to the nanosecond. What a lock promises
// otherwise is tested on every engine (tests/contract) and in the simulator.

#include "primitives/lock.hpp"
#include "support/sim_env.hpp"
#include "unit/obliging_store.hpp"
#include "unit/own_signals.hpp"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <functional>
#include <memory>
#include <vector>

namespace holt {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;

/// Holds one name for somebody else until `end`. A question takes `way` to get here; then it is
/// decided, and answered `commit` later.
class DistantStore final : public ObligingStore {
 public:
  explicit DistantStore(Env& env) : env_(env), began_(env.now()) {}

  Nanos way{};
  Nanos commit{};
  Nanos end{};
  std::uint32_t place = 1;
  std::vector<Nanos> arrivals;  ///< of questions

  asio::awaitable<std::expected<LeaseGrant, Busy>> acquire(LeaseRequest /*request*/,
                                                           Instant /*deadline*/) override {
    co_await pass(way);
    auto const now = env_.now() - began_;
    arrivals.push_back(now);
    co_await pass(commit);
    if (now < end) {
      Busy busy;
      busy.expires_in = std::chrono::ceil<std::chrono::milliseconds>(end - now);
      busy.place = place;
      co_return std::unexpected(std::move(busy));
    }
    LeaseGrant grant;
    grant.fences.emplace_back(7);
    co_return grant;
  }

 private:
  asio::awaitable<void> pass(Nanos span) {
    Event never(env_);
    [[maybe_unused]] bool const woken = co_await never.wait_until(env_.now() + span);
  }

  Env& env_;
  Instant const began_;
};

class LocksTest : public testing::Test {
 protected:
  ~LocksTest() override {
    run(locks_.close());
    run(keeper_.close());
    while (world_.step()) {
    }
  }

  /// Waits for the name until it is had.
  void wait_for_it() { run(wait()); }
  void run(asio::awaitable<void> work) {
    bool done = false;
    asio::co_spawn(env_.executor(), std::move(work), [&](std::exception_ptr error) {
      EXPECT_FALSE(error);
      done = true;
    });
    while (!done && world_.step()) {
    }
    EXPECT_TRUE(done);
  }
  asio::awaitable<void> wait() {
    LockRequest request("x", 300ms);
    request.wait = true;
    request.give_up = env_.now() + 60s;
    request.patience = 10s;
    auto const answer = co_await locks_.acquire(std::move(request));
    EXPECT_TRUE(answer);
    if (answer) keeper_.drop(**answer, LossReason::released);
  }

  sim::World world_{1};
  sim::SimEnv env_{world_, world_.add_node("n"), {}, 1};
  DistantStore store_{env_};
  OwnSignals signals_;
  EventLog log_;
  Keeper keeper_{env_, store_, signals_, log_};
  Locks locks_{env_, store_, signals_, keeper_, log_};
};

// The first question is for the name alone, the second for a place in line.

TEST_F(LocksTest, WhoIsFirstInLineIsThereWhenTheLeaseEndsHoweverLongAnAnswerTakes) {
  store_.way = 3ms;
  store_.commit = 40ms;
  store_.end = 300ms;
  wait_for_it();
  EXPECT_THAT(store_.arrivals, ElementsAre(3ms, 46ms, 300ms));
}

TEST_F(LocksTest, WhoIsThirdInLineComesALittleLater) {
  store_.way = 3ms;
  store_.commit = 40ms;
  store_.end = 300ms;
  store_.place = 3;
  wait_for_it();
  EXPECT_THAT(store_.arrivals, ElementsAre(3ms, 46ms, 302ms));
}

TEST_F(LocksTest, AnAnswerThatComesAfterTheEndIsFollowedByAQuestionAtOnce) {
  store_.way = 3ms;
  store_.commit = 40ms;
  store_.end = 60ms;
  wait_for_it();
  EXPECT_THAT(store_.arrivals, ElementsAre(3ms, 46ms, 89ms));
}

}  // namespace
}  // namespace holt
