// SPDX-License-Identifier: Apache-2.0
// SharedLoop: a loop that its own thread runs, or a caller who waits.

#include "env/shared_loop.hpp"

#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <gtest/gtest.h>

#include <atomic>
#include <future>
#include <memory>
#include <optional>
#include <thread>
#include <vector>

namespace holt {
namespace {

using namespace std::chrono_literals;

/// Visits once and answers on which thread the work was done.
std::thread::id visit(SharedLoop& loop) {
  std::thread::id where;
  loop.host([&](SharedLoop::Task done) {
    asio::post(loop.executor(), [&where, done = std::move(done)]() mutable {
      where = std::this_thread::get_id();
      done();
    });
  });
  return where;
}

/// The same with work that has to wait, as for a server.
std::thread::id patient_visit(SharedLoop& loop) {
  asio::steady_timer timer(loop.executor());
  std::thread::id where;
  loop.host([&](SharedLoop::Task done) {
    asio::post(loop.executor(), [&, done = std::move(done)]() mutable {
      timer.expires_after(2ms);
      timer.async_wait([&where, done = std::move(done)](boost::system::error_code) mutable {
        where = std::this_thread::get_id();
        done();
      });
    });
  });
  return where;
}

/// A caller that is inside until it is let go.
class LongVisit {
 public:
  explicit LongVisit(SharedLoop& loop) {
    thread_ = std::jthread([&loop, this] {
      loop.host([&](SharedLoop::Task done) {
        asio::post(loop.executor(), [this, done = std::move(done)]() mutable {
          done_ = std::move(done);
          inside_.set_value();
        });
      });
    });
    inside_.get_future().wait();
  }
  /// At home only.
  void end() { std::exchange(done_, {})(); }
  [[nodiscard]] std::thread::id thread() const { return thread_.get_id(); }

