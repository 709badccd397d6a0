// SPDX-License-Identifier: Apache-2.0
// Queues of <holt/asio.hpp> on every engine that has tasks: what is added, looked at and waited for
// by coroutines of the user's executor, and that nothing they hand over must outlive the call.

#include "support/engines.hpp"

#include <holt/asio.hpp>

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/experimental/awaitable_operators.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <gtest/gtest.h>

#include <functional>
#include <optional>
#include <string>
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

/// Longer than any string that lives without memory of its own.
std::string long_text(char what) { return std::string(100, what); }

class TaskCoroutines : public testing::TestWithParam<EngineUnderTest> {
 protected:
  /// Runs the coroutine on a loop of its own and rethrows what it throws.
  void run(std::function<awaitable<void>()> const& body) {
    std::exception_ptr error;
    boost::asio::co_spawn(io_, body(), [&](std::exception_ptr thrown) { error = thrown; });
    io_.run();
    io_.restart();
    if (error) std::rethrow_exception(error);
  }
  static awaitable<bool> is_refused(awaitable<AddedTask> adding) {
    try {
      auto const added = co_await std::move(adding);
    } catch (InvalidArgument const&) {
      co_return true;
    }
    co_return false;
  }
  Worker worker(Worker::Handler handler) {
    auto made = holt_.worker({.queue = "mail"});
    made.handle("job", std::move(handler));
    return made;
  }

  std::unique_ptr<TestStore> store_ = GetParam().make();
  Holt holt_ = open(store_->url());
  AsyncHolt async_{holt_};
  AsyncQueue queue_ = async_.queue("mail");
  boost::asio::io_context io_;
};
INSTANTIATE_TEST_SUITE_P(Engines, TaskCoroutines,
                         testing::ValuesIn(engines_under_test("TaskCoroutines")),
                         [](auto const& tested) { return tested.param.name; });

TEST_P(TaskCoroutines, AddLookAndCancelOnTheExecutorOfTheCaller) {
  auto const here = std::this_thread::get_id();
  run([&]() -> awaitable<void> {
    auto const added = co_await queue_.add("job", "ada", {.priority = 2, .metadata = "meta"});
    EXPECT_EQ(std::this_thread::get_id(), here);
    EXPECT_FALSE(added.duplicate);
    auto const later = co_await queue_.add("job", "bob", {.delay = 1h});
    auto const found = co_await queue_.find(added.id);
    EXPECT_TRUE(found && found->payload == "ada" && found->metadata == "meta");
    EXPECT_TRUE(found && found->priority == 2);
    auto const counts = co_await queue_.count();
    EXPECT_EQ(counts.pending, 1U);
    EXPECT_EQ(counts.scheduled, 1U);
    auto const first = co_await queue_.list({}, {}, 1);
    EXPECT_EQ(first.tasks.size(), 1U);
    auto const rest = co_await queue_.list({}, first.next);
    EXPECT_TRUE(rest.tasks.size() == 1 && rest.tasks[0].id == later.id);
    auto const scheduled = co_await queue_.list(TaskState::scheduled);
    EXPECT_TRUE(scheduled.tasks.size() == 1 && scheduled.tasks[0].id == later.id);
    auto const cancelled = co_await queue_.cancel(later.id);
    EXPECT_EQ(cancelled, Cancellation::cancelled);
    auto const again = co_await queue_.cancel(later.id);
    EXPECT_EQ(again, Cancellation::finished);
    auto const none = co_await queue_.find(TaskId("mail", later.id.number() + 100));
    EXPECT_FALSE(none);
    EXPECT_EQ(std::this_thread::get_id(), here);
  });
  EXPECT_EQ(queue_.name(), "mail");
  EXPECT_EQ(queue_.blocking().count().cancelled, 1U);
}

