// SPDX-License-Identifier: Apache-2.0
// Once per period, on every engine's records and clock.

#include "primitives/once.hpp"

#include "contract/engine_test.hpp"

#include <holt/holt.hpp>

namespace holt::test {
namespace {

class OnceTest : public EngineTest {
 protected:
  bool count(Name const& name, std::chrono::milliseconds period, Nanos ago = 0s,
             Fence fence = Fence(7)) {
    CountedRun run{
        store_->env().wall() - std::chrono::duration_cast<std::chrono::system_clock::duration>(ago),
        period, fence, "me"};
    return holt::test::run(once_.count(name, run, store_->env().now() - ago, client_.deadline()));
  }
  std::optional<CountedRun> last(Name const& name) {
    return holt::test::run(once_.last(name, client_.deadline()));
  }

  Once once_{store_->env(), client_.engine().records()};
};

TEST_P(OnceTest, ARunIsRememberedForItsPeriod) {
  EXPECT_FALSE(last("a"));
  EXPECT_TRUE(count("a", 10s));
  auto const run = last("a");
  ASSERT_TRUE(run);
  EXPECT_EQ(run->period, 10s);
  EXPECT_EQ(run->fence, Fence(7));
  EXPECT_EQ(run->note, "me");
  advance(9s);
  EXPECT_TRUE(last("a"));
  advance(1001ms);
  EXPECT_FALSE(last("a"));
}

TEST_P(OnceTest, ThePeriodIsCountedFromTheStart) {
  EXPECT_TRUE(count("a", 10s, 6s));
  advance(3s);
  EXPECT_TRUE(last("a"));
  advance(1001ms);
  EXPECT_FALSE(last("a"));
}

TEST_P(OnceTest, ARunThatTookLongerThanItsPeriodLeavesNothing) {
  EXPECT_TRUE(count("a", 10s, 11s));
  EXPECT_FALSE(last("a"));
}

TEST_P(OnceTest, TheFirstThatCountsStays) {
  EXPECT_TRUE(count("a", 10s, 0s, Fence(1)));
  EXPECT_FALSE(count("a", 10s, 0s, Fence(2)));
  EXPECT_EQ(last("a")->fence, Fence(1));
  advance(10'001ms);
  EXPECT_TRUE(count("a", 10s, 0s, Fence(3)));
}

TEST_P(OnceTest, NamesAndInstancesAreApart) {
  EXPECT_TRUE(count("a", 10s));
  EXPECT_FALSE(last("b"));
  Client other(*store_, "other");
  Once elsewhere(store_->env(), other.engine().records());
  EXPECT_FALSE(run(elsewhere.last("a", other.deadline())));
}

TEST_P(OnceTest, NamesMayBeAsLongAsNamesMayBe) {
  Name const longest(std::string(Name::max_bytes, 'x'));
  EXPECT_TRUE(count(longest, 10s));
  EXPECT_TRUE(last(longest));
}

TEST_P(OnceTest, ARecordOfANewerHoltCountsToo) {
  RecordWrite write("once/" + Name("a").hash(), "once 99\nwhatever");
  ASSERT_TRUE(run(client_.engine().records().put(std::move(write), client_.deadline())));
  EXPECT_TRUE(last("a"));
}

TEST_P(OnceTest, TextAndBack) {
  CountedRun const run{std::chrono::system_clock::time_point(1'700'000'000'123ms), 36h, Fence(9),
                       "a note\nof two lines"};
  auto const read = parse_run(to_text(run));
  ASSERT_TRUE(read);
  EXPECT_EQ(read->started_at, run.started_at);
  EXPECT_EQ(read->period, run.period);
  EXPECT_EQ(read->fence, run.fence);
  EXPECT_EQ(read->note, run.note);
  for (auto const* text :
       {"", "once 1", "once 1\n1\n2", "once 1\nx\n2\n3\n", "once 2\n1\n2\n3\n"}) {
    EXPECT_FALSE(parse_run(text)) << text;
  }
}

TEST_P(OnceTest, OfAClientCountsOnlyUnderALockThatIsHeld) {
  auto holt = holt::open(store_->url());
  auto lock = holt.try_lock("a");
  ASSERT_TRUE(lock);
  EXPECT_TRUE(holt.count_run(*lock, {.period = 1h, .started = BootClock::now(), .note = "me"}));
  EXPECT_EQ(holt.last_run("a")->fence, lock->fence());
  auto other = holt.try_lock("b");
  ASSERT_TRUE(other->release());
  EXPECT_FALSE(holt.count_run(*other, {.period = 1h, .started = BootClock::now()}));
  EXPECT_FALSE(holt.last_run("b"));
}

TEST_P(OnceTest, OfAClientRefusesWhatCannotBe) {
  auto holt = holt::open(store_->url());
  auto const lock = holt.try_lock("a");
  auto const now = BootClock::now();
  EXPECT_THROW(holt.count_run(*lock, {.period = 99ms, .started = now}), InvalidArgument);
  EXPECT_THROW(holt.count_run(*lock, {.period = 24h * 367, .started = now}), InvalidArgument);
  std::string const note(5000, 'x');
  EXPECT_THROW(holt.count_run(*lock, {.period = 1h, .started = now, .note = note}),
               InvalidArgument);
  holt.close();
  EXPECT_THROW(holt.last_run("a"), EngineError);
}

HOLT_ON_EVERY_ENGINE(OnceTest);

}  // namespace
}  // namespace holt::test