 private:
  SharedLoop::Task done_;
  std::promise<void> inside_;
  std::jthread thread_;
};

TEST(SharedLoopTest, ItsThreadDoesWhatNobodyWaitsFor) {
  SharedLoop loop;
  std::promise<std::thread::id> where;
  asio::post(loop.executor(), [&] { where.set_value(std::this_thread::get_id()); });
  EXPECT_NE(where.get_future().get(), std::this_thread::get_id());
}

/// Whether it wakes up in time to do so is up to the machine.
TEST(SharedLoopTest, ACallerThatWaitsDoesItsWorkItself) {
  SharedLoop loop;
  bool itself = false;
  for (int i = 0; i < 1000 && !itself; ++i) {
    itself = patient_visit(loop) == std::this_thread::get_id();
  }
  EXPECT_TRUE(itself);
}

TEST(SharedLoopTest, ACallerThatComesAgainSoonFindsItFree) {
  SharedLoop loop;
  bool itself = false;
  for (int i = 0; i < 1000 && !itself; ++i) {
    patient_visit(loop);
    itself = visit(loop) == std::this_thread::get_id();
  }
  EXPECT_TRUE(itself);
}

TEST(SharedLoopTest, WithAttentionItsThreadDoesIt) {
  SharedLoop loop;
  for (int i = 0; i < 10; ++i) visit(loop);
  auto const attention = loop.attention();
  for (int i = 0; i < 10; ++i) EXPECT_NE(visit(loop), std::this_thread::get_id());
}

TEST(SharedLoopTest, WhatComesAfterACallerHasLeftIsDoneWithAndWithoutAttention) {
  SharedLoop loop;
  for (int i = 0; i < 20; ++i) {
    visit(loop);
    std::shared_ptr<void> attention;
    if (i % 2 == 0) attention = loop.attention();
    std::promise<void> done;
    asio::post(loop.executor(), [&] { done.set_value(); });
    EXPECT_EQ(done.get_future().wait_for(10s), std::future_status::ready);
  }
}

TEST(SharedLoopTest, ALongVisitServesShortOnesAndEndsFromThere) {
  SharedLoop loop;
  std::optional<LongVisit> stays(std::in_place, loop);
  for (int i = 0; i < 100; ++i) patient_visit(loop);
  std::optional<LongVisit> follows(std::in_place, loop);
  asio::post(loop.executor(), [&] { stays->end(); });
  stays.reset();
  visit(loop);
  asio::post(loop.executor(), [&] { follows->end(); });
  follows.reset();
  visit(loop);
}

TEST(SharedLoopTest, BesideThoseWhoWaitForLongACallerDoesWhatItBrings) {
  SharedLoop loop;
  std::optional<LongVisit> stays(std::in_place, loop);
  std::optional<LongVisit> too(std::in_place, loop);
  std::this_thread::sleep_for(10ms);
  EXPECT_EQ(visit(loop), std::this_thread::get_id());
  EXPECT_NE(patient_visit(loop), std::this_thread::get_id()) << "what comes back is the runner's";
  asio::post(loop.executor(), [&] {
    stays->end();
    too->end();
  });
}

/// What a caller brings may end the wait of whoever runs the loop, who sleeps there.
TEST(SharedLoopTest, ACallerEndsTheWaitOfTheOneThatRunsIt) {
  SharedLoop loop;
  for (int i = 0; i < 20; ++i) {
    std::optional<LongVisit> stays(std::in_place, loop);
    std::this_thread::sleep_for(3ms);
    loop.host([&](SharedLoop::Task done) {
      asio::post(loop.executor(), [&, done = std::move(done)]() mutable {
        stays->end();
        done();
      });
    });
    stays.reset();
  }
}

TEST(SharedLoopTest, OfManyWhoWaitForLongTheFirstRunsItAndThenTheNext) {
  SharedLoop loop;
  std::vector<std::unique_ptr<LongVisit>> waits;
  for (int i = 0; i < 4; ++i) waits.push_back(std::make_unique<LongVisit>(loop));
  int own = 0;  // whether all pass it on in time is up to the machine
  for (auto const& wait : waits) {
    std::promise<bool> itself;
    std::this_thread::sleep_for(30ms);
    asio::post(loop.executor(), [&] {
      wait->end();
      itself.set_value(std::this_thread::get_id() == wait->thread());
    });
    own += itself.get_future().get() ? 1 : 0;
  }
  EXPECT_GE(own, 1);
}

TEST(SharedLoopTest, OneThreadAtATimeRunsIt) {
  SharedLoop loop;
  constexpr int callers = 6;
  constexpr int visits = 500;
  int count = 0;  // plain on purpose: two at a time would lose some, and sanitizers would tell
  std::vector<std::jthread> threads;
  for (int i = 0; i < callers; ++i) {
    threads.emplace_back([&, i] {
      for (int n = 0; n < visits; ++n) {
        std::shared_ptr<void> attention;
        if (i == 0 && n % 7 == 0) attention = loop.attention();
        loop.host([&](SharedLoop::Task done) {
          asio::post(loop.executor(), [&, done = std::move(done)]() mutable {
            ++count;
            asio::post(loop.executor(), std::move(done));
          });
        });
        if (n % 50 == i) std::this_thread::sleep_for(7ms);  // the thread takes over meanwhile
      }
    });
  }
  threads.clear();
  EXPECT_EQ(count, callers * visits);
}

TEST(SharedLoopTest, AttentionMayOutliveIt) {
  std::shared_ptr<void> attention;
  {
    SharedLoop loop;
    attention = loop.attention();
  }
  attention.reset();
}

TEST(SharedLoopTest, EndsRightAfterAVisitAndDropsWhatIsLeft) {
  for (int i = 0; i < 50; ++i) {
    auto const kept = std::make_shared<int>();
    {
      SharedLoop loop;
      visit(loop);
      asio::post(loop.executor(), [kept] {});
    }
    EXPECT_EQ(kept.use_count(), 1);
  }
}

/// Asio ends a coroutine that is under way by posting what is left of it.
TEST(SharedLoopTest, CoroutinesUnderWayGoWithIt) {
  auto const kept = std::make_shared<int>();
  {
    SharedLoop loop;
    auto const wait = [](std::shared_ptr<int> /*kept*/) -> asio::awaitable<void> {
      auto const executor = co_await asio::this_coro::executor;
      asio::steady_timer timer(executor, 1h);
      co_await timer.async_wait(asio::use_awaitable);
    };
    asio::co_spawn(loop.executor(), wait(kept), [](std::exception_ptr) {});
    visit(loop);
  }
  EXPECT_EQ(kept.use_count(), 1);
}

}  // namespace
}  // namespace holt
