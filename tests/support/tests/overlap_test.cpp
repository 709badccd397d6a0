// SPDX-License-Identifier: Apache-2.0
// The judges of exclusion: OverlapLog and FenceRegister.

#include "support/fence_register.hpp"
#include "support/overlap_log.hpp"
#include "support/temporary_folder.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sys/wait.h>
#include <unistd.h>

#include <thread>
#include <vector>

namespace holt::test {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

bool yes() { return true; }
bool no() { return false; }

/// So that what comes next has a later time.
void tick() {
  auto const now = BootClock::now();
  while (BootClock::now() <= now) {
  }
}

class OverlapLogTest : public testing::Test {
 protected:
  [[nodiscard]] std::vector<std::string> verdict() const { return overlaps_in(file_); }

  TemporaryFolder folder_;
  std::string file_ = folder_.file("overlap.log");
  OverlapLog log_{file_};
};

TEST_F(OverlapLogTest, FindsNothingWhereOneFollowsTheOther) {
  auto first = log_.enter("x", Fence(1), "a");
  EXPECT_TRUE(first.still(yes));
  first.leave();
  tick();
  auto second = log_.enter("x", Fence(2), "b");
  auto other_name = log_.enter("y", Fence(1), "b");
  EXPECT_TRUE(second.still(yes));
  EXPECT_THAT(verdict(), IsEmpty());
  EXPECT_EQ(tenures_in(file_), 3U);
}

TEST_F(OverlapLogTest, FindsTwoAtOnce) {
  auto first = log_.enter("x", Fence(1), "a");
  auto second = log_.enter("x", Fence(2), "b");
  EXPECT_TRUE(first.still(yes));
  EXPECT_THAT(verdict(), ElementsAre(HasSubstr("b (fence 2")));
}

TEST_F(OverlapLogTest, FindsOneThatOverlapsNotThePreviousButTheOneBefore) {
  auto first = log_.enter("x", Fence(1), "a");
  auto second = log_.enter("x", Fence(2), "b");
  second.leave();
  tick();
  auto third = log_.enter("x", Fence(3), "c");
  first.leave();
  EXPECT_THAT(verdict(), ElementsAre(HasSubstr("b (fence 2"), HasSubstr("c (fence 3")));
}

TEST_F(OverlapLogTest, ATrustedDeadlineCountsUntilTheHolderLeaves) {
  auto first = log_.enter("x", Fence(1), "a", BootClock::now() + 1h);
  auto second = log_.enter("x", Fence(2), "b", BootClock::now() + 1h);
  EXPECT_EQ(verdict().size(), 1U) << "the first still trusts its deadline";
  second.leave(BootClock::now() + 1h);
  tick();
  log_.enter("y", Fence(1), "a", BootClock::now() + 1h).leave();
  tick();
  auto third = log_.enter("y", Fence(2), "b", BootClock::now() + 1h);
  EXPECT_EQ(verdict().size(), 1U) << "who has left trusts nothing";
}

TEST_F(OverlapLogTest, AHolderThatIsToldOfItsLossBelievesNoMore) {
  auto first = log_.enter("x", Fence(1), "a", BootClock::now() + 1h);
  EXPECT_FALSE(first.still(no));
  tick();
  auto second = log_.enter("x", Fence(2), "b");
  EXPECT_THAT(verdict(), IsEmpty());
}

TEST_F(OverlapLogTest, AFrozenHolderThatNoticesLateIsNotBlamed) {
  auto first = log_.enter("x", Fence(1), "a", BootClock::now());
  tick();
  auto second = log_.enter("x", Fence(2), "b");
  EXPECT_FALSE(first.still(no));
  first.leave();
  EXPECT_THAT(verdict(), IsEmpty());
}

TEST_F(OverlapLogTest, FindsAFenceThatDoesNotGrow) {
  log_.enter("x", Fence(7), "a").leave();
  tick();
  log_.enter("x", Fence(7), "b").leave();
  tick();
  log_.enter("x", Fence(6), "c").leave();
  EXPECT_THAT(verdict(), ElementsAre(HasSubstr("b (fence 7"), HasSubstr("c (fence 6")));
}

TEST_F(OverlapLogTest, TakesNotesFromManyProcesses) {
  constexpr int processes = 4;
  constexpr int rounds = 200;
  for (int i = 0; i < processes; ++i) {
    if (::fork() == 0) {
      OverlapLog log(file_);
      auto const name = std::to_string(i);
      for (int round = 1; round <= rounds; ++round) {
        log.enter(name, Fence(static_cast<std::uint64_t>(round)), name).leave();
      }
      ::_exit(0);
    }
  }
  for (int i = 0; i < processes; ++i) ::wait(nullptr);
  EXPECT_EQ(tenures_in(file_), processes * rounds);
  EXPECT_THAT(verdict(), IsEmpty());
}

TEST(FenceRegisterTest, RefusesALowerFence) {
  FenceRegister resource;
  EXPECT_TRUE(resource.write(Fence(5)));
  EXPECT_TRUE(resource.write(Fence(5)));
  EXPECT_FALSE(resource.write(Fence(4)));
  EXPECT_TRUE(resource.write(Fence(6)));
  EXPECT_EQ(resource.highest(), Fence(6));
  EXPECT_EQ(resource.accepted(), 3U);
  EXPECT_EQ(resource.refused(), 1U);
}

TEST(FenceRegisterTest, IsOneForAllProcessesOfItsFile) {
  TemporaryFolder const folder;
  auto const file = folder.file("register");
  FenceRegister resource(file);
  if (::fork() == 0) {
    FenceRegister same(file);
    ::_exit(same.write(Fence(9)) ? 0 : 1);
  }
  int status = 1;
  ::wait(&status);
  EXPECT_EQ(status, 0);
  EXPECT_FALSE(resource.write(Fence(8)));
  EXPECT_EQ(resource.highest(), Fence(9));
}

TEST(FenceRegisterTest, NeverGoesBackUnderManyWriters) {
  FenceRegister resource;
  {
    std::vector<std::jthread> writers;
    for (std::uint64_t i = 1; i <= 4; ++i) {
      writers.emplace_back([&resource, i] {
        for (std::uint64_t fence = i; fence <= 4000; fence += 4) resource.write(Fence(fence));
      });
    }
  }
  EXPECT_EQ(resource.highest(), Fence(4000));
  EXPECT_EQ(resource.accepted() + resource.refused(), 4000U);
}

}  // namespace
}  // namespace holt::test
