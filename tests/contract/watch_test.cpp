// SPDX-License-Identifier: Apache-2.0
// Engine::watch, clause by clause, and Holt::watch on top of it.

#include "contract/engine_test.hpp"

#include <holt/holt.hpp>

#include <gmock/gmock.h>

#include <atomic>
#include <future>
#include <stop_token>
#include <thread>

namespace holt::test {
namespace {

using testing::IsEmpty;

/// Counts hints, and waits for one more.
class Hints {
 public:
  std::function<void()> counter() {
    return [this] {
      std::scoped_lock const lock(mutex_);
      ++count_;
      came_.notify_all();
    };
  }
  int count() {
    std::scoped_lock const lock(mutex_);
    return count_;
  }
  bool more_than(int before) {
    std::unique_lock lock(mutex_);
    return came_.wait_for(lock, 10s, [&] { return count_ > before; });
  }

 private:
  std::mutex mutex_;
  std::condition_variable came_;
  int count_ = 0;
};

/// Skipped where the store says that its engine cannot tell, and only there.
class EngineWatch : public EngineTest {
 protected:
  void SetUp() override {
    if (!store_->hints_at_changes()) GTEST_SKIP() << "this engine cannot tell";
  }
  Hints hints_;  // outlives the watch
};

class EngineWatchOrNot : public EngineTest {};

TEST_P(EngineWatchOrNot, AnswersNullWhereItCannotTellAndOnlyThere) {
  Hints hints;
  auto const watch = client_.engine().watch(hints.counter());
  EXPECT_EQ(watch != nullptr, store_->hints_at_changes());
}

HOLT_ON_EVERY_STORE(EngineWatchOrNot);

TEST_P(EngineWatch, HintsAtEveryKindOfChange) {
  auto const watch = client_.engine().watch(hints_.counter());
  ASSERT_TRUE(watch);
  Client other(*store_);
  auto const owner = other.owner();
  auto const expect_hint = [&](std::string const& what, auto const& change) {
    auto const before = hints_.count();
    change();
    EXPECT_TRUE(hints_.more_than(before)) << what;
  };
  expect_hint("acquire", [&] { other.take("a", owner, {.ttl = 60s}); });
  expect_hint("renew", [&] { EXPECT_TRUE(other.renew("a", owner, 90s)); });
  expect_hint("wait", [&] { other.wait_for("a", other.owner()); });
  expect_hint("break", [&] { other.break_lease("a", "why"); });
  expect_hint("release", [&] { EXPECT_TRUE(other.release("a", owner)); });
}

/// The hint may come before the change can be seen, but then another one follows.
TEST_P(EngineWatch, TheLastHintComesAfterTheChangeCanBeSeen) {
  std::atomic<int> round = 0;
  std::atomic<int> seen = 0;
  Client reader(*store_);
  Hints hints;
  auto const watch = client_.engine().watch(hints.counter());
  ASSERT_TRUE(watch);
  Client writer(*store_);
  for (round = 1; round <= 20; ++round) {
    auto const name = Name("n" + std::to_string(round));
    auto before = hints.count();
    writer.take(name, writer.owner(), {.ttl = 60s});
    while (!reader.find(name)) {
      ASSERT_TRUE(hints.more_than(before));
      before = hints.count();
    }
    ++seen;
  }
  EXPECT_EQ(seen, 20);
}

TEST_P(EngineWatch, IsSilentWhenItIsGone) {
  auto watch = client_.engine().watch(hints_.counter());
  ASSERT_TRUE(watch);
  watch.reset();
  auto const before = hints_.count();
  client_.take("a", client_.owner());
  EXPECT_EQ(hints_.count(), before);
}

TEST_P(EngineWatch, SeveralWatchTheSame) {
  Hints others;
  auto const one = client_.engine().watch(hints_.counter());
  auto const two = client_.engine().watch(others.counter());
  ASSERT_TRUE(one && two);
  client_.take("a", client_.owner());
  EXPECT_TRUE(hints_.more_than(0));
  EXPECT_TRUE(others.more_than(0));
}

HOLT_ON_EVERY_STORE(EngineWatch);

class HoltWatch : public EngineTest {
 protected:
  /// The next events as "kind name", at least one.
  std::vector<std::string> next(Watch& watch) {
    std::vector<std::string> texts;
    for (auto const& event : watch.next(10s)) {
      texts.push_back(std::string(to_string(event.kind)) + ' ' + event.lease.name.text());
    }
    return texts;
  }
  /// Events until this one has come.
  void expect(Watch& watch, std::string const& wanted) {
    std::vector<std::string> all;
    while (std::ranges::find(all, wanted) == all.end()) {
      auto const more = next(watch);
      if (more.empty()) {
        ADD_FAILURE() << "waited for " << wanted << ", got " << testing::PrintToString(all);
        return;
      }
      all.insert(all.end(), more.begin(), more.end());
    }
  }

