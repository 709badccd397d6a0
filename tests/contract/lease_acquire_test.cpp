// SPDX-License-Identifier: Apache-2.0
// LeaseStore::acquire of one name: granted, busy, asked again, refused input.

#include "contract/engine_test.hpp"
#include "contracts/home.hpp"

#include <holt/error.hpp>

#include <boost/asio/use_future.hpp>

#include <future>
#include <thread>

namespace holt::test {
namespace {

class LeaseAcquire : public EngineTest {};
HOLT_ON_EVERY_STORE(LeaseAcquire);

TEST_P(LeaseAcquire, GrantsAFreeNameWithOneFence) {
  auto const granted = client_.acquire("a", client_.owner());
  ASSERT_TRUE(granted);
  ASSERT_EQ(granted->fences.size(), 1U);
  EXPECT_GT(granted->fences[0], Fence());
}

TEST_P(LeaseAcquire, IsBusyWhileAnotherOwnerHoldsIt) {
  auto const first = client_.owner();
  auto const fence = client_.take("a", first, {.ttl = 10s, .note = "the first"});
  auto const second = client_.acquire("a", client_.owner());
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().why, Busy::Why::held);
  EXPECT_EQ(second.error().holder, first);
  EXPECT_EQ(second.error().fence, fence);
  EXPECT_EQ(second.error().note, "the first");
  EXPECT_EQ(second.error().place, 0U);
  EXPECT_GT(second.error().expires_in, 5s);
  EXPECT_LE(second.error().expires_in, 10s);
}

TEST_P(LeaseAcquire, IsBusyForAnotherClientToo) {
  Client other(*store_);
  client_.take("a", client_.owner());
  EXPECT_FALSE(other.acquire("a", other.owner()));
}

TEST_P(LeaseAcquire, NamesAreIndependent) {
  client_.take("a", client_.owner());
  client_.take("b", client_.owner());
}

TEST_P(LeaseAcquire, TheHolderGetsTheSameFenceAgain) {
  auto const owner = client_.owner();
  auto const fence = client_.take("a", owner);
  EXPECT_EQ(client_.take("a", owner), fence);
}

TEST_P(LeaseAcquire, TheHolderGetsAFreshTtl) {
  auto const owner = client_.owner();
  client_.take("a", owner, {.ttl = 1s});
  client_.take("a", owner, {.ttl = 20s, .note = "longer"});
  auto const found = client_.find("a");
  ASSERT_TRUE(found);
  EXPECT_GT(found->expires_in, 10s);
  EXPECT_EQ(found->ttl, 20s);
  EXPECT_EQ(found->note, "longer");
}

TEST_P(LeaseAcquire, WhatIsHeldNeverEndsEarlierForAskingAgain) {
  auto const owner = client_.owner();
  client_.take("a", owner, {.ttl = 60s});
  client_.take("a", owner, {.ttl = 1s});
  EXPECT_GT(client_.find("a")->expires_in, 30s);
}

TEST_P(LeaseAcquire, ABusyAnswerChangesNothing) {
  auto const owner = client_.owner();
  auto const fence = client_.take("a", owner, {.note = "mine"});
  EXPECT_FALSE(client_.acquire("a", client_.owner(), {.note = "not mine"}));
  auto const found = client_.find("a");
  ASSERT_TRUE(found);
  EXPECT_EQ(found->owner, owner);
  EXPECT_EQ(found->fence, fence);
  EXPECT_EQ(found->note, "mine");
  EXPECT_EQ(found->waiting, 0U);
}

TEST_P(LeaseAcquire, TakesANoteOfUpTo4KiB) {
  std::string const note(LeaseStore::max_note_bytes, 'n');
  client_.take("a", client_.owner(), {.note = note});
  EXPECT_EQ(client_.find("a")->note, note);
  EXPECT_THROW(client_.acquire("b", client_.owner(), {.note = note + "n"}), InvalidArgument);
}

TEST_P(LeaseAcquire, RefusesNoNameTooManyNamesAndTheSameNameTwice) {
  auto const owner = client_.owner();
  EXPECT_THROW(client_.acquire_all({}, owner), InvalidArgument);
  EXPECT_THROW(client_.acquire_all({"1", "2", "3", "4", "5", "6", "7", "8", "9"}, owner),
               InvalidArgument);
  EXPECT_THROW(client_.acquire_all({"a", "a"}, owner), InvalidArgument);
}

TEST_P(LeaseAcquire, NamesMayHoldAnyPrintableText) {
  Name const strange("ümlaut / %'\"; -- \\ 名前");
  auto const owner = client_.owner();
  client_.take(strange, owner);
  ASSERT_TRUE(client_.find(strange));
  EXPECT_EQ(client_.find(strange)->name, strange);
  EXPECT_TRUE(client_.release(strange, owner));
}

TEST_P(LeaseAcquire, WorksFromTheLoopOfTheEnvironment) {
  auto& leases = client_.engine().leases();
  std::promise<bool> granted;
  auto const owner = client_.owner();
  asio::co_spawn(store_->env().executor(),
                 leases.acquire(LeaseRequest({"a"}, owner, 1s), client_.deadline()),
                 [&](std::exception_ptr error, auto const& answer) {
                   granted.set_value(!error && answer.has_value());
                 });
  EXPECT_TRUE(granted.get_future().get());
}

asio::awaitable<bool> acquires_here(LeaseStore& leases, LeaseRequest request, Instant deadline) {
  auto const before = std::this_thread::get_id();
  auto const answer = co_await leases.acquire(std::move(request), deadline);
  co_return answer.has_value() && std::this_thread::get_id() == before;
}

TEST_P(LeaseAcquire, WhoAsksAtHomeIsAnsweredThere) {
  auto* const home = dynamic_cast<Home*>(&client_.engine());
  if (home == nullptr) GTEST_SKIP() << "this engine works on the thread that asks";
  auto work = acquires_here(client_.engine().leases(), LeaseRequest({"a"}, client_.owner(), 1s),
                            client_.deadline());
  auto const attention = home->attention();  // so that its own thread does it
  EXPECT_TRUE(asio::co_spawn(home->home(), std::move(work), asio::use_future).get());
}

}  // namespace
}  // namespace holt::test
