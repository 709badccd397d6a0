// SPDX-License-Identifier: Apache-2.0
// A store object belongs to one instance and sees nothing of another.

#include "contract/engine_test.hpp"

namespace holt::test {
namespace {

class LeaseInstances : public EngineTest {
 protected:
  Client other_{*store_, "other"};
};
HOLT_ON_EVERY_STORE(LeaseInstances);

TEST_P(LeaseInstances, TheSameNameIsHeldInEach) {
  client_.take("a", client_.owner());
  other_.take("a", other_.owner());
}

TEST_P(LeaseInstances, NothingOfAnotherIsFoundOrListed) {
  client_.take("a", client_.owner());
  EXPECT_FALSE(other_.find("a"));
  EXPECT_TRUE(other_.list().leases.empty());
}

TEST_P(LeaseInstances, NothingOfAnotherIsReleasedRenewedOrBroken) {
  auto const owner = client_.owner();
  client_.take("a", owner);
  EXPECT_FALSE(other_.release("a", owner));
  EXPECT_FALSE(other_.renew("a", owner));
  EXPECT_EQ(other_.break_lease("a", "mine", true), BreakResult::not_held);
  EXPECT_TRUE(client_.renew("a", owner));
}

TEST_P(LeaseInstances, LinesAreApart) {
  auto const holder = client_.owner();
  client_.take("a", holder);
  other_.take("a", other_.owner());
  auto const waiter = other_.owner();
  other_.wait_for("a", waiter);
  EXPECT_TRUE(client_.release("a", holder));
  EXPECT_FALSE(client_.find("a"));
  EXPECT_FALSE(other_.heard(topic::offer, waiter.text()));
}

TEST_P(LeaseInstances, RecordsAndCountersAreApart) {
  auto& ours = client_.engine().records();
  auto& theirs = other_.engine().records();
  EXPECT_TRUE(run(ours.put(RecordWrite("k", "v"), client_.deadline())));
  EXPECT_FALSE(run(theirs.get("k", client_.deadline())));
  EXPECT_EQ(run(ours.add("c", 5, client_.deadline())), 5);
  EXPECT_EQ(run(theirs.add("c", 1, client_.deadline())), 1);
}

}  // namespace
}  // namespace holt::test
