// SPDX-License-Identifier: Apache-2.0
// Elections of <holt/asio.hpp>: leaderships and events as awaitables on the user's executor, their
// cancellation, and that a stream in turn keeps the next leader waiting.

#include "support/temporary_folder.hpp"

#include <holt/asio.hpp>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/experimental/awaitable_operators.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <gtest/gtest.h>

#include <functional>
#include <thread>
#include <tuple>
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

class AsyncElections : public testing::Test {
 protected:
  /// Runs the coroutine, and all that it has started, and rethrows what it throws.
  void run(std::function<awaitable<void>()> const& body) {
    std::exception_ptr error;
    boost::asio::co_spawn(io_, body(), [&](std::exception_ptr thrown) { error = thrown; });
    io_.run();
    io_.restart();
    if (error) std::rethrow_exception(error);
  }
  /// Until somebody leads and so many are in line; fails when that does not come.
  awaitable<void> line_of(std::uint32_t count) {
    for (int i = 0; i < 8000; ++i) {
      auto const leader = co_await async_.leader("e");
      if (leader && !leader->offered && leader->candidates == count) co_return;
      co_await sleep_for(5ms);
    }
    ADD_FAILURE() << "never were so many in line: " << count;
  }

  TemporaryFolder folder_;
  std::string url_ = "sqlite://" + folder_.file("holt.db");
  Holt holt_ = open(url_);
  AsyncHolt async_{holt_};
  boost::asio::io_context io_;
};

TEST_F(AsyncElections, LeadsAndStopsOnTheExecutorOfTheCaller) {
  auto const here = std::this_thread::get_id();
  run([&]() -> awaitable<void> {
    auto election = async_.election("e", {.id = "me", .ttl = 60s});
    co_await election.start();
    auto const begun = co_await election.leadership();
    EXPECT_EQ(std::this_thread::get_id(), here);
    EXPECT_TRUE(begun && election.is_leader() && begun->term == election.term());
    if (!begun) co_return;
    EXPECT_FALSE(begun->stop.stop_requested());
    auto const again = co_await election.leadership();
    EXPECT_TRUE(again && again->term == begun->term) << "at once: it leads";
    auto const leader = co_await async_.leader("e");
    EXPECT_TRUE(leader && leader->id == "me" && leader->term == begun->term);
    auto const how = co_await election.stop();
    EXPECT_EQ(how, Resignation::done);
    EXPECT_FALSE(election.is_leader());
    for (int i = 0; i < 2000 && !begun->stop.stop_requested(); ++i) co_await sleep_for(5ms);
    EXPECT_TRUE(begun->stop.stop_requested());
    co_await election.start();
    auto const next = co_await election.leadership();
    EXPECT_TRUE(next && next->term > begun->term);
    auto const stopped = co_await election.stop();
    EXPECT_EQ(stopped, Resignation::done);
  });
  EXPECT_FALSE(holt_.leader("e"));
}

TEST_F(AsyncElections, AwaitsItsTurnWithoutBlockingItsLoop) {
  run([&]() -> awaitable<void> {
    auto first = async_.election("e", {.ttl = 60s});
    auto second = async_.election("e", {.ttl = 60s});
    co_await first.start();
    auto const before = co_await first.leadership();
    co_await second.start();
    co_await line_of(1);
    boost::asio::co_spawn(
        io_,
        [](AsyncElection* leading) -> awaitable<void> {
          co_await sleep_for(20ms);
          auto const how = co_await leading->resign();
          EXPECT_EQ(how, Resignation::done);
        }(&first),
        boost::asio::detached);
    auto const begun = co_await second.leadership();
    EXPECT_TRUE(before && begun && begun->term > before->term);
    EXPECT_FALSE(first.is_leader());
    co_await line_of(1);
    auto const how = co_await second.stop();
    EXPECT_EQ(how, Resignation::done);
    auto const back = co_await first.leadership();
    EXPECT_TRUE(back && begun && back->term > begun->term) << "who resigned stands in line again";
  });
}

TEST_F(AsyncElections, TellsEventsInOrder) {
  run([&]() -> awaitable<void> {
    auto election = async_.election("e", {.ttl = 60s});
    auto events = co_await election.events();
    co_await election.start();
    auto const begun = co_await election.leadership();
    auto const stopped = co_await election.stop();
    EXPECT_EQ(stopped, Resignation::done);
    std::vector<std::string> told;
    for (int i = 0; i < 5; ++i) {
      auto const event = co_await events.next();
      if (!event) break;
      told.emplace_back(to_string(event->kind));
      if (i > 1) {
        EXPECT_EQ(event->term, begun->term);
      }
    }
    EXPECT_EQ(told,
              (std::vector<std::string>{"state_changed", "state_changed", "leadership_acquired",
                                        "state_changed", "leadership_lost"}));
  });
}

