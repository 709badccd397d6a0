// SPDX-License-Identifier: Apache-2.0
// What an observer sees, trying again by the clock, capabilities, and lookups for any eyes.

#include "process/remote.hpp"

#include <holt/holt.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <condition_variable>
#include <filesystem>
#include <mutex>
#include <stdexcept>
#include <thread>
#include <vector>

namespace holt::test {
namespace {

using namespace std::chrono_literals;
using enum Observation::Operation;
using enum Observation::Reason;
using Reason = Observation::Reason;

class Telemetry : public testing::Test {
 protected:
  Holt observed(std::function<bool(Name const&)> raw = {}) {
    OpenOptions options;
    options.observer = [this](Observation const& seen) {
      std::scoped_lock const lock(mutex_);
      seen_.push_back(seen);
      changed_.notify_all();
    };
    options.observe_raw = std::move(raw);
    return open(store_.url(), std::move(options));
  }

  std::vector<Observation> all() {
    std::scoped_lock const lock(mutex_);
    return std::exchange(seen_, {});
  }
  bool sees(Observation::Operation operation) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, 20s, [&] {
      return std::ranges::find(seen_, operation, &Observation::operation) != seen_.end();
    });
  }

  TempStore store_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<Observation> seen_;
};

testing::Matcher<Observation const&> is(Observation::Operation operation, Reason reason) {
  using testing::Field;
  auto const result = reason == none ? Observation::Result::ok : Observation::Result::fail;
  return testing::AllOf(Field(&Observation::operation, operation),
                        Field(&Observation::reason, reason), Field(&Observation::result, result));
}

TEST_F(Telemetry, SeesEveryOperationAndHowItEnded) {
  auto holt = observed();
  auto lock = holt.try_lock("a", {.ttl = 10s});
  ASSERT_TRUE(lock);
  EXPECT_FALSE(holt.try_lock("a"));
  EXPECT_TRUE(holt.is_locked("a"));
  EXPECT_FALSE(holt.is_locked("b"));
  EXPECT_TRUE(holt.find("a"));
  EXPECT_FALSE(holt.lookup(Name("b")));
  EXPECT_TRUE(holt.owns(lock->handle()));
  EXPECT_TRUE(lock->extend(20s));
  EXPECT_TRUE(lock->release());
  EXPECT_FALSE(lock->release());
  EXPECT_FALSE(holt.extend(lock->handle(), 10s));
  EXPECT_FALSE(holt.release(lock->handle()));
  EXPECT_THAT(all(), testing::ElementsAre(
                         is(acquire, none), is(acquire, locked), is(is_locked, none),
                         is(is_locked, not_found), is(lookup, none), is(lookup, not_found),
                         is(lookup, none), is(extend, none), is(release, none),
                         is(release, not_found), is(extend, not_found), is(release, not_found)));
}

TEST_F(Telemetry, SeesWhatAGuardDoesWhenItGoes) {
  auto holt = observed();
  {
    auto const lock = holt.try_lock("a");
  }
  auto const seen = all();
  ASSERT_THAT(seen, testing::ElementsAre(is(acquire, none), is(release, none)));
  EXPECT_EQ(seen[0].fence, seen[1].fence);
  EXPECT_EQ(seen[0].owner, seen[1].owner);
  EXPECT_GT(seen[1].held, 0ns);
  EXPECT_GT(seen[0].took, 0ns);
}

TEST_F(Telemetry, NamesAndOwnersAreHashedUnlessAskedFor) {
  auto holt = observed([](Name const& name) { return name.text().starts_with("public/"); });
  auto const open_one = holt.try_lock("public/a");
  auto const secret_one = holt.try_lock("secret/a");
  auto const seen = all();
  ASSERT_EQ(seen.size(), 2U);
  EXPECT_TRUE(seen[0].raw);
  EXPECT_EQ(seen[0].name, "public/a");
  EXPECT_EQ(seen[0].owner, open_one->owner().text());
  EXPECT_FALSE(seen[1].raw);
  EXPECT_EQ(seen[1].name, Name("secret/a").hash());
  EXPECT_EQ(seen[1].owner, secret_one->owner().hash());
  EXPECT_EQ(seen[1].instance, "default");
}

