// SPDX-License-Identifier: Apache-2.0
// Candidate: calls that come at the wrong moment. The store is a puppet, so that the moment can be
// chosen; what an election promises otherwise is tested on every engine (tests/contract).

#include "env/real_env.hpp"
#include "primitives/election.hpp"
#include "unit/obliging_store.hpp"
#include "unit/own_signals.hpp"

#include <holt/error.hpp>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/use_future.hpp>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <future>
#include <memory>
#include <string>
#include <thread>
#include <vector>

namespace holt {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::HasSubstr;

/// Grants whatever is asked for, when it is told to; or has the asker first in line.
class PuppetStore final : public ObligingStore {
 public:
  explicit PuppetStore(Env& env) : gate_(env) {}

  std::atomic<bool> hesitates = false;
  std::atomic<bool> busy = false;
  std::atomic<bool> fails = false;
  std::atomic<std::int32_t> priority = 0;  ///< of who asked last
  std::atomic<int> asked = 0;
  std::atomic<int> released = 0;
  void answer() { gate_.set(); }

  asio::awaitable<std::expected<LeaseGrant, Busy>> acquire(LeaseRequest request,
                                                           Instant /*deadline*/) override {
    priority = request.priority;
    auto const fence = static_cast<std::uint64_t>(++asked);
    if (hesitates) {
      [[maybe_unused]] bool const told = co_await gate_.wait_until(Instant::max());
    }
    if (fails) {
      throw EngineError(ErrorCode::auth_failed, Outcome::not_applied, "puppet", "acquire",
                        "nobody may", "ask somebody");
    }
    if (busy) {
      Busy told;
      told.expires_in = 60s;
      told.place = 1;
      co_return std::unexpected(std::move(told));
    }
    LeaseGrant grant;
    grant.fences.emplace_back(fence);
    co_return grant;
  }
  asio::awaitable<std::expected<void, Lost>> release(Name /*name*/, Owner /*owner*/,
                                                     Instant /*deadline*/) override {
    ++released;
    std::expected<void, Lost> done;
    co_return done;
  }

 private:
  Event gate_;
};

class CandidateTest : public testing::Test {
 protected:
  CandidateTest() {
    on_executor([this] {
      candidate_.events().add(
          [this](ElectionEvent const& event) {
            if (event.kind == ElectionEventKind::leadership_acquired) ++terms_begun_;
          },
          Election::Listen::in_turn);
    });
  }
  ~CandidateTest() override {
    wait(candidate_.stop(soon()));
    wait(candidate_.close());
    wait(locks_.close());
    wait(keeper_.close());
  }

  static Candidacy candidacy() {
    Candidacy made("election/e", "me", 60s);
    made.patience = 10s;
    return made;
  }
  Instant soon() { return env_.now() + 30s; }
  template <class T>
  std::future<T> spawn(asio::awaitable<T> work) {
    return asio::co_spawn(env_.executor(), std::move(work), asio::use_future);
  }
  template <class T>
  T wait(asio::awaitable<T> work) {
    return spawn(std::move(work)).get();
  }
  void on_executor(std::function<void()> work) {
    std::promise<void> done;
    asio::post(env_.executor(), [&] {
      work();
      done.set_value();
    });
    done.get_future().get();
  }
  template <class Condition>
  static bool comes_true(Condition const& condition) {
    for (int i = 0; i < 6000; ++i) {
      if (condition()) return true;
      std::this_thread::sleep_for(5ms);
    }
    return false;
  }
  bool leads_in(std::uint64_t term) {
    return comes_true([&] {
      auto const lease = candidate_.leading();
      return lease && lease->fence() == Fence(term);
    });
  }

