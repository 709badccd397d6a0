// SPDX-License-Identifier: Apache-2.0
#include "primitives/workbench.hpp"

#include "env/real_env.hpp"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

namespace holt {
namespace {

using namespace std::chrono_literals;

class WorkbenchTest : public testing::Test {
 protected:
  std::shared_ptr<HeldTask> task(std::uint64_t number, std::int32_t priority = 5,
                                 std::chrono::milliseconds timeout = 0ms) {
    Task task;
    task.id = TaskId("q", number);
    task.priority = priority;
    task.timeout = timeout;
    return std::make_shared<HeldTask>(env_, task, claim_, wake_);
  }
  std::uint64_t take() {
    auto const taken = bench_.take(env_.now());
    return taken ? taken->task().id.number() : 0;
  }

  RealEnv env_;
  Event wake_{env_};
  std::shared_ptr<HeldClaim> claim_ = [this] {
    auto claim = std::make_shared<HeldClaim>(1, Owner("inbox", std::string(22, 'a')), Fence(7));
    claim->trust(env_.now() + 1h);
    return claim;
  }();
  Workbench bench_{2, wake_};
};

TEST_F(WorkbenchTest, MoreUrgentTasksAreStartedFirstAndOthersInTheirOrder) {
  EXPECT_EQ(bench_.lay_out({task(1), task(2), task(3, 9)}), 2U);
  EXPECT_EQ(bench_.lay_out({task(4), task(5, 1)}), 0U) << "both runners are on their way";
  EXPECT_EQ(take(), 5U);
  EXPECT_EQ(take(), 1U);
  EXPECT_EQ(take(), 2U);
  EXPECT_EQ(take(), 4U);
  EXPECT_EQ(take(), 3U);
}

TEST_F(WorkbenchTest, ARunnerThatFindsNothingIsStartedAnewForWhatComesLater) {
  EXPECT_EQ(bench_.lay_out({task(1)}), 1U);
  auto const first = bench_.take(env_.now());
  EXPECT_EQ(bench_.load().busy, 1U);
  bench_.done(TaskEnd(first, TaskOutcome::completed), 1ms);
  EXPECT_EQ(take(), 0U);
  EXPECT_EQ(bench_.lay_out({task(2)}), 1U);
  EXPECT_EQ(bench_.typical(), 1ms);
  EXPECT_EQ(bench_.take_ended().size(), 1U);
}

TEST_F(WorkbenchTest, WhatIsClearedAwayWasNeverStarted) {
  [[maybe_unused]] auto const runners = bench_.lay_out({task(1), task(2), task(3)});
  EXPECT_EQ(take(), 1U);
  bench_.clear_away([](HeldTask const& task) { return task.task().id.number() == 3; });
  auto const ended = bench_.take_ended();
  ASSERT_EQ(ended.size(), 1U);
  EXPECT_EQ(ended[0].outcome, TaskOutcome::untouched);
  EXPECT_EQ(ended[0].held->stage(), HeldTask::Stage::done);
  EXPECT_EQ(bench_.load().ready, 1U);
}

TEST_F(WorkbenchTest, NothingOfALostClaimIsStarted) {
  [[maybe_unused]] auto const runners = bench_.lay_out({task(1), task(2)});
  claim_->lose();
  EXPECT_EQ(take(), 0U);
  auto const ended = bench_.take_ended();
  ASSERT_EQ(ended.size(), 2U);
  EXPECT_EQ(ended[1].outcome, TaskOutcome::untouched);
}

TEST_F(WorkbenchTest, ATimeoutCountsFromTheStart) {
  auto const timed = task(1, 5, 50ms);
  EXPECT_EQ(timed->due(), Instant::max());
  [[maybe_unused]] auto const runners = bench_.lay_out({timed});
  auto const now = env_.now();
  ASSERT_TRUE(bench_.take(now));
  EXPECT_EQ(timed->due(), now + 50ms);
}

TEST_F(WorkbenchTest, ProgressIsTheLastThatWasSaidUntilTheClaimIsLost) {
  auto const held = task(1);
  EXPECT_TRUE(held->progress("10 %"));
  EXPECT_TRUE(held->progress("20 %"));
  EXPECT_TRUE(claim_->noted());
  EXPECT_EQ(held->take_note(), "20 %");
  held->put_back("20 %");
  EXPECT_TRUE(held->progress("30 %"));
  held->put_back("20 %");
  EXPECT_EQ(held->take_note(), "30 %") << "older news are dropped";
  claim_->lose();
  EXPECT_FALSE(held->progress("40 %"));
}

TEST_F(WorkbenchTest, TrustIsNeverMovedBack) {
  auto const until = claim_->until();
  claim_->trust(until - 1s);
  EXPECT_EQ(claim_->until(), until);
  claim_->lose();
  EXPECT_FALSE(claim_->held(env_.now()));
  EXPECT_EQ(claim_->deadline(), until) << "it stays readable";
}

}  // namespace
}  // namespace holt
