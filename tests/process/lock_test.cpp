// SPDX-License-Identifier: Apache-2.0
// A lock between processes that die, freeze, fork, or lose their store.

#include "process/remote.hpp"
#include "support/fence_register.hpp"
#include "support/servers/shifted_clock.hpp"

#include <holt/holt.hpp>

#include <gtest/gtest.h>

#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <filesystem>

namespace holt::test {
namespace {

using namespace std::chrono_literals;

/// "locked 123" -> 123; 0 for any other answer.
Fence fence_of(std::string const& answer) {
  if (!answer.starts_with("locked ")) return Fence();
  return Fence(std::stoull(answer.substr(7)));
}

bool in_line(Holt& client, std::uint32_t count) {
  for (int i = 0; i < 2000; ++i) {
    if (client.find("x")->waiting == count) return true;
    ::usleep(5000);
  }
  return false;
}

TEST(LockBetweenProcesses, ExcludesAndHandsOver) {
  TempStore const store;
  Remote first(store.url());
  Remote second(store.url());
  auto const before = fence_of(first.ask("lock x 30000 0"));
  ASSERT_GT(before, Fence());
  EXPECT_EQ(second.ask("lock x 30000 0"), "busy held");
  second.send("lock x 30000 20000");
  ASSERT_EQ(first.ask("release"), "released");
  EXPECT_GT(fence_of(second.answer(5s)), before);
}

TEST(LockBetweenProcesses, GoesOnWhenTheHolderIsKilled) {
  TempStore const store;
  Remote holder(store.url());
  Remote waiter(store.url());
  auto const before = fence_of(holder.ask("lock x 1000 0"));
  ASSERT_GT(before, Fence());
  waiter.send("lock x 1000 20000");
  holder.kill();
  auto const killed = BootClock::now();
  EXPECT_GT(fence_of(waiter.answer()), before);
  EXPECT_LE(BootClock::now() - killed, 5s) << "should be the rest of a ttl of 1 s";
}

TEST(LockBetweenProcesses, AFrozenHolderKnowsOnWakingAndItsLateWriteIsRefused) {
  TempStore const store;
  Remote holder(store.url());
  Remote waiter(store.url());
  FenceRegister resource;
  auto const old_fence = fence_of(holder.ask("lock x 500 0"));
  ASSERT_TRUE(resource.write(old_fence));
  waiter.send("lock x 500 20000");
  holder.signal(SIGSTOP);
  auto const new_fence = fence_of(waiter.answer());
  ASSERT_GT(new_fence, old_fence);
  EXPECT_TRUE(resource.write(new_fence));
  holder.signal(SIGCONT);
  EXPECT_TRUE(holder.ask("held").starts_with("no "));
  EXPECT_TRUE(holder.ask("await_lost 5000").starts_with("lost "));
  EXPECT_FALSE(resource.write(old_fence));
  EXPECT_TRUE(holder.ask("release").starts_with("lost "));
  EXPECT_EQ(waiter.ask("held"), "yes") << "the old holder's release must not touch the new lock";
}

TEST(LockBetweenProcesses, AKilledWaiterIsSkippedAtOnce) {
  TempStore const store;
  Remote holder(store.url());
  Remote doomed(store.url());
  Remote patient(store.url());
  ASSERT_GT(fence_of(holder.ask("lock x 30000 0")), Fence());
  auto client = open(store.url());
  doomed.send("lock x 30000 60000");
  ASSERT_TRUE(in_line(client, 1));
  patient.send("lock x 30000 60000");
  ASSERT_TRUE(in_line(client, 2));
  doomed.kill();
  ASSERT_EQ(holder.ask("release"), "released");
  EXPECT_GT(fence_of(patient.answer(10s)), Fence()) << "must not wait for the dead one's ttl";
}

TEST(LockBetweenProcesses, WhoBecomesThirdSeesToAHolderThatDies) {
  TempStore const store;
  auto client = open(store.url());
  Remote holder(store.url());
  ASSERT_GT(fence_of(holder.ask("lock x 1500 0")), Fence());
  std::array<Remote, 4> waiters{Remote(store.url()), Remote(store.url()), Remote(store.url()),
                                Remote(store.url())};
  for (std::uint32_t i = 0; i < waiters.size(); ++i) {
    waiters[i].send(i == 0 ? "lock x 1500 1000" : "lock x 1500 60000");
    ASSERT_TRUE(in_line(client, i + 1));
  }
  ASSERT_EQ(waiters[0].answer(), "busy timed_out");
  waiters[1].signal(SIGSTOP);
  waiters[2].signal(SIGSTOP);
  holder.kill();
  EXPECT_GT(fence_of(waiters[3].answer(5s)), Fence())
      << "should be a ttl and two offers; who is further back looks every five ttl";
}

TEST(LockBetweenProcesses, AnOfferToAFrozenWaiterGoesOnToTheNext) {
  TempStore const store;
  auto client = open(store.url());
  Remote holder(store.url());
  Remote frozen(store.url());
  Remote next(store.url());
  ASSERT_GT(fence_of(holder.ask("lock x 60000 0")), Fence());
  frozen.send("lock x 60000 120000");
  ASSERT_TRUE(in_line(client, 1));
  next.send("lock x 60000 120000");
  ASSERT_TRUE(in_line(client, 2));
  frozen.signal(SIGSTOP);
  ASSERT_EQ(holder.ask("release"), "released");
  EXPECT_GT(fence_of(next.answer(20s)), Fence())
      << "should be the offer's second, not the end of the lease that was released";
  frozen.signal(SIGCONT);
}

TEST(LockBetweenProcesses, AHolderWithAShorterTtlThatDiesIsReplacedAtItsOwnEnd) {
  TempStore const store;
  auto client = open(store.url());
  Remote holder(store.url());
  Remote brief(store.url());
  Remote next(store.url());
  ASSERT_GT(fence_of(holder.ask("lock x 60000 0")), Fence());
  brief.send("lock x 1000 120000");
  ASSERT_TRUE(in_line(client, 1));
  next.send("lock x 60000 120000");
  ASSERT_TRUE(in_line(client, 2));
  ASSERT_EQ(holder.ask("release"), "released");
  ASSERT_GT(fence_of(brief.answer(20s)), Fence());
  brief.kill();
  EXPECT_GT(fence_of(next.answer(20s)), Fence())
      << "should be a ttl of 1 s, not the end of the lease before it";
}

TEST(LockBetweenProcesses, AHolderIsToldWhenItsLockIsBroken) {
  TempStore const store;
  Remote holder(store.url());
  ASSERT_GT(fence_of(holder.ask("lock x 30000 0")), Fence());
  holder.send("await_lost 20000");
  ::usleep(300'000);  // longer than it takes until the holder listens; only speeds the test up
  auto client = open(store.url());
  EXPECT_EQ(client.break_lock("x", "deploy"), BreakResult::asked);
  EXPECT_TRUE(holder.answer().starts_with("lost broken "));
  EXPECT_TRUE(client.is_locked("x")) << "not free before the holder let go";
  EXPECT_EQ(holder.ask("release"), "lost broken");
  EXPECT_FALSE(client.is_locked("x"));
}

TEST(LockBetweenProcesses, AForkedChildHoldsNothingAndReleasesNothing) {
  TempStore const store;
  auto client = open(store.url());
  auto lock = client.try_lock("x", {.ttl = 30s});
  ASSERT_TRUE(lock);
  auto const child = ::fork();
  if (child == 0) {
    int wrong = lock->held() ? 1 : 0;
    try {
      client.is_locked("x");
      wrong += 2;
    } catch (EngineError const& error) {
      if (error.code() != ErrorCode::aborted) wrong += 4;
    }
    {
      auto const dying = std::move(*lock);
    }
    ::_exit(wrong);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(WEXITSTATUS(status), 0);
  EXPECT_TRUE(lock->held());
  EXPECT_TRUE(client.owns(lock->handle()));
}

TEST(LockBetweenProcesses, ADeletedStoreEndsEveryLock) {
  TempStore const store;
  Remote holder(store.url());
  ASSERT_GT(fence_of(holder.ask("lock x 30000 0")), Fence());
  holder.send("await_lost 20000");
  ::usleep(300'000);  // as above
  std::filesystem::remove(store.path());
  auto const answer = holder.answer();
  EXPECT_TRUE(answer.starts_with("lost store_gone ")) << answer;
  EXPECT_TRUE(holder.ask("lock y 1000 0").starts_with("error "));
}

TEST(LockBetweenProcesses, TenThousandLocksStayHeld) {
  TempStore const store;
  Remote holder(store.url());
  ASSERT_EQ(holder.ask("hold 10000 9000", 120s), "holding 10000");
  ::usleep(10'000'000);  // longer than a ttl: only renewals can keep them
  EXPECT_EQ(holder.ask("count_held"), "10000");
}

TEST(LockBetweenProcesses, AnIdleWaiterCostsNoCpu) {
  TempStore const store;
  Remote holder(store.url());
  Remote waiter(store.url());
  ASSERT_GT(fence_of(holder.ask("lock x 30000 0")), Fence());
  EXPECT_EQ(waiter.ask("lock x 30000 1"), "busy timed_out");  // start-up is not what we measure
  auto const before = std::stol(waiter.ask("cpu"));
  EXPECT_EQ(waiter.ask("lock x 30000 3000"), "busy timed_out");
  auto const used = std::stol(waiter.ask("cpu")) - before;
  EXPECT_LT(used, 60'000) << "microseconds in 3 s: a loop that polls would use more";
}

TEST(LockBetweenProcesses, AnHourOfWallClockEitherWayChangesNothing) {
  for (auto const step : {1h, -1h}) {
    TempStore const store;
    ShiftedClock const clock(store.folder() / "shift");
    Remote holder(store.url(), clock.environment());
    Remote other(store.url(), clock.environment());
    ASSERT_GT(fence_of(holder.ask("lock x 1500 0")), Fence());
    clock.set(step);
    EXPECT_EQ(other.ask("lock x 1500 0"), "busy held");
    EXPECT_EQ(other.ask("lock x 1500 3000"), "busy timed_out") << "two ttl long";
    EXPECT_EQ(holder.ask("held"), "yes");
    holder.kill();
    EXPECT_GT(fence_of(other.ask("lock x 1500 20000")), Fence());
  }
}

}  // namespace
}  // namespace holt::test
