// SPDX-License-Identifier: Apache-2.0
// <holt/asio.hpp>: the operations as awaitables on the user's executor, their cancellation, and
// that nothing granted is leaked.

#include <holt/asio.hpp>

#include "support/engines.hpp"

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/experimental/awaitable_operators.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <gtest/gtest.h>

#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <thread>
#include <vector>

namespace holt::test {
namespace {

using namespace std::chrono_literals;
using boost::asio::awaitable;

awaitable<void> sleep_for(std::chrono::milliseconds time) {
  auto const executor = co_await boost::asio::this_coro::executor;
  boost::asio::steady_timer timer(executor, time);
  co_await timer.async_wait(boost::asio::use_awaitable);
}

class AsyncClient : public testing::TestWithParam<EngineUnderTest> {
 protected:
  /// Runs the coroutine on a loop of its own and rethrows what it throws.
  void run(std::function<awaitable<void>()> const& body) {
    std::exception_ptr error;
    boost::asio::co_spawn(io_, body(), [&](std::exception_ptr thrown) { error = thrown; });
    io_.run();
    io_.restart();
    if (error) std::rethrow_exception(error);
  }

  std::unique_ptr<TestStore> store_ = GetParam().make();
  std::string url_ = store_->url();
  Holt holt_ = open(url_);
  AsyncHolt async_{holt_};
  boost::asio::io_context io_;
};

/// Those with a line: a wait by the clock is another test.
std::vector<EngineUnderTest> engines_with_a_line() {
  auto engines = engines_under_test("AsyncClient");
  std::erase_if(engines, [](auto const& engine) { return engine.name.ends_with("_syncguard"); });
  return engines;
}
INSTANTIATE_TEST_SUITE_P(Engines, AsyncClient, testing::ValuesIn(engines_with_a_line()),
                         [](auto const& tested) { return tested.param.name; });

TEST_P(AsyncClient, CopiesANoteThatIsGoneWhenItIsAwaited) {
  run([&]() -> awaitable<void> {
    auto note = std::make_unique<std::string>(100, 'n');
    auto taking = async_.try_lock("a", {.ttl = 10s, .note = *note});
    note.reset();
    auto const lock = co_await std::move(taking);
    EXPECT_TRUE(lock.has_value());
    auto const found = co_await async_.find("a");
    EXPECT_TRUE(found && found->note == std::string(100, 'n'));
  });
}

TEST_P(AsyncClient, TakesAndGivesBackOnTheExecutorOfTheCaller) {
  auto const here = std::this_thread::get_id();
  run([&]() -> awaitable<void> {
    auto lock = co_await async_.try_lock("a", {.ttl = 10s, .note = "async"});
    EXPECT_EQ(std::this_thread::get_id(), here);
    EXPECT_TRUE(lock.has_value());
    if (!lock) co_return;
    EXPECT_TRUE(lock->held());
    auto const found = co_await async_.find("a");
    EXPECT_TRUE(found && found->fence == lock->fence() && found->note == "async");
    auto const summary = co_await async_.lookup("a");
    EXPECT_TRUE(summary && summary->name_hash == Name("a").hash());
    bool const locked = co_await async_.is_locked("a");
    EXPECT_TRUE(locked);
    bool const owned = co_await async_.owns(lock->handle());
    EXPECT_TRUE(owned);
    auto const busy = co_await async_.try_lock("a");
    EXPECT_TRUE(!busy && busy.error().fence == lock->fence());
    auto const extended = co_await async_.extend(*lock, 60s);
    EXPECT_TRUE(extended.has_value());
    auto const page = co_await async_.list();
    EXPECT_EQ(page.leases.size(), 1U);
    std::optional<std::thread::id> told;
    std::stop_callback const on_lost(lock->lost(), [&] { told = std::this_thread::get_id(); });
    auto const released = co_await async_.release(*lock);
    EXPECT_TRUE(released.has_value());
    EXPECT_FALSE(lock->held());
    EXPECT_EQ(told, here) << "not on a thread of ours";
  });
  EXPECT_FALSE(holt_.is_locked("a"));
}

/// Callers that block and coroutines share the engine's loop.
TEST_P(AsyncClient, WaitsBesideCallersThatBlock) {
  auto first = holt_.try_lock("a");
  ASSERT_TRUE(first);
  std::atomic<bool> over = false;
  std::jthread const others([&] {
    for (int i = 0; !over; ++i) static_cast<void>(holt_.try_lock("b" + std::to_string(i % 3)));
  });
  run([&]() -> awaitable<void> {
    for (int i = 0; i < 5; ++i) {
      co_await sleep_for(5ms);
      static_cast<void>(first->release());
      auto lock = co_await async_.lock("a", {.wait = 30s});
      EXPECT_TRUE(lock.has_value());
      if (lock) first = std::move(lock);
    }
  });
  over = true;
}

TEST_P(AsyncClient, ActsOnHandlesAndBreaks) {
  run([&]() -> awaitable<void> {
    auto lock = co_await async_.try_lock("a", {.ttl = 10s});
    if (!lock) throw std::runtime_error("not granted");
    auto const handle = lock->detach();
    auto const extended = co_await async_.extend(handle, 20s);
    EXPECT_TRUE(extended.has_value());
    auto const broken = co_await async_.break_lock("a", "test", {.now = true});
    EXPECT_EQ(broken, BreakResult::freed);
    auto const released = co_await async_.release(handle);
    EXPECT_FALSE(released.has_value());
  });
}

TEST_P(AsyncClient, WaitsInLineWithoutBlockingItsLoop) {
  auto first = holt_.try_lock("a");
  ASSERT_TRUE(first);
  int ticks = 0;
  bool got = false;
  boost::asio::co_spawn(
      io_,
      [&]() -> awaitable<void> {
        while (!got) {
          co_await sleep_for(5ms);
          if (++ticks == 10) static_cast<void>(first->release());
        }
      },
      boost::asio::detached);
  run([&]() -> awaitable<void> {
    auto lock = co_await async_.lock("a", {.wait = 30s});
    got = lock.has_value();
    EXPECT_TRUE(got);
    if (!lock) co_return;
    auto const released = co_await async_.release(*lock);
    EXPECT_TRUE(released.has_value());
  });
  EXPECT_GE(ticks, 10) << "the loop went on meanwhile";
}

TEST_P(AsyncClient, AWaitThatIsCancelledLeavesNothingBehind) {
  auto first = holt_.try_lock("a");
  ASSERT_TRUE(first);
  boost::asio::cancellation_signal cancel;
  std::optional<Busy::Why> why;
  boost::asio::co_spawn(
      io_,
      [&]() -> awaitable<void> {
        auto const lock = co_await async_.lock("a", {.wait = 30s});
        if (!lock) why = lock.error().why;
      },
      boost::asio::bind_cancellation_slot(cancel.slot(), boost::asio::detached));
  run([&]() -> awaitable<void> {
    for (int i = 0; i < 2000 && holt_.find("a")->waiting == 0; ++i) co_await sleep_for(5ms);
    cancel.emit(boost::asio::cancellation_type::terminal);
  });
  EXPECT_EQ(why, Busy::Why::cancelled);
  EXPECT_EQ(holt_.find("a")->waiting, 0U);
}

TEST_P(AsyncClient, ATimeOutOfTheUserEndsTheWait) {
  using namespace boost::asio::experimental::awaitable_operators;
  auto first = holt_.try_lock("a");
  ASSERT_TRUE(first);
  run([&]() -> awaitable<void> {
    auto const which = co_await (async_.lock("a", {.wait = 30s}) || sleep_for(50ms));
    EXPECT_EQ(which.index(), 1U);
  });
  EXPECT_EQ(holt_.find("a")->waiting, 0U);
}

TEST_P(AsyncClient, WhatIsGrantedToALoopThatIsGoneIsGivenBack) {
  auto first = holt_.try_lock("a");
  ASSERT_TRUE(first);
  {
    boost::asio::io_context gone;
    boost::asio::co_spawn(
        gone,
        [](AsyncHolt async) -> awaitable<void> {
          auto const lock = co_await async.lock("a", {.wait = 30s});
          ADD_FAILURE() << "the loop never ran again";
        }(async_),
        boost::asio::detached);
    for (int i = 0; i < 2000 && holt_.find("a")->waiting == 0; ++i) gone.run_for(5ms);
    ASSERT_TRUE(first->release());
    for (int i = 0; i < 2000 && (!holt_.find("a") || holt_.find("a")->offered); ++i) {
      std::this_thread::sleep_for(5ms);
    }
    ASSERT_TRUE(holt_.is_locked("a")) << "granted, and the answer lies in the loop";
  }
  for (int i = 0; i < 2000 && holt_.is_locked("a"); ++i) std::this_thread::sleep_for(5ms);
  EXPECT_FALSE(holt_.is_locked("a"));
}

TEST_P(AsyncClient, ALoopThatGoesEndsItsWaits) {
  auto const first = holt_.try_lock("a");
  ASSERT_TRUE(first);
  for (int i = 0; i < 20; ++i) {
    boost::asio::io_context gone;
    boost::asio::co_spawn(
        gone,
        [](AsyncHolt async) -> awaitable<void> {
          auto const lock = co_await async.lock("a", {.wait = 30s});
          ADD_FAILURE() << "the loop never ran again";
        }(async_),
        boost::asio::detached);
    for (int n = 0; n < 2000 && holt_.find("a")->waiting == 0; ++n) gone.run_for(5ms);
    if (i % 2 == 1) gone.poll();
  }
  EXPECT_EQ(holt_.find("a")->waiting, 0U);
}

TEST_P(AsyncClient, WrongInputAndAClosedClientAreThrownWhenAwaited) {
  run([&]() -> awaitable<void> {
    bool refused = false;
    try {
      auto const lock = co_await async_.try_lock("a", {.ttl = 1ms});
    } catch (InvalidArgument const&) {
      refused = true;
    }
    EXPECT_TRUE(refused);
    holt_.close();
    bool aborted = false;
    try {
      auto const lock = co_await async_.try_lock("a");
    } catch (EngineError const& error) {
      aborted = error.code() == ErrorCode::aborted;
    }
    EXPECT_TRUE(aborted);
  });
}

TEST_P(AsyncClient, TriesAgainByTheClock) {
  auto first = holt_.try_lock("a");
  ASSERT_TRUE(first);
  run([&]() -> awaitable<void> {
    auto const busy = co_await async_.retry_lock(
        "a", {}, {.attempts = 3, .delay = 1ms, .backoff = Backoff::fixed, .jitter = Jitter::none});
    EXPECT_TRUE(!busy && busy.error().why == Busy::Why::timed_out);
  });
  EXPECT_EQ(holt_.find("a")->waiting, 0U);
}

/// The client may go while a call of a coroutine is under way: the call keeps it.
TEST_P(AsyncClient, ACallKeepsItsClient) {
  std::optional<std::expected<Lock, Busy>> answer;
  boost::asio::co_spawn(
      io_,
      [](Holt holt, std::optional<std::expected<Lock, Busy>>* to) -> awaitable<void> {
        auto lock = co_await AsyncHolt(std::move(holt)).try_lock("z");
        to->emplace(std::move(lock));
      }(open(url_), &answer),
      boost::asio::detached);
  io_.run();
  ASSERT_TRUE(answer && *answer);
  EXPECT_TRUE((*answer)->held());
  answer.reset();
  EXPECT_FALSE(holt_.is_locked("z"));
}

TEST_P(AsyncClient, ManyAtOnceFromSeveralThreads) {
  constexpr int count = 400;
  std::atomic<int> taken = 0;
  for (int i = 0; i < count; ++i) {
    boost::asio::co_spawn(
        io_,
        [](AsyncHolt async, int number, std::atomic<int>* done) -> awaitable<void> {
          auto lock = co_await async.lock("n" + std::to_string(number % 40), {.wait = 30s});
          if (!lock) co_return;
          auto const released = co_await async.release(*lock);
          if (released) ++*done;
        }(async_, i, &taken),
        boost::asio::detached);
  }
  std::vector<std::jthread> threads;
  for (int i = 0; i < 3; ++i) threads.emplace_back([this] { io_.run(); });
  threads.clear();
  EXPECT_EQ(taken, count);
  EXPECT_TRUE(holt_.list().leases.empty());
}

}  // namespace
}  // namespace holt::test