TEST_F(Telemetry, SeesALossAndWhy) {
  auto holt = observed();
  auto other = open(store_.url());
  auto const lock = holt.try_lock("a", {.ttl = 30s});
  ASSERT_TRUE(lock);
  EXPECT_EQ(other.break_lock("a", "maintenance"), BreakResult::asked);
  ASSERT_TRUE(sees(lost));
  auto const seen = all();
  EXPECT_THAT(seen, testing::Contains(is(lost, not_found)));
  EXPECT_EQ(std::ranges::find(seen, lost, &Observation::operation)->loss, LossReason::broken);
}

TEST_F(Telemetry, SeesTheEndOfALeaseThatIsNotRenewed) {
  auto holt = observed();
  auto const lock = holt.try_lock("a", {.ttl = 200ms, .renew = false});
  ASSERT_TRUE(sees(lost));
  EXPECT_THAT(all(), testing::ElementsAre(is(acquire, none), is(lost, expired)));
}

TEST_F(Telemetry, AnObserverOrPredicateThatThrowsHarmsNothing) {
  OpenOptions options;
  options.observer = [](Observation const&) { throw std::runtime_error("mine"); };
  options.observe_raw = [](Name const&) -> bool { throw std::runtime_error("mine too"); };
  auto holt = open(store_.url(), std::move(options));
  auto lock = holt.try_lock("a");
  ASSERT_TRUE(lock);
  EXPECT_TRUE(lock->release());
}

TEST_F(Telemetry, AStoreThatFailsIsAnError) {
  auto holt = observed();
  std::filesystem::remove(store_.path());
  EXPECT_THROW(static_cast<void>(holt.try_lock("a")), EngineError);
  EXPECT_THAT(all(), testing::ElementsAre(is(acquire, error)));
}

TEST_F(Telemetry, WhatIsRefusedBeforeItBeganIsNoOperation) {
  auto holt = observed();
  EXPECT_THROW(static_cast<void>(holt.try_lock("a", {.ttl = 1ms})), InvalidArgument);
  holt.close();
  EXPECT_THROW(static_cast<void>(holt.try_lock("a")), EngineError);
  EXPECT_THAT(all(), testing::IsEmpty());
}

TEST(MetricsOfAClient, CountWaitsHoldsLossesAndStoreCalls) {
  using testing::HasSubstr;
  TempStore const store;
  auto const metrics = std::make_shared<Metrics>();
  OpenOptions options;
  options.metrics = metrics;
  auto holt = open(store.url(), options);
  auto lock = holt.try_lock("a");
  auto const other = holt.try_lock("b", {.ttl = 300ms, .renew = false});
  EXPECT_FALSE(holt.try_lock("a"));
  EXPECT_THAT(metrics->text(), HasSubstr("holt_locks_held{instance=\"default\"} 2\n"));
  EXPECT_TRUE(lock->release());
  auto const renewed = holt.try_lock("c", {.ttl = 300ms});
  auto const lost = "holt_lock_lost_total{instance=\"default\",reason=\"expired\"} 1\n";
  auto const twice = "holt_lock_renew_lag_seconds_count{instance=\"default\"} 2\n";
  auto const there = [&](std::string_view line) {
    return metrics->text().find(line) != std::string::npos;
  };
  for (int i = 0; i < 4000 && !(there(lost) && there(twice)); ++i) {
    std::this_thread::sleep_for(5ms);
  }
  auto const text = metrics->text();
  EXPECT_THAT(text, HasSubstr(lost));
  EXPECT_THAT(text,
              HasSubstr("holt_lock_wait_seconds_count{instance=\"default\",result=\"ok\"} 3\n"));
  EXPECT_THAT(
      text, HasSubstr("holt_lock_wait_seconds_count{instance=\"default\",result=\"locked\"} 1\n"));
  EXPECT_THAT(text, HasSubstr("holt_lock_hold_seconds_count{instance=\"default\"} 2\n"));
  EXPECT_THAT(text, HasSubstr("holt_locks_held{instance=\"default\"} 1\n"));
  EXPECT_THAT(text, HasSubstr("holt_store_call_seconds_count{instance=\"default\","
                              "operation=\"acquire\",result=\"ok\"} 4\n"));
  EXPECT_THAT(text, HasSubstr("operation=\"release\",result=\"ok\"} 1\n"));
}

