// SPDX-License-Identifier: Apache-2.0
// Callers that ask in the same turn of the engine's loop share a command. Each is answered as if it
// had asked alone, whatever becomes of the others and of the connection.

#include "redis/batches.hpp"
#include "redis/scripted_server.hpp"

#include <thread>

namespace holt::test {
namespace {

TEST_F(Batches, OneCommandServesMany) {
  auto const all = names(20);
  callers_.know(all);
  proxy_.forget();
  auto const owner = callers_.owner();
  std::vector<Taken*> taken;
  for (auto const& name : all) taken.push_back(&callers_.acquire(name, owner));
  callers_.run_turn();
  EXPECT_EQ(calls(redis::scripts::acquire_many), 1);
  EXPECT_EQ(all_calls(), 1);
  for (std::size_t i = 0; i < all.size(); ++i) {
    auto const found = other_.find(all[i]);
    ASSERT_TRUE(found) << all[i];
    EXPECT_EQ(found->owner, owner);
    EXPECT_EQ(found->fence, fence_of(*taken[i])) << all[i];
    EXPECT_EQ(found->ttl, 30s);
  }
  EXPECT_EQ(other_.list().leases.size(), all.size());
  std::vector<Freed*> freed;
  for (auto const& name : all) freed.push_back(&callers_.release(name, owner));
  callers_.run_turn();
  EXPECT_EQ(calls(redis::scripts::release_many), 1);
  EXPECT_EQ(all_calls(), 2);
  for (auto const* const each : freed) expect_freed(*each);
  EXPECT_TRUE(other_.list().leases.empty());
}

TEST_F(Batches, NoCommandKeepsTheServerForLong) {
  auto const all = names(100);
  callers_.know(all);
  proxy_.forget();
  auto const owner = callers_.owner();
  for (auto const& name : all) callers_.acquire(name, owner);
  callers_.run_turn();
  EXPECT_EQ(calls(redis::scripts::acquire_many), 2);
  EXPECT_EQ(other_.list().leases.size(), all.size());
}

TEST_F(Batches, OneAloneIsAskedAsAlways) {
  callers_.know({"x"});
  proxy_.forget();
  auto const owner = callers_.owner();
  callers_.acquire("x", owner);
  callers_.run_turn();
  callers_.release("x", owner);
  callers_.run_turn();
  EXPECT_EQ(calls(redis::scripts::acquire), 1);
  EXPECT_EQ(calls(redis::scripts::release), 1);
  EXPECT_EQ(all_calls(), 2);
}

TEST_F(Batches, EachAcquireHasItsOwnAnswer) {
  callers_.know({"free", "busy", "own", "offered", "broken", "resting", "ended", "stranger's"});
  auto const owner = callers_.owner();
  auto const holder = other_.owner();
  auto const busy_fence = other_.take("busy", holder);
  auto const own_fence = other_.take("own", owner);
  auto const first = other_.owner();
  other_.take("offered", first);
  ASSERT_FALSE(other_.stand_in_line("offered", holder));
  ASSERT_TRUE(other_.release("offered", first));
  server_.command({"PEXPIRE", lease("offered"), "60000"});  // on a slow machine too
  auto const offered_fence = other_.find("offered")->fence;
  other_.take("broken", owner);
  ASSERT_EQ(other_.break_lease("broken", "stop it"), BreakResult::asked);
  other_.take("ended", holder, 1ms);
  ASSERT_TRUE(wait_until([&] { return !other_.find("ended"); }));
  server_.command({"RPUSH", lease("stranger's"), "x"});
  proxy_.forget();

  auto& free = callers_.acquire("free", owner);
  auto& busy = callers_.acquire("busy", owner);
  auto& own = callers_.acquire("own", owner);
  auto& offered = callers_.acquire("offered", holder);
  auto& broken = callers_.acquire("broken", owner);
  auto& ended = callers_.acquire("ended", owner);
  auto& strangers = callers_.acquire("stranger's", owner);
  auto& last = callers_.acquire("resting", owner);
  callers_.run_turn();
  EXPECT_EQ(calls(redis::scripts::acquire_many), 1);
  EXPECT_EQ(other_.find("free")->fence, fence_of(free));
  ASSERT_TRUE(busy.answer && !*busy.answer);
  EXPECT_EQ(busy.answer->error().holder, holder);
  EXPECT_EQ(busy.answer->error().fence, busy_fence);
  EXPECT_GT(busy.answer->error().expires_in, 20s);
  EXPECT_EQ(busy.answer->error().place, 0U);
  EXPECT_EQ(fence_of(own), own_fence) << "asking again is harmless";
  EXPECT_EQ(fence_of(offered), offered_fence);
  EXPECT_FALSE(other_.find("offered")->offered) << "confirmed";
  ASSERT_TRUE(broken.answer && !*broken.answer) << "not to be had again before it is free";
  EXPECT_EQ(other_.find("ended")->fence, fence_of(ended));
  ASSERT_TRUE(strangers.error);
  EXPECT_EQ(strangers.error->code(), ErrorCode::internal);
  EXPECT_EQ(other_.find("resting")->fence, fence_of(last));
}

TEST_F(Batches, EachReleaseHasItsOwnAnswer) {
  callers_.know({"held", "another's", "nobody's", "waited for", "in line", "ended", "last"});
  auto const owner = callers_.owner();
  auto const another = other_.owner();
  auto const waiter = other_.owner();
  other_.take("held", owner);
  other_.take("another's", another);
  other_.take("waited for", owner);
  ASSERT_FALSE(other_.stand_in_line("waited for", waiter));
  other_.take("in line", another);
  ASSERT_FALSE(other_.stand_in_line("in line", owner));
  other_.take("ended", owner, 1ms);
  ASSERT_TRUE(wait_until([&] { return !other_.find("ended"); }));
  other_.take("last", owner);
  proxy_.forget();

  auto& held = callers_.release("held", owner);
  auto& anothers = callers_.release("another's", owner);
  auto& nobodys = callers_.release("nobody's", owner);
  auto& waited_for = callers_.release("waited for", owner);
  auto& in_line = callers_.release("in line", owner);
  auto& ended = callers_.release("ended", owner);
  auto& last = callers_.release("last", owner);
  callers_.run_turn();
  EXPECT_EQ(calls(redis::scripts::release_many), 1);
  expect_freed(held);
  EXPECT_FALSE(is_there("held"));
  expect_lost(anothers, LossReason::taken);
  EXPECT_EQ(other_.find("another's")->owner, another);
  expect_lost(nobodys, LossReason::taken);
  expect_freed(waited_for);
  EXPECT_EQ(other_.find("waited for")->owner, waiter) << "it is the next one's";
  expect_freed(in_line);
  EXPECT_EQ(other_.find("in line")->waiting, 0U);
  expect_lost(ended, LossReason::expired);
  EXPECT_FALSE(is_there("ended"));
  expect_freed(last);
  EXPECT_FALSE(is_there("last"));
}

TEST_F(Batches, ARestAfterAnExpiryIsKept) {
  auto const owner = callers_.owner();
  LeaseRequest request({Name("x")}, owner, 1ms);
  request.delay = 20s;
  ASSERT_TRUE(run(other_.engine().leases().acquire(request, other_.deadline())));
  ASSERT_TRUE(wait_until([&] { return other_.find("x")->expires_in == 0ms; }));
  callers_.know({"y", "z"});
  auto& x = callers_.acquire("x", callers_.owner());
  callers_.acquire("y", owner);
  callers_.acquire("z", owner);
  callers_.run_turn();
  EXPECT_TRUE(x.answer && !*x.answer) << "it rests";
  callers_.release("y", owner);
  auto& late = callers_.release("x", owner);
  callers_.run_turn();
  expect_lost(late, LossReason::expired);
}

TEST_F(Batches, OneNameKeepsTheOrderOfItsCallers) {
  callers_.know({"x", "y", "z"});
  auto const before = callers_.owner();
  auto const after = callers_.owner();
  callers_.acquire("x", before);
  callers_.acquire("y", before);
  callers_.run_turn();
  auto& x_freed = callers_.release("x", before);
  auto& x = callers_.acquire("x", after);
  auto& y = callers_.acquire("y", after);
  auto& y_freed = callers_.release("y", before);
  auto& z = callers_.acquire("z", before);
  auto& z_again = callers_.acquire("z", after);
  auto& z_freed = callers_.release("z", before);
  callers_.run_turn();
  expect_freed(x_freed);
  (void)fence_of(x);
  EXPECT_TRUE(y.answer && !*y.answer) << "it was not free yet";
  expect_freed(y_freed);
  (void)fence_of(z);
  EXPECT_TRUE(z_again.answer && !*z_again.answer);
  expect_freed(z_freed);
}

/// Cut before any byte, in the middle of the command, and anywhere in the reply.
TEST_F(Batches, ABreakInTheMiddleTellsEachTheTruth) {
  auto const all = names(20);
  struct Cut {
    Way way;
    std::uint64_t bytes;
  };
  for (Cut const cut : {Cut{Way::to_server, 0}, Cut{Way::to_server, 700}, Cut{Way::to_client, 0},
                        Cut{Way::to_client, 2}, Cut{Way::to_client, 100}}) {
    proxy_.pass();
    callers_.know(all);
    auto const owner = callers_.owner();
    proxy_.cut_after(cut.way, cut.bytes);
    std::vector<Taken*> taken;
    for (auto const& name : all) taken.push_back(&callers_.acquire(name, owner));
    callers_.run_turn();
    for (std::size_t i = 0; i < all.size(); ++i) {
      ASSERT_TRUE(taken[i]->error) << "nobody noticed";
      EXPECT_TRUE(taken[i]->error->retryable());
      if (taken[i]->error->outcome() == Outcome::not_applied) {
        EXPECT_FALSE(is_there(all[i]));
      }
      EXPECT_EQ(is_there(all[i]), cut.way == Way::to_client);
    }
    proxy_.pass();
    server_.command({"FLUSHALL"});
  }
}

TEST_F(Batches, TheFirstDeadlineThatPassesInSilenceEndsTheConnection) {
  callers_.know({"x", "y", "z"});
  auto const owner = callers_.owner();
  proxy_.hold(Way::to_client);
  auto& x = callers_.acquire("x", owner, 20s);
  auto& y = callers_.acquire("y", owner, 50ms);
  auto& z = callers_.acquire("z", owner, 20s);
  callers_.turn();
  // A server that is silent for so long is left: they are told at once, and the truth.
  ASSERT_TRUE(callers_.ended());
  EXPECT_EQ(y.error->code(), ErrorCode::network_timeout);
  for (auto const* const each : {&x, &y, &z}) {
    ASSERT_TRUE(each->error);
    EXPECT_EQ(each->error->outcome(), Outcome::unknown);
  }
}

/// Another answer came meanwhile, so the connection is kept, and the late answer is dropped.
TEST_F(Batches, EachHasItsOwnDeadline) {
  callers_.know({"w", "x", "y", "z"});
  auto const owner = callers_.owner();
  proxy_.delay(Way::to_client, 600ms);
  auto& w = callers_.acquire("w", owner, 20s);
  callers_.turn();
  std::this_thread::sleep_for(300ms);  // its answer comes after the next calls were sent
  auto& x = callers_.acquire("x", owner, 20s);
  auto& y = callers_.acquire("y", owner, 450ms);
  auto& z = callers_.acquire("z", owner, 20s);
  callers_.run_turn();
  (void)fence_of(w);
  (void)fence_of(x);
  (void)fence_of(z);
  ASSERT_TRUE(y.error) << "the answer was not late";
  EXPECT_EQ(y.error->code(), ErrorCode::network_timeout);
  EXPECT_EQ(y.error->outcome(), Outcome::unknown);
  EXPECT_TRUE(is_there("y")) << "it happened all the same";
}

TEST_F(Batches, AServerThatForgotTheScriptsLearnsThemAgain) {
  auto const all = names(5);
  callers_.know(all);
  for (int round = 0; round < 3; ++round) {
    auto const owner = callers_.owner();
    if (round < 2) server_.command({"SCRIPT", "FLUSH"});
    proxy_.forget();
    for (int turn = 0; turn < 2; ++turn) {
      std::vector<Taken*> taken;
      std::vector<Freed*> freed;
      for (auto const& name : all) taken.push_back(&callers_.acquire(name, owner));
      callers_.run_turn();
      for (auto const* const each : taken) (void)fence_of(*each);
      for (auto const& name : all) freed.push_back(&callers_.release(name, owner));
      callers_.run_turn();
      for (auto const* const each : freed) expect_freed(*each);
    }
    if (round == 2) {
      EXPECT_EQ(all_calls(), 4) << "it knows them";
    }
  }
}
TEST(BatchAnswers, OfAnotherShapeAreErrorsNotCrashes) {
  std::mutex mutex;
  std::string next;
  ScriptedServer const server([&](ScriptedServer::Words const& words) -> std::string {
    std::scoped_lock const lock(mutex);
    if (words.at(1) == redis::scripts::release_many.sha) return next;
    return ":1\r\n";
  });
  for (auto const* const bytes :
       {"+OK\r\n", "$-1\r\n", "*0\r\n", "*1\r\n:1\r\n", "*3\r\n:1\r\n:1\r\n:1\r\n",
        "*2\r\n+x\r\n*0\r\n", "-ERR the moon\r\n", "-READONLY no\r\n", "*2\r\n:1\r\n"}) {
    SCOPED_TRACE(bytes);
    Callers callers(server.url());
    {
      std::scoped_lock const lock(mutex);
      next = bytes;
    }
    auto const owner = callers.owner();
    callers.release("first", owner);
    callers.run_turn();
    auto& x = callers.release("x", owner, 300ms);
    auto& y = callers.release("y", owner, 300ms);
    callers.run_turn();
    EXPECT_TRUE(x.error);
    EXPECT_TRUE(y.error);
  }
}

}  // namespace
}  // namespace holt::test
