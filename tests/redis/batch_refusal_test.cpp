// SPDX-License-Identifier: Apache-2.0
// A shared command where the server has no memory or no numbers left, or a stranger wrote our keys.

#include "redis/batches.hpp"

namespace holt::test {
namespace {

TEST_F(Batches, OutOfMemoryNobodyGetsAnything) {
  auto const all = names(5);
  callers_.know(all);
  auto const owner = callers_.owner();
  auto const held = callers_.owner();
  for (auto const& name : {"name-0", "name-1"}) callers_.acquire(name, held);
  callers_.run_turn();
  server_.command({"CONFIG", "SET", "maxmemory", "1"});
  auto& x = callers_.acquire("name-2", owner);
  auto& y = callers_.acquire("name-3", owner);
  auto& busy = callers_.acquire("name-1", owner);
  callers_.run_turn();
  for (auto const* const each : {&x, &y}) {
    ASSERT_TRUE(each->error);
    EXPECT_EQ(each->error->code(), ErrorCode::rate_limited);
    EXPECT_EQ(each->error->outcome(), Outcome::not_applied);
  }
  EXPECT_TRUE(busy.answer && !*busy.answer);
  EXPECT_FALSE(is_there("name-2"));
  EXPECT_FALSE(is_there("name-3"));
  auto& zero = callers_.release("name-0", held);
  auto& one = callers_.release("name-1", held);
  callers_.run_turn();
  expect_freed(zero);
  expect_freed(one);
  server_.command({"CONFIG", "SET", "maxmemory", "0"});
}

/// An error for one, in the middle of the script, is nobody else's.
TEST_F(Batches, AStrangersKeyInTheMiddleIsNoTroubleForOthers) {
  auto const all = names(6);
  callers_.know(all);
  auto const owner = callers_.owner();
  auto const list = keys_.names(redis::shard_of("name-4"));
  server_.command({"SET", list, "no list"});
  std::vector<Taken*> taken;
  for (auto const& name : all) taken.push_back(&callers_.acquire(name, owner));
  callers_.run_turn();
  for (std::size_t i = 0; i < all.size(); ++i) {
    SCOPED_TRACE(all[i]);
    bool const spoilt = redis::shard_of(all[i]) == redis::shard_of("name-4");
    if (!spoilt) (void)fence_of(*taken[i]);
    EXPECT_EQ(taken[i]->error.has_value(), spoilt);
  }
  EXPECT_FALSE(is_there("name-4"));
  std::vector<Freed*> freed;
  for (auto const& name : all) freed.push_back(&callers_.release(name, owner));
  callers_.run_turn();
  for (std::size_t const i : {0, 1, 2, 3, 5}) {
    if (!freed[i]->error) expect_freed(*freed[i]);
  }
}

TEST_F(Batches, WithoutACounterNobodyGetsAnything) {
  auto const all = names(4);
  callers_.know(all);
  auto const owner = callers_.owner();
  auto const held = other_.owner();
  other_.take("name-3", held);
  server_.command({"SET", keys_.counter(0), "no hash"});
  std::vector<Taken*> taken;
  for (auto const& name : all) taken.push_back(&callers_.acquire(name, owner));
  callers_.run_turn();
  for (std::size_t const i : {0, 1, 2}) {
    ASSERT_TRUE(taken[i]->error);
    EXPECT_EQ(taken[i]->error->code(), ErrorCode::internal);
    EXPECT_FALSE(is_there(all[i]));
  }
  EXPECT_TRUE(taken[3]->answer && !*taken[3]->answer) << "who has it goes on having it";
}

/// It starts at the clock, and none of those that came together gets a number below it.
TEST_F(Batches, ACounterThatWasLostStartsAtTheClock) {
  auto const all = names(4);
  callers_.know(all);
  auto const owner = callers_.owner();
  auto const before = other_.take("before", owner);
  server_.command({"DEL", keys_.counter(0)});
  std::vector<Taken*> taken;
  for (auto const& name : all) taken.push_back(&callers_.acquire(name, owner));
  callers_.run_turn();
  for (auto const* const each : taken) EXPECT_GT(fence_of(*each), before);
}

TEST_F(Batches, WhereTooFewNumbersAreLeftEachIsAskedForAlone) {
  auto const all = names(4);
  callers_.know(all);
  auto const owner = callers_.owner();
  auto const last = (1ULL << 53U) - (1ULL << 33U);
  server_.command({"HSET", keys_.counter(0), "n", std::to_string(last - 2)});
  std::vector<Taken*> taken;
  for (auto const& name : all) taken.push_back(&callers_.acquire(name, owner));
  callers_.run_turn();
  EXPECT_EQ(fence_of(*taken[0]).value(), last - 1);
  EXPECT_EQ(fence_of(*taken[1]).value(), last);
  for (std::size_t const i : {2, 3}) {
    EXPECT_TRUE(taken[i]->error);
    EXPECT_FALSE(is_there(all[i]));
  }
}

}  // namespace
}  // namespace holt::test
