// SPDX-License-Identifier: Apache-2.0
#pragma once
// Redis in the layout poll as a store for the contract tests: their names are those of endpoints,
// and their holders all the node "web-1" unless a test says otherwise.

#include "support/redis_stores.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace holt::test {

class RedisPollTestStore : public RedisTestStore {
 public:
  [[nodiscard]] std::string url() const override { return server().url() + "?layout=poll"; }
  [[nodiscard]] std::string names_start() const override { return "poll/group/"; }
  [[nodiscard]] std::string usual_note() const override { return "web-1"; }
  [[nodiscard]] bool hints_at_changes() const override { return false; }
};

/// In the older form of its values.
class RedisPollPlainTestStore final : public RedisPollTestStore {
 public:
  [[nodiscard]] std::string url() const override {
    return RedisPollTestStore::url() + "&value=plain&prefix=app:p*ll";
  }
};

[[nodiscard]] inline std::vector<Exclusion> not_in_redis_poll() {
  constexpr std::string_view no_line = "the layout has no line";
  constexpr std::string_view no_delay = "the layout has no place for a delay";
  constexpr std::string_view no_break =
      "the layout cannot ask a holder to stop, only free with `now`";
  return {
      {"LeaseLine.*", no_line},
      {"LeaseInstances.*", "the prefix takes the place of instances"},
      {"LeaseSeveralNames.*", "the layout takes one name of polling at a time"},
      {"LeaseExpiry.ANameRestsForItsDelayAfterTheEnd", no_delay},
      {"LeaseExpiry.ARestingNameIsBusyForItsFormerOwnerToo", no_delay},
      {"LeaseExpiry.AReleasedNameDoesNotRest", no_delay},
      {"LeaseRelease.OfWhatEndedSaysSoAndCleansUp", no_delay},
      {"LeaseRelease.OfWhatEndedPassesItOn", no_line},
      {"LeaseRelease.OfABrokenLeaseIsFine", no_break},
      {"LeaseRelease.LeavesTheLine", no_line},
      {"LeaseRelease.OfAnOfferPassesItOn", no_line},
      {"LeaseRelease.LeavingAsTheFirstInLineOfAFreeNamePassesItOn", no_line},
      {"LeaseRenew.DoesNotBringBackWhatEndedAndRests", no_delay},
      {"LeaseRenew.IsLostWhenBrokenAndSaysWhy", no_break},
      {"LeaseRenew.IsNotForAnOffer", no_line},
      {"LeaseFencing.AnOfferHasAFenceAboveTheLastHoldersAndKeepsItWhenConfirmed", no_line},
      {"LeaseListing.CountsWaitersAndShowsOffers", no_line},
      {"LeaseBreak.MarksTheLeaseAndSignalsTheHolder", no_break},
      {"LeaseBreak.ABrokenLeaseIsBusyForEverybody", no_break},
      {"LeaseBreak.IsFreeWhenItsTimeEnds", no_break},
      {"LeaseBreak.NowPassesOnToTheFirstInLine", no_line},
      {"LeaseBreak.AnOfferIsFreedAtOnce", no_line},
      {"LeaseBreak.OfAnotherFenceChangesNothing", no_break},
      {"LeaseBreak.OfWhatNobodyHoldsSaysSo", no_break},
      {"LeaseBreak.NowEndsTheRestOfAName", no_delay},
  };
}

}  // namespace holt::test