TEST_F(AsyncElections, AStreamBeginsWithThePresentTermAndTellsItOnce) {
  run([&]() -> awaitable<void> {
    auto election = async_.election("e", {.ttl = 60s});
    co_await election.start();
    auto const begun = co_await election.leadership();
    auto events = co_await election.events();
    auto const first = co_await events.next();
    EXPECT_TRUE(first && first->kind == ElectionEventKind::leadership_acquired);
    EXPECT_TRUE(first && begun && first->term == begun->term);
    auto const stopped = co_await election.stop();
    EXPECT_EQ(stopped, Resignation::done);
    auto const second = co_await events.next();
    EXPECT_TRUE(second && second->kind == ElectionEventKind::state_changed);
    auto const third = co_await events.next();
    EXPECT_TRUE(third && third->kind == ElectionEventKind::leadership_lost);
  });
}

TEST_F(AsyncElections, InTurnTheNextLeaderWaitsUntilTheEventIsDoneWith) {
  run([&]() -> awaitable<void> {
    auto first = async_.election("e", {.ttl = 60s});
    auto second = async_.election("e", {.ttl = 60s});
    auto events = co_await first.events(Election::Listen::in_turn);
    co_await first.start();
    auto event = co_await events.next();
    while (event && event->kind != ElectionEventKind::leadership_acquired) {
      event = co_await events.next();
    }
    co_await second.start();
    co_await line_of(1);
    std::optional<Resignation> stopped;
    boost::asio::co_spawn(
        io_,
        [](AsyncElection* leading, std::optional<Resignation>* answer) -> awaitable<void> {
          *answer = co_await leading->stop(30s);
        }(&first, &stopped),
        boost::asio::detached);
    while (event && event->kind != ElectionEventKind::leadership_lost) {
      event = co_await events.next();
    }
    EXPECT_FALSE(first.is_leader());
    co_await sleep_for(100ms);  // longer than a hand-over takes
    EXPECT_FALSE(second.is_leader()) << "the work of the first still stops";
    EXPECT_FALSE(stopped);
    {
      auto const done_with = std::move(events);
    }
    auto const begun = co_await second.leadership();
    EXPECT_TRUE(begun);
    for (int i = 0; i < 2000 && !stopped; ++i) co_await sleep_for(5ms);
    EXPECT_EQ(stopped, Resignation::done);
  });
}

TEST_F(AsyncElections, AWaitThatIsCancelledLeavesTheCandidateInLine) {
  using namespace boost::asio::experimental::awaitable_operators;
  run([&]() -> awaitable<void> {
    auto first = async_.election("e", {.ttl = 60s});
    auto second = async_.election("e", {.ttl = 60s});
    co_await first.start();
    auto const before = co_await first.leadership();
    co_await second.start();
    co_await line_of(1);
    auto const which = co_await (second.leadership() || sleep_for(50ms));
    EXPECT_EQ(which.index(), 1U);
    co_await line_of(1);
    auto const how = co_await first.stop();
    EXPECT_EQ(how, Resignation::done);
    auto const begun = co_await second.leadership();
    EXPECT_TRUE(before && begun && begun->term > before->term);
  });
}

TEST_F(AsyncElections, ALoopThatGoesEndsItsWaits) {
  auto leading = holt_.election("e", {.ttl = 60s});
  leading.start();
  for (int i = 0; i < 8000 && !leading.is_leader(); ++i) std::this_thread::sleep_for(5ms);
  {
    boost::asio::io_context gone;
    boost::asio::co_spawn(
        gone,
        [](AsyncHolt async) -> awaitable<void> {
          auto election = async.election("e", {.ttl = 60s});
          co_await election.start();
          auto const begun = co_await election.leadership();
          ADD_FAILURE() << "the loop never ran again";
        }(async_),
        boost::asio::detached);
    for (int i = 0; i < 2000 && holt_.leader("e")->candidates == 0; ++i) gone.run_for(5ms);
    EXPECT_EQ(holt_.leader("e")->candidates, 1U);
  }
  EXPECT_EQ(holt_.leader("e")->candidates, 0U) << "the candidate went with its coroutine";
}

TEST_F(AsyncElections, ManyStopsAtOnceAreAllAnswered) {
  run([&]() -> awaitable<void> {
    using namespace boost::asio::experimental::awaitable_operators;
    auto election = async_.election("e", {.ttl = 60s});
    co_await election.start();
    auto const begun = co_await election.leadership();
    auto const answers = co_await (election.stop() && election.resign() && election.stop());
    EXPECT_EQ(std::get<0>(answers), Resignation::done);
    EXPECT_EQ(std::get<1>(answers), Resignation::not_leader);
    EXPECT_EQ(std::get<2>(answers), Resignation::not_leader);
  });
}

TEST_F(AsyncElections, WrongInputAndAClosedClientAreThrownWhenAwaited) {
  run([&]() -> awaitable<void> {
    auto election = async_.election("e", {.ttl = 60s});
    auto events = co_await election.events();
    bool refused = false;
    try {
      [[maybe_unused]] auto const how = co_await election.stop(-1ms);
    } catch (InvalidArgument const&) {
      refused = true;
    }
    EXPECT_TRUE(refused);
    holt_.close();
    auto const none = co_await events.next();
    EXPECT_FALSE(none);
    bool aborted = false;
    try {
      co_await election.start();
    } catch (EngineError const& error) {
      aborted = error.code() == ErrorCode::aborted;
    }
    EXPECT_TRUE(aborted);
  });
}

}  // namespace
}  // namespace holt::test
