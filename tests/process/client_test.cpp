// SPDX-License-Identifier: Apache-2.0
// The library as a user has it, on a real file: what each call of <holt/holt.hpp> promises.

#include "process/remote.hpp"

#include <holt/holt.hpp>

#include <gtest/gtest.h>
#include <sqlite3.h>

#include <unistd.h>

#include <atomic>
#include <future>
#include <mutex>
#include <thread>
#include <vector>

namespace holt::test {
namespace {

using namespace std::chrono_literals;

class Client : public testing::Test {
 protected:
  TempStore store_;
  Holt holt_ = open(store_.url());
};

TEST_F(Client, TriesOnceAndSaysWhoHasIt) {
  auto const held = holt_.try_lock("a", {.ttl = 30s, .note = "me"});
  ASSERT_TRUE(held);
  auto const refused = holt_.try_lock("a");
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().why, Busy::Why::held);
  EXPECT_EQ(refused.error().holder, held->owner());
  EXPECT_EQ(refused.error().fence, held->fence());
  EXPECT_EQ(refused.error().note, "me");
  EXPECT_GT(refused.error().expires_in, 20s);
}

TEST_F(Client, TheGuardGivesBackAndMoves) {
  auto first = holt_.try_lock("a");
  {
    auto const moved = std::move(*first);
    EXPECT_TRUE(moved.held());
    EXPECT_TRUE(holt_.is_locked("a"));
  }
  EXPECT_FALSE(holt_.is_locked("a"));
}

TEST_F(Client, AWaitEndsAtItsDeadlineOrWithItsTokenAndLeavesNothing) {
  auto const held = holt_.try_lock("a");
  auto const late = holt_.lock("a", {.wait = 50ms});
  ASSERT_FALSE(late);
  EXPECT_EQ(late.error().why, Busy::Why::timed_out);
  std::stop_source stop;
  auto waiting = std::async(std::launch::async, [&] {
    return holt_.lock("a", {.wait = wait_forever}, stop.get_token()).error().why;
  });
  while (holt_.find("a")->waiting == 0) std::this_thread::yield();
  stop.request_stop();
  EXPECT_EQ(waiting.get(), Busy::Why::cancelled);
  EXPECT_EQ(holt_.find("a")->waiting, 0U);
}

TEST_F(Client, TheRunnerReleasesWhateverHappens) {
  auto const answer = holt_.with_lock("a", {}, [](Lock& lock) { return lock.held() ? 42 : 0; });
  EXPECT_EQ(answer, 42);
  EXPECT_FALSE(holt_.is_locked("a"));
  EXPECT_THROW(holt_.with_lock("a", {}, [](Lock&) { throw std::runtime_error("work failed"); }),
               std::runtime_error);
  EXPECT_FALSE(holt_.is_locked("a"));
  auto const held = holt_.try_lock("a");
  bool called = false;
  EXPECT_FALSE(holt_.with_lock("a", {}, [&](Lock&) { called = true; }));
  EXPECT_FALSE(called);
}

TEST_F(Client, FindsByNameAndByHandle) {
  EXPECT_FALSE(holt_.find("a"));
  auto lock = holt_.try_lock("a", {.ttl = 10s});
  auto const found = holt_.find("a");
  ASSERT_TRUE(found);
  EXPECT_EQ(found->owner, lock->owner());
  EXPECT_EQ(found->ttl, 10s);
  EXPECT_FALSE(found->offered);
  auto const handle = lock->handle();
  EXPECT_TRUE(holt_.owns(handle));
  EXPECT_TRUE(holt_.find(handle));
  ASSERT_TRUE(lock->release());
  EXPECT_FALSE(holt_.owns(handle));
  EXPECT_EQ(lock->release().error().reason, LossReason::released);
  EXPECT_EQ(lock->loss(), LossReason::released);
}

TEST_F(Client, ExtendsAndKeepsTheNewTtl) {
  auto lock = holt_.try_lock("a", {.ttl = 1s});
  auto const before = lock->deadline();
  ASSERT_TRUE(lock->extend(60s));
  EXPECT_GT(lock->deadline(), before + 50s);
  EXPECT_EQ(holt_.find("a")->ttl, 60s);
  auto const handle = lock->detach();
  EXPECT_FALSE(lock->held());
  EXPECT_TRUE(holt_.owns(handle)) << "detached, not released";
  EXPECT_TRUE(holt_.extend(handle, 90s));
  EXPECT_TRUE(holt_.release(handle));
  EXPECT_EQ(holt_.extend(handle, 90s).error().reason, LossReason::taken);
}

TEST_F(Client, ListsInPages) {
  std::vector<Lock> locks;
  for (int i = 0; i < 5; ++i) {
    locks.push_back(std::move(*holt_.try_lock("job-" + std::to_string(i))));
  }
  locks.push_back(std::move(*holt_.try_lock("other")));
  auto const first = holt_.list("job-", "", 3);
  ASSERT_EQ(first.leases.size(), 3U);
  auto const second = holt_.list("job-", first.next, 3);
  ASSERT_EQ(second.leases.size(), 2U);
  EXPECT_EQ(second.leases.back().name.text(), "job-4");
  EXPECT_TRUE(second.next.empty());
}

TEST_F(Client, InstancesDoNotSeeEachOther) {
  auto other = open(store_.url(), {.instance = "other"});
  auto const here = holt_.try_lock("a");
  auto const there = other.try_lock("a");
  EXPECT_TRUE(here);
  EXPECT_TRUE(there);
  EXPECT_EQ(other.list().leases.size(), 1U);
}

TEST_F(Client, WrongInputIsRefusedBeforeAnyIo) {
  EXPECT_THROW(holt_.try_lock(""), InvalidArgument);
  EXPECT_THROW(holt_.try_lock("a", {.ttl = 99ms}), InvalidArgument);
  EXPECT_THROW(holt_.try_lock("a", {.ttl = 25h}), InvalidArgument);
  EXPECT_THROW(holt_.try_lock("a", {.ttl = wait_forever}), InvalidArgument) << "and no overflow";
  EXPECT_THROW(holt_.lock("a", {.wait = -1ms}), InvalidArgument);
  EXPECT_THROW(holt_.try_lock("a", {.note = std::string(4097, 'n')}), InvalidArgument);
  EXPECT_THROW(holt_.list("", "", 0), InvalidArgument);
  EXPECT_THROW(holt_.break_lock("a", ""), InvalidArgument);
  EXPECT_THROW(open("nosuch://127.0.0.1"), EngineError);
  EXPECT_THROW(open(store_.url(), {.instance = "No"}), InvalidArgument);
}

TEST_F(Client, ClosingReleasesEndsWaitsAndRefusesMore) {
  auto const lock = holt_.try_lock("a");
  auto other = open(store_.url());
  auto const blocked = other.try_lock("b");
  auto waiting = std::async(std::launch::async, [this] {
    try {
      static_cast<void>(holt_.lock("b", {.wait = wait_forever}));
      return ErrorCode::internal;
    } catch (EngineError const& error) {
      return error.code();
    }
  });
  while (other.find("b")->waiting == 0) std::this_thread::yield();
  holt_.close();
  EXPECT_EQ(waiting.get(), ErrorCode::aborted);
  EXPECT_FALSE(lock->held());
  EXPECT_EQ(lock->loss(), LossReason::closed);
  EXPECT_FALSE(other.is_locked("a"));
  EXPECT_THROW(holt_.is_locked("a"), EngineError);
}

TEST_F(Client, BreakingAtOnceFreesTheName) {
  auto const lock = holt_.try_lock("a");
  EXPECT_EQ(holt_.break_lock("a", "why", {.fence = Fence(1)}), BreakResult::other_fence);
  EXPECT_EQ(holt_.break_lock("a", "why", {.fence = lock->fence(), .now = true}),
            BreakResult::freed);
  EXPECT_EQ(holt_.break_lock("a", "why"), BreakResult::not_held);
  auto const next = holt_.try_lock("a");
  ASSERT_TRUE(next);
  EXPECT_GT(next->fence(), lock->fence());
}

/// Keeps every writer of the store out, as a stopped process would.
class HungStore {
 public:
  explicit HungStore(TempStore const& store) {
    EXPECT_EQ(sqlite3_open(store.path().c_str(), &store_), SQLITE_OK);
    EXPECT_EQ(sqlite3_exec(store_, "BEGIN IMMEDIATE", nullptr, nullptr, nullptr), SQLITE_OK);
  }
  ~HungStore() { sqlite3_close(store_); }
  HungStore(HungStore const&) = delete;
  HungStore& operator=(HungStore const&) = delete;