  Holt holt_ = holt::open(store_->url());
};

TEST_P(HoltWatch, AnswersFirstWhatThereIs) {
  auto const lock = holt_.try_lock("here");
  auto watch = holt_.watch();
  auto const events = watch.next();
  ASSERT_EQ(events.size(), 1U);
  EXPECT_EQ(events[0].kind, LeaseEventKind::present);
  EXPECT_EQ(events[0].lease.fence, lock->fence());
}

TEST_P(HoltWatch, DoesNotWaitTheFirstTimeAlsoWithNothing) {
  EXPECT_THAT(holt_.watch().next(), IsEmpty());
}

TEST_P(HoltWatch, SeesWhatOthersDo) {
  auto watch = holt_.watch("p/");
  EXPECT_THAT(watch.next(), IsEmpty());
  auto other = holt::open(store_->url());
  {
    auto const elsewhere = other.try_lock("q");
    auto lock = other.try_lock("p/a");
    expect(watch, "acquired p/a");
    other.break_lock("p/a", "why", {.now = true});
    expect(watch, "released p/a");
  }
  EXPECT_THAT(watch.next(100ms), IsEmpty()) << "q is not watched";
}

TEST_P(HoltWatch, SeesAnExpiryThatNobodyWrites) {
  auto watch = holt_.watch();
  EXPECT_THAT(watch.next(), IsEmpty());
  auto const ttl = store_->hints_at_changes() ? 200ms : 3000ms;  // without hints: looks each second
  holt_.try_lock("a", {.ttl = ttl, .renew = false})->detach();
  expect(watch, "acquired a");
  expect(watch, "expired a");
}

TEST_P(HoltWatch, SeesTheLineAndTheHandOver) {
  auto watch = holt_.watch();
  EXPECT_THAT(watch.next(), IsEmpty());
  auto lock = holt_.try_lock("a");
  expect(watch, "acquired a");
  auto waiter = std::async(std::launch::async, [&] {
    return holt::open(store_->url()).lock("a", {.wait = 20s}).has_value();
  });
  expect(watch, "waiting a");
  EXPECT_TRUE(lock->release());
  expect(watch, "released a");
  EXPECT_TRUE(waiter.get());
}

TEST_P(HoltWatch, AnswersNothingWhenNothingHappens) {
  auto watch = holt_.watch();
  EXPECT_THAT(watch.next(), IsEmpty());
  EXPECT_THAT(watch.next(0ms), IsEmpty());
  EXPECT_THAT(watch.next(30ms), IsEmpty());
  EXPECT_THROW(watch.next(-1ms), InvalidArgument);
}

TEST_P(HoltWatch, EndsWhenItIsToldToAndGoesOnAfterwards) {
  auto watch = holt_.watch();
  EXPECT_THAT(watch.next(), IsEmpty());
  std::stop_source stop;
  auto waiting = std::async(std::launch::async,
                            [&] { return watch.next(wait_forever, stop.get_token()).size(); });
  stop.request_stop();
  EXPECT_EQ(waiting.get(), 0U);
  EXPECT_THAT(watch.next(wait_forever, stop.get_token()), IsEmpty());
  auto const lock = holt_.try_lock("a");
  expect(watch, "acquired a");
}

TEST_P(HoltWatch, EndsWhenTheClientIsClosed) {
  auto watch = holt_.watch();
  EXPECT_THAT(watch.next(), IsEmpty());
  auto waiting = std::async(std::launch::async, [&] { return watch.next().size(); });
  holt_.close();
  EXPECT_THROW(waiting.get(), EngineError);
  EXPECT_THROW(watch.next(), EngineError);
  EXPECT_THROW(holt_.watch(), EngineError);
}

TEST_P(HoltWatch, OutlivesTheHandleItCameFrom) {
  auto watch = [this] { return holt::open(store_->url()).watch(); }();
  EXPECT_THAT(watch.next(), IsEmpty());
  auto const lock = holt_.try_lock("a");
  expect(watch, "acquired a");
}

HOLT_ON_EVERY_ENGINE(HoltWatch);

}  // namespace
}  // namespace holt::test
