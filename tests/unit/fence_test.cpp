// SPDX-License-Identifier: Apache-2.0
// Fences as numbers and as text, and the memory that notices a store gone back in time.
#include <holt/fence.hpp>

#include "base/fence_memory.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <thread>
#include <vector>

namespace holt {
namespace {

TEST(FenceTest, PaddedHas19DigitsAndDecimalNone) {
  EXPECT_EQ(Fence(1).padded(), "0000000000000000001");
  EXPECT_EQ(Fence(1'760'000'000'000'000).padded(), "0001760000000000000");
  EXPECT_EQ(Fence(INT64_MAX).padded(), "9223372036854775807");
  EXPECT_EQ(Fence(42).decimal(), "42");
  EXPECT_EQ(Fence().decimal(), "0");
}

TEST(FenceTest, TextComparesAsTheNumberDoes) {
  std::uint64_t value = 1;
  for (int i = 0; i < 60; ++i, value *= 2) {
    EXPECT_LT(Fence(value - 1).padded(), Fence(value).padded());
    EXPECT_LT(Fence(value - 1), Fence(value));
  }
}

TEST(FenceTest, NoneIsBelowEveryOther) {
  EXPECT_LT(Fence(), Fence(1));
  EXPECT_EQ(Fence(), Fence(0));
}

TEST(FenceMemoryTest, AdmitsOnlyWhatIsAboveTheLast) {
  auto const memory = std::make_unique<FenceMemory>();
  EXPECT_TRUE(memory->admit("a", Fence(10)));
  EXPECT_FALSE(memory->admit("a", Fence(10)));
  EXPECT_FALSE(memory->admit("a", Fence(9)));
  EXPECT_TRUE(memory->admit("a", Fence(11)));
  EXPECT_FALSE(memory->admit("a", Fence(10)));
}

TEST(FenceMemoryTest, ARefusedFenceChangesNothing) {
  auto const memory = std::make_unique<FenceMemory>();
  EXPECT_TRUE(memory->admit("a", Fence(10)));
  EXPECT_FALSE(memory->admit("a", Fence(5)));
  EXPECT_FALSE(memory->admit("a", Fence(6)));
  EXPECT_TRUE(memory->admit("a", Fence(11)));
}

TEST(FenceMemoryTest, NamesDoNotDisturbEachOther) {
  auto const memory = std::make_unique<FenceMemory>();
  EXPECT_TRUE(memory->admit("a", Fence(10)));
  EXPECT_TRUE(memory->admit("b", Fence(3)));
  EXPECT_FALSE(memory->admit("b", Fence(3)));
  EXPECT_FALSE(memory->admit("a", Fence(4)));
}

TEST(FenceMemoryTest, ManyNamesNeverRefuseWrongly) {
  auto const memory = std::make_unique<FenceMemory>();
  for (int i = 0; i < 100'000; ++i) {
    ASSERT_TRUE(
        memory->admit("name-" + std::to_string(i), Fence(static_cast<std::uint64_t>(1 + i % 3))));
  }
}

TEST(FenceMemoryTest, RemembersMostOfAHundredNames) {
  auto const memory = std::make_unique<FenceMemory>();
  auto const name = [](int i) { return Name("name-" + std::to_string(i)); };
  for (int i = 0; i < 100; ++i) ASSERT_TRUE(memory->admit(name(i), Fence(5)));
  int noticed = 0;
  for (int i = 0; i < 100; ++i) noticed += memory->admit(name(i), Fence(4)) ? 0 : 1;
  EXPECT_GE(noticed, 80);
}

TEST(FenceMemoryTest, EachFenceIsAdmittedOnceAmongThreads) {
  auto const memory = std::make_unique<FenceMemory>();
  std::vector<std::vector<std::uint64_t>> admitted(4);
  {
    std::vector<std::jthread> threads;
    for (auto& mine : admitted) {
      threads.emplace_back([&memory, &mine] {
        for (std::uint64_t fence = 1; fence <= 2000; ++fence) {
          if (memory->admit("a", Fence(fence))) mine.push_back(fence);
        }
      });
    }
  }
  std::vector<std::uint64_t> all;
  for (auto const& mine : admitted) {
    EXPECT_TRUE(std::ranges::is_sorted(mine));
    all.insert(all.end(), mine.begin(), mine.end());
  }
  std::ranges::sort(all);
  EXPECT_EQ(std::ranges::adjacent_find(all), all.end());
  ASSERT_FALSE(all.empty());
  EXPECT_EQ(all.back(), 2000U);
}

}  // namespace
}  // namespace holt