TEST_P(TaskCoroutines, ManyAreAddedAtOnceInTheirOrder) {
  run([&]() -> awaitable<void> {
    std::vector<TaskDraft> drafts;
    for (int i = 0; i < 50; ++i) drafts.push_back({"job", std::to_string(i), {.metadata = "m"}});
    auto const added = co_await queue_.add_many(drafts);
    EXPECT_EQ(added.size(), 50U);
    auto const page = co_await queue_.list();
    EXPECT_EQ(page.tasks.size(), 50U);
    for (std::size_t i = 0; i < added.size() && i < page.tasks.size(); ++i) {
      EXPECT_EQ(added[i].id, page.tasks[i].id);
    }
    auto const last = co_await queue_.find(added.back().id);
    EXPECT_TRUE(last && last->payload == "49" && last->metadata == "m");
    auto const none = co_await queue_.add_many({});
    EXPECT_TRUE(none.empty());
  });
}

/// Awaitables are lazy: what they were made of may be gone by the time they run.
TEST_P(TaskCoroutines, WhatWasHandedOverMayGoBeforeItIsAwaited) {
  run([&]() -> awaitable<void> {
    std::optional<awaitable<AddedTask>> adding;
    std::optional<awaitable<std::vector<AddedTask>>> adding_many;
    {
      auto meta = long_text('m');
      auto key = long_text('k');
      auto queue = async_.queue("mail");
      adding.emplace(queue.add("job", long_text('p'), {.metadata = meta, .unique = key}));
      std::vector<TaskDraft> drafts;
      drafts.push_back({"job", long_text('d'), {.metadata = meta}});
      adding_many.emplace(queue.add_many(drafts));
      meta.assign(meta.size(), 'x');
      key.assign(key.size(), 'x');
      drafts[0].payload.assign(drafts[0].payload.size(), 'x');
    }
    auto const added = co_await std::move(*adding);
    auto const many = co_await std::move(*adding_many);
    auto const one = co_await queue_.find(added.id);
    EXPECT_TRUE(one && one->payload == long_text('p') && one->metadata == long_text('m'));
    EXPECT_TRUE(one && one->unique == long_text('k'));
    auto const other = co_await queue_.find(many.at(0).id);
    EXPECT_TRUE(other && other->payload == long_text('d') && other->metadata == long_text('m'));
  });
}

TEST_P(TaskCoroutines, AUniqueKeyKeepsASecondOneOut) {
  using namespace boost::asio::experimental::awaitable_operators;
  run([&]() -> awaitable<void> {
    auto const both = co_await (queue_.add("job", "1", {.unique = "ada"}) &&
                                queue_.add("job", "2", {.unique = "ada"}));
    EXPECT_EQ(std::get<0>(both).id, std::get<1>(both).id);
    EXPECT_NE(std::get<0>(both).duplicate, std::get<1>(both).duplicate);
  });
}

TEST_P(TaskCoroutines, AWorkerEndsTheTaskThatIsAwaited) {
  auto doing = worker([](Job& job) { job.result("hello " + job.task().payload); });
  run([&]() -> awaitable<void> {
    auto const added = co_await queue_.add("job", "ada");
    boost::asio::co_spawn(
        io_,
        [](Worker* late) -> awaitable<void> {
          co_await sleep_for(20ms);
          late->start();
        }(&doing),
        boost::asio::detached);
    auto const ended = co_await queue_.wait(added.id, 60s);
    EXPECT_TRUE(ended && ended->state == TaskState::completed && ended->result == "hello ada");
    auto const next = co_await queue_.add("job", "bob");
    auto const heard = co_await queue_.wait(next.id);
    EXPECT_TRUE(heard && heard->result == "hello bob");
  });
  EXPECT_TRUE(doing.stop());
}

TEST_P(TaskCoroutines, AWaitEndsWhenItsTimeIsOverOrNothingIsThere) {
  run([&]() -> awaitable<void> {
    auto const added = co_await queue_.add("job", "");
    auto const late = co_await queue_.wait(added.id, 30ms);
    EXPECT_FALSE(late);
    auto const none = co_await queue_.wait(TaskId("mail", added.id.number() + 100));
    EXPECT_FALSE(none);
  });
}

TEST_P(TaskCoroutines, AWaitThatIsCancelledAnswersNothing) {
  auto const id = queue_.blocking().add("job", "").id;
  boost::asio::cancellation_signal cancel;
  std::optional<bool> ended;
  boost::asio::co_spawn(
      io_,
      [&]() -> awaitable<void> {
        auto const found = co_await queue_.wait(id);
        ended = found.has_value();
      },
      boost::asio::bind_cancellation_slot(cancel.slot(), boost::asio::detached));
  run([&]() -> awaitable<void> {
    co_await sleep_for(30ms);
    EXPECT_FALSE(ended);
    cancel.emit(boost::asio::cancellation_type::terminal);
  });
  EXPECT_EQ(ended, false);
}

