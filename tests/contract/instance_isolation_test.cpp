// SPDX-License-Identifier: Apache-2.0
// Two instances on one store see nothing of each other, through the public API and the bus of
// signals. Leases and records themselves: lease_instances_test.cpp.

#include "contract/engine_test.hpp"

#include <holt/holt.hpp>

#include <gmock/gmock.h>

namespace holt::test {
namespace {

using testing::IsEmpty;

class InstanceIsolation : public EngineTest {
 protected:
  Holt ours_ = open(store_->url(), {.instance = "ours"});
  Holt theirs_ = open(store_->url(), {.instance = "theirs"});
};
HOLT_ON_EVERY_ENGINE(InstanceIsolation);

TEST_P(InstanceIsolation, LocksOfTheSameName) {
  auto const one = ours_.try_lock("a");
  auto const other = theirs_.try_lock("a");
  ASSERT_TRUE(one && other);
  EXPECT_EQ(ours_.list().leases.size(), 1U);
  EXPECT_EQ(theirs_.break_lock("b", "nobody has it there"), BreakResult::not_held);
  EXPECT_EQ(theirs_.break_lock("a", "theirs alone", {.now = true}), BreakResult::freed);
  EXPECT_TRUE(ours_.is_locked("a"));
}

TEST_P(InstanceIsolation, ElectionsOfTheSameName) {
  auto one = ours_.election("e", {.id = "one"});
  auto other = theirs_.election("e", {.id = "other"});
  one.start();
  other.start();
  EXPECT_TRUE(comes_true([&] { return one.is_leader() && other.is_leader(); }));
  EXPECT_EQ(ours_.leader("e")->id, "one");
  EXPECT_EQ(theirs_.leader("e")->candidates, 0U);
  EXPECT_EQ(theirs_.resign_leader("nobody"), Resignation::not_leader);
}

TEST_P(InstanceIsolation, NodesAndEndpointsOfTheSamePolling) {
  EXPECT_TRUE(ours_.add_endpoint("p", "x"));
  EXPECT_THAT(theirs_.endpoints("p"), IsEmpty());
  auto one = ours_.polling("p", {.node = "one", .settle = 1ms});
  one.set_endpoints({"x"});
  one.start();
  EXPECT_TRUE(comes_true([&] { return ours_.nodes("p").size() == 1; }));
  EXPECT_THAT(theirs_.nodes("p"), IsEmpty());
  EXPECT_THAT(theirs_.nodes(), IsEmpty());
}

TEST_P(InstanceIsolation, EventsAndSignals) {
  Client there(*store_, "theirs");
  Client here(*store_, "ours");
  auto watch = theirs_.watch();
  [[maybe_unused]] auto const before = watch.next(0ms);
  auto const lock = ours_.try_lock("a");
  ASSERT_TRUE(lock);
  here.engine().signals().publish({std::string(topic::check), "for ours"});
  // What is said there afterwards has come, and that it came says that nothing else will.
  ASSERT_TRUE(here.hears(topic::check, "for ours"));
  there.engine().signals().publish({std::string(topic::check), "for theirs"});
  ASSERT_TRUE(there.hears(topic::check, "for theirs"));
  EXPECT_FALSE(there.heard(topic::check, "for ours"));
  EXPECT_THAT(watch.next(0ms), IsEmpty());
}

}  // namespace
}  // namespace holt::test