TEST(Lookup, TellsHashesAndNothingToActWith) {
  TempStore const store;
  auto holt = open(store.url());
  auto const lock = holt.try_lock("a", {.ttl = 10s});
  auto const summary = holt.lookup(Name("a"));
  ASSERT_TRUE(summary);
  EXPECT_EQ(summary->name_hash, Name("a").hash());
  EXPECT_EQ(summary->owner_hash, lock->owner().hash());
  EXPECT_EQ(summary->fence, lock->fence());
  EXPECT_GT(summary->expires_in, 5s);
  EXPECT_LE(summary->expires_in, 10s);
  EXPECT_TRUE(holt.lookup(lock->handle()));
}

TEST(CapabilitiesOfSqlite, AreWhatItPromises) {
  TempStore const store;
  auto const can = open(store.url()).capabilities();
  EXPECT_TRUE(can.fencing);
  EXPECT_TRUE(can.embedded);
  EXPECT_EQ(to_string(can.time), "host");
  EXPECT_EQ(to_string(can.waiting), "line");
  EXPECT_EQ(to_string(can.durability), "embedded");
}

class Retry : public testing::Test {
 protected:
  TempStore store_;
  Holt holt_ = open(store_.url());
  Holt other_ = open(store_.url());
};

TEST_F(Retry, TakesWhatIsFreeAtOnce) { EXPECT_TRUE(holt_.retry_lock("a")); }

TEST_F(Retry, GivesUpAfterItsAttemptsWithoutStandingInLine) {
  auto const held = other_.try_lock("a");
  auto const busy = holt_.retry_lock(
      "a", {}, {.attempts = 4, .delay = 5ms, .backoff = Backoff::fixed, .jitter = Jitter::none});
  ASSERT_FALSE(busy);
  EXPECT_EQ(busy.error().why, Busy::Why::timed_out);
  EXPECT_EQ(busy.error().fence, held->fence());
  EXPECT_EQ(holt_.find("a")->waiting, 0U);
}

TEST_F(Retry, GivesUpAtItsTimeOut) {
  auto const held = other_.try_lock("a");
  auto const start = BootClock::now();
  auto const busy = holt_.retry_lock(
      "a", {}, {.attempts = 1'000'000, .delay = 10ms, .jitter = Jitter::full, .timeout = 150ms});
  ASSERT_FALSE(busy);
  EXPECT_EQ(busy.error().why, Busy::Why::timed_out);
  EXPECT_LT(BootClock::now() - start, 20s);
}

TEST_F(Retry, TakesItWhenItBecomesFree) {
  auto held = other_.try_lock("a");
  std::jthread const releaser([&] {
    std::this_thread::sleep_for(30ms);
    static_cast<void>(held->release());
  });
  EXPECT_TRUE(holt_.retry_lock(
      "a", {}, {.attempts = 100'000, .delay = 5ms, .max_delay = 10ms, .timeout = 20s}));
}

TEST_F(Retry, IsCancelledInThePauseAndLeaksNothing) {
  auto const held = other_.try_lock("a");
  std::stop_source stop;
  std::jthread const canceller([&] {
    std::this_thread::sleep_for(30ms);
    stop.request_stop();
  });
  auto const start = BootClock::now();
  auto const busy = holt_.retry_lock("a", {}, {.delay = 1min, .max_delay = 1min, .timeout = 1h},
                                     stop.get_token());
  ASSERT_FALSE(busy);
  EXPECT_EQ(busy.error().why, Busy::Why::cancelled);
  EXPECT_LT(BootClock::now() - start, 20s);
  auto const before = holt_.retry_lock("b", {}, {}, stop.get_token());
  ASSERT_FALSE(before) << "cancelled before it began";
  EXPECT_FALSE(holt_.is_locked("b"));
}

TEST_F(Retry, NonsenseIsRefused) {
  EXPECT_THROW(static_cast<void>(holt_.retry_lock("a", {}, {.attempts = 0})), InvalidArgument);
  EXPECT_THROW(static_cast<void>(holt_.retry_lock("a", {}, {.delay = -1ms})), InvalidArgument);
  EXPECT_THROW(static_cast<void>(holt_.retry_lock("a", {}, {.timeout = -1ms})), InvalidArgument);
  EXPECT_THROW(static_cast<void>(holt_.retry_lock("a", {}, {.max_delay = 25h})), InvalidArgument);
}

}  // namespace
}  // namespace holt::test
