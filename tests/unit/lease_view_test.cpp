// SPDX-License-Identifier: Apache-2.0
// What two looks at the store say has happened in between.

#include "primitives/lease_view.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace holt {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::IsEmpty;

LeaseInfo lease(std::string const& name, std::uint64_t fence,
                std::chrono::milliseconds expires_in = 10s) {
  LeaseInfo info{.name = name};
  info.owner = Owner("inbox", "0123456789012345678901");
  info.fence = Fence(fence);
  info.ttl = 30s;
  info.expires_in = expires_in;
  return info;
}

class LeaseViewTest : public testing::Test {
 protected:
  /// A look; what happened as "kind name fence".
  std::vector<std::string> look(std::vector<LeaseInfo> leases, Instant::duration took = {}) {
    std::vector<std::string> texts;
    for (auto const& event : view_.update(std::move(leases), now_ - took, now_, {})) {
      texts.push_back(std::string(to_string(event.kind)) + ' ' + event.lease.name.text() + ' ' +
                      event.lease.fence.decimal());
    }
    return texts;
  }

  LeaseView view_;
  Instant now_{1h};
};

TEST_F(LeaseViewTest, FirstAllIsPresent) {
  EXPECT_THAT(look({lease("a", 1), lease("b", 2)}), ElementsAre("present a 1", "present b 2"));
  EXPECT_THAT(look({lease("a", 1), lease("b", 2)}), IsEmpty());
}

TEST_F(LeaseViewTest, WhatComesIsAcquired) {
  EXPECT_THAT(look({}), IsEmpty());
  EXPECT_THAT(look({lease("a", 1)}), ElementsAre("acquired a 1"));
}

TEST_F(LeaseViewTest, WhatGoesBeforeItsTimeIsReleased) {
  look({lease("a", 1)});
  now_ += 9s;
  EXPECT_THAT(look({}), ElementsAre("released a 1"));
}

TEST_F(LeaseViewTest, WhatMayHaveEndedWhenTheAnswerWasSlowHasExpired) {
  look({lease("a", 1)}, 2s);
  now_ += 9s;
  EXPECT_THAT(look({}), ElementsAre("expired a 1"));
}

TEST_F(LeaseViewTest, WhatGoesWhenItsTimeIsOverHasExpired) {
  look({lease("a", 1)});
  now_ = *view_.next_end();
  EXPECT_THAT(look({}), ElementsAre("expired a 1"));
}

TEST_F(LeaseViewTest, ARenewalMovesTheEndAndIsNoEvent) {
  look({lease("a", 1)});
  now_ += 5s;
  EXPECT_THAT(look({lease("a", 1)}), IsEmpty());
  now_ += 9s;
  EXPECT_THAT(look({}), ElementsAre("released a 1"));
}

TEST_F(LeaseViewTest, AnotherFenceIsAnotherHolder) {
  look({lease("a", 1), lease("b", 2)});
  EXPECT_THAT(look({lease("a", 3), lease("b", 2)}), ElementsAre("released a 1", "acquired a 3"));
}

TEST_F(LeaseViewTest, AnOfferThatIsConfirmedIsAcquired) {
  look({lease("a", 1)});
  auto offered = lease("a", 2);
  offered.offered = true;
  EXPECT_THAT(look({offered}), ElementsAre("released a 1", "offered a 2"));
  EXPECT_THAT(look({lease("a", 2)}), ElementsAre("acquired a 2"));
}

TEST_F(LeaseViewTest, ABreakIsToldOnce) {
  look({lease("a", 1)});
  auto broken = lease("a", 1);
  broken.broken = "why";
  EXPECT_THAT(look({broken}), ElementsAre("broken a 1"));
  EXPECT_THAT(look({broken}), IsEmpty());
  broken.fence = Fence(2);
  EXPECT_THAT(look({broken}), ElementsAre("released a 1", "acquired a 2", "broken a 2"));
}

TEST_F(LeaseViewTest, ALineThatGrowsOrShrinksIsTold) {
  look({lease("a", 1)});
  auto waited_for = lease("a", 1);
  waited_for.waiting = 2;
  EXPECT_THAT(look({waited_for}), ElementsAre("waiting a 1"));
  EXPECT_THAT(look({lease("a", 1)}), ElementsAre("waiting a 1"));
}

TEST_F(LeaseViewTest, TheNextEndIsTheEarliest) {
  EXPECT_FALSE(view_.next_end());
  look({lease("a", 1, 10s), lease("b", 2, 3s), lease("c", 3, 5s)});
  EXPECT_EQ(*view_.next_end(), now_ + 3s + 1ms);
}

TEST_F(LeaseViewTest, ANameThatRestsIsNotLookedAtAllTheTime) {
  look({lease("a", 1, 0ms)});
  EXPECT_GE(*view_.next_end(), now_ + 1s);
}

TEST_F(LeaseViewTest, EventsAreInOrderOfNames) {
  look({lease("b", 1), lease("d", 2)});
  EXPECT_THAT(
      look({lease("a", 3), lease("b", 4), lease("c", 5)}),
      ElementsAre("acquired a 3", "released b 1", "acquired b 4", "acquired c 5", "released d 2"));
}

}  // namespace
}  // namespace holt