TEST_P(TaskCoroutines, ATimeOutOfTheUserEndsTheWait) {
  using namespace boost::asio::experimental::awaitable_operators;
  auto const id = queue_.blocking().add("job", "").id;
  run([&]() -> awaitable<void> {
    auto const which = co_await (queue_.wait(id) || sleep_for(50ms));
    EXPECT_EQ(which.index(), 1U);
  });
}

TEST_P(TaskCoroutines, ALoopThatGoesEndsItsWaits) {
  auto const id = queue_.blocking().add("job", "").id;
  for (int i = 0; i < 10; ++i) {
    boost::asio::io_context gone;
    boost::asio::co_spawn(
        gone,
        [](AsyncQueue queue, TaskId task) -> awaitable<void> {
          auto const ended = co_await queue.wait(task);
          ADD_FAILURE() << "the loop never ran again";
        }(queue_, id),
        boost::asio::detached);
    gone.run_for(5ms);
  }
}

TEST_P(TaskCoroutines, WrongInputIsThrownWhenAwaited) {
  EXPECT_THROW(static_cast<void>(async_.queue("no/slash")), InvalidArgument)
      << "at once: nothing is awaited";
  run([&]() -> awaitable<void> {
    bool const no_kind = co_await is_refused(queue_.add("", "x"));
    EXPECT_TRUE(no_kind);
    bool const no_priority = co_await is_refused(queue_.add("job", "x", {.priority = 11}));
    EXPECT_TRUE(no_priority);
    bool const no_delay = co_await is_refused(queue_.add("job", "x", {.delay = -1ms}));
    EXPECT_TRUE(no_delay);
    auto large = std::string((1 << 20) + 1, 'x');
    bool const too_large = co_await is_refused(queue_.add("job", std::move(large)));
    EXPECT_TRUE(too_large);
    bool another = false;
    try {
      auto const found = co_await queue_.find(TaskId("another", 1));
    } catch (InvalidArgument const&) {
      another = true;
    }
    EXPECT_TRUE(another);
    bool below_zero = false;
    try {
      auto const ended = co_await queue_.wait(TaskId("mail", 1), -1ms);
    } catch (InvalidArgument const&) {
      below_zero = true;
    }
    EXPECT_TRUE(below_zero);
    auto const counts = co_await queue_.count();
    EXPECT_EQ(counts.pending, 0U);
  });
}

TEST_P(TaskCoroutines, ClosingTheClientEndsWaitsAndRefusesTheRest) {
  auto const id = queue_.blocking().add("job", "").id;
  boost::asio::co_spawn(
      io_,
      [](Holt holt) -> awaitable<void> {
        co_await sleep_for(30ms);
        holt.close();
      }(holt_),
      boost::asio::detached);
  run([&]() -> awaitable<void> {
    auto const ended = co_await queue_.wait(id);
    EXPECT_FALSE(ended);
    bool aborted = false;
    try {
      auto const added = co_await queue_.add("job", "");
    } catch (EngineError const& error) {
      aborted = error.code() == ErrorCode::aborted;
    }
    EXPECT_TRUE(aborted);
  });
}

TEST_P(TaskCoroutines, ManyAddAtOnceAndNothingIsLost) {
  constexpr int coroutines = 16;
  constexpr int each = 25;
  int added = 0;
  for (int i = 0; i < coroutines; ++i) {
    boost::asio::co_spawn(
        io_,
        [](AsyncQueue queue, int* count) -> awaitable<void> {
          for (int n = 0; n < each; ++n) {
            auto const task = co_await queue.add("job", std::to_string(n));
            if (!task.duplicate) ++*count;
          }
        }(queue_, &added),
        boost::asio::detached);
  }
  io_.run();
  EXPECT_EQ(added, coroutines * each);
  EXPECT_EQ(queue_.blocking().count().pending, static_cast<std::uint64_t>(coroutines * each));
}

}  // namespace
}  // namespace holt::test