 private:
  sqlite3* store_ = nullptr;
};

TEST_F(Client, AStoreThatHangsPutsALockAtRiskAndThenEndsItInTime) {
  auto lock = holt_.try_lock("a", {.ttl = 1500ms});
  std::promise<void> at_risk;
  lock->on_at_risk([&] { at_risk.set_value(); });
  std::promise<Instant> lost;
  std::stop_callback const on_lost(lock->lost(), [&] { lost.set_value(BootClock::now()); });
  {
    HungStore const hung(store_);
    ASSERT_EQ(at_risk.get_future().wait_for(20s), std::future_status::ready);
    EXPECT_TRUE(lock->held()) << "at risk is not lost";
    auto fired = lost.get_future();
    ASSERT_EQ(fired.wait_for(20s), std::future_status::ready);
    EXPECT_GE(fired.get(), lock->deadline());
    EXPECT_FALSE(lock->held());
    EXPECT_EQ(lock->loss(), LossReason::expired);
    auto impatient = open(store_.url(), {.timeout = 200ms});
    try {
      static_cast<void>(impatient.try_lock("b"));
      FAIL() << "the store is busy";
    } catch (EngineError const& error) {
      EXPECT_EQ(error.code(), ErrorCode::network_timeout);
      EXPECT_EQ(error.outcome(), Outcome::not_applied);
      EXPECT_NE(std::string(error.what()).find(std::to_string(::getpid())), std::string::npos)
          << "names who is in the way: " << error.what();
    }
  }
  EXPECT_TRUE(holt_.try_lock("b"));
}

TEST(ClientLog, TellsWhatHappensToLeases) {
  TempStore const store;
  std::mutex mutex;
  std::vector<LogEvent> events;
  {
    auto holt = open(store.url(), {.log =
                                       [&](LogEvent const& event) {
                                         std::scoped_lock const guard(mutex);
                                         events.push_back(event);
                                         throw std::runtime_error("an observer's own trouble");
                                       },
                                   .hash_names = true});
    auto lock = holt.try_lock("secret");
    ASSERT_TRUE(lock->release());
  }
  auto const told = [&] {
    std::scoped_lock const guard(mutex);
    return events.size();
  };
  for (int i = 0; i < 4000 && told() < 2; ++i) ::usleep(5000);
  std::scoped_lock const guard(mutex);
  ASSERT_EQ(events.size(), 2U);
  EXPECT_EQ(events[0].event, "acquired");
  EXPECT_EQ(events[0].instance, "default");
  EXPECT_EQ(events[0].name, Name("secret").hash());
  EXPECT_GT(events[0].fence, 0U);
  EXPECT_EQ(events[1].event, "released");
}

}  // namespace
}  // namespace holt::test