  RealEnv env_;
  PuppetStore store_{env_};
  OwnSignals signals_;
  EventLog log_;
  Keeper keeper_{env_, store_, signals_, log_};
  Locks locks_{env_, store_, signals_, keeper_, log_};
  std::atomic<int> terms_begun_ = 0;
  Candidate candidate_{env_, locks_, keeper_, signals_, candidacy()};
};

TEST_F(CandidateTest, AGrantThatComesAfterAStopBeginsNoTerm) {
  store_.hesitates = true;
  on_executor([this] { candidate_.start(); });
  ASSERT_TRUE(comes_true([&] { return store_.asked == 1; }));
  auto stopped = spawn(candidate_.stop(soon()));
  on_executor([] {});  // by now it is stopping
  store_.answer();
  EXPECT_EQ(stopped.get(), Resignation::not_leader);
  EXPECT_EQ(store_.released, 1);
  EXPECT_EQ(terms_begun_, 0);
  EXPECT_EQ(candidate_.state(), ElectionState::follower);
}

TEST_F(CandidateTest, AStartDuringAStopBeginsANewTermAndDoesNotHideInTheOld) {
  on_executor([this] { candidate_.start(); });
  ASSERT_TRUE(leads_in(1));
  on_executor([this] {
    asio::co_spawn(env_.executor(), candidate_.stop(env_.now()), asio::detached);
    candidate_.start();
  });
  EXPECT_TRUE(leads_in(2));
  EXPECT_EQ(store_.released, 1);
}

TEST_F(CandidateTest, AFailedElectionIsToldWithItsCauseAndTriedAgain) {
  struct Diary {
    std::vector<std::string> told;
    std::promise<void> failed;
    bool complete = false;
  };
  auto const diary = std::make_shared<Diary>();  // who is told outlives this function
  on_executor([&] {
    candidate_.events().add(
        [diary](ElectionEvent const& event) {
          if (diary->complete) return;
          diary->told.emplace_back(to_string(event.kind));
          diary->told.emplace_back(to_string(event.now));
          if (event.kind != ElectionEventKind::election_failed) return;
          diary->told.push_back(event.cause);
          diary->complete = true;
          diary->failed.set_value();
        },
        Election::Listen::in_turn);
  });
  store_.fails = true;
  on_executor([this] { candidate_.start(); });
  diary->failed.get_future().get();
  EXPECT_THAT(diary->told, ElementsAre("state_changed", "candidate", "state_changed", "follower",
                                       "election_failed", "follower", HasSubstr("nobody may")));
  store_.fails = false;
  EXPECT_TRUE(comes_true([&] { return candidate_.leading() != nullptr; }));
}

TEST_F(CandidateTest, AWishIsNotAnsweredWithWhatCameOfTheOneBefore) {
  on_executor([this] { candidate_.start(); });
  ASSERT_TRUE(leads_in(1));
  auto first = spawn(candidate_.resign("nobody", soon()));
  on_executor([] {});
  auto second = spawn(candidate_.resign("", soon()));
  EXPECT_EQ(second.get(), Resignation::done);
  EXPECT_EQ(first.get(), Resignation::late);
  EXPECT_TRUE(leads_in(2));
}

TEST_F(CandidateTest, AWishToResignThatIsSaidAgainEndsNoLaterTerm) {
  Signal const wish{std::string(topic::resign), "election/e\n\n1"};
  on_executor([this] { candidate_.start(); });
  ASSERT_TRUE(leads_in(1));
  signals_.publish(wish);
  ASSERT_TRUE(leads_in(2));
  signals_.publish(wish);
  for (int i = 0; i < 100; ++i) on_executor([] {});  // heard by now, and done what it says
  EXPECT_TRUE(leads_in(2));
  EXPECT_EQ(store_.released, 1);
}

TEST_F(CandidateTest, WhoIsCalledToTheFrontSaysSoFromThereAndNotFromThePlaceItLeaves) {
  std::promise<std::int32_t> ready;
  auto ready_with = ready.get_future();
  auto const heard = signals_.subscribe(std::string(topic::ready),
                                        [&](Signal const&) { ready.set_value(store_.priority); });
  store_.busy = true;
  on_executor([this] { candidate_.start(); });
  ASSERT_TRUE(comes_true([&] { return store_.asked == 2; }));  // and has a place
  store_.hesitates = true;
  signals_.publish({std::string(topic::offer), ""});
  ASSERT_TRUE(comes_true([&] { return store_.asked == 3; }));
  signals_.publish({std::string(topic::front), "election/e\nme\nleader"});
  on_executor([] {});  // heard by now
  store_.hesitates = false;
  store_.answer();
  EXPECT_LT(ready_with.get(), LeaseRequest::usual_priority);
  signals_.unsubscribe(heard);
}

TEST_F(CandidateTest, AStopEndsAWaitForASuccessorAndIsItsAnswer) {
  on_executor([this] { candidate_.start(); });
  ASSERT_TRUE(leads_in(1));
  auto resigned = spawn(candidate_.resign("nobody", soon()));
  on_executor([] {});
  EXPECT_EQ(wait(candidate_.stop(soon())), Resignation::done);
  EXPECT_EQ(resigned.get(), Resignation::done);
}

}  // namespace
}  // namespace holt
