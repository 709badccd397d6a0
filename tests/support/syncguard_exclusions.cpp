// SPDX-License-Identifier: Apache-2.0
#include "support/syncguard_exclusions.hpp"

#include <string_view>

namespace holt::test {
namespace {

constexpr std::string_view no_line = "the layout has no line and no signals";
constexpr std::string_view no_note = "the layout has no place for a note or a ttl";
constexpr std::string_view no_delay = "the layout has no place for a delay";
constexpr std::string_view no_break =
    "the layout cannot ask a holder to stop, only free with `now`";
constexpr std::string_view no_instances = "the prefix, or the tables, take the place of instances";
constexpr std::string_view one_name = "the layout takes one name at a time";
constexpr std::string_view own_counters = "the layout has a counter for each name, from 1 on";

}  // namespace

std::vector<Exclusion> not_in_syncguard() {
  return {
      {"LeaseLine.*", no_line},
      {"LockLine.*", no_line},
      {"Elections.*", no_line},
      {"InstanceRegisters.*", no_line},
      {"InstanceIsolation.*", no_instances},
      {"Pollings.*", no_note},
      {"SignalTest.*", no_line},
      {"LeaseInstances.*", no_instances},
      {"LeaseSeveralNames.*", one_name},
      {"LeaseAcquire.IsBusyWhileAnotherOwnerHoldsIt", no_note},
      {"LeaseAcquire.TheHolderGetsAFreshTtl", no_note},
      {"LeaseAcquire.ABusyAnswerChangesNothing", no_note},
      {"LeaseAcquire.TakesANoteOfUpTo4KiB", no_note},
      {"LeaseExpiry.ANameRestsForItsDelayAfterTheEnd", no_delay},
      {"LeaseExpiry.ARestingNameIsBusyForItsFormerOwnerToo", no_delay},
      {"LeaseExpiry.AReleasedNameDoesNotRest", no_delay},
      {"LeaseRelease.OfWhatEndedSaysSoAndCleansUp", no_delay},
      {"LeaseRelease.OfWhatEndedPassesItOn", no_line},
      {"LeaseRelease.OfABrokenLeaseIsFine", no_break},
      {"LeaseRelease.LeavesTheLine", no_line},
      {"LeaseRelease.OfAnOfferPassesItOn", no_line},
      {"LeaseRelease.LeavingAsTheFirstInLineOfAFreeNamePassesItOn", no_line},
      {"LeaseRenew.SetsTheEndToNowPlusTtl", no_note},
      {"LeaseRenew.KeepsTheFenceAndTheNote", no_note},
      {"LeaseRenew.DoesNotBringBackWhatEndedAndRests", no_delay},
      {"LeaseRenew.IsLostWhenBrokenAndSaysWhy", no_break},
      {"LeaseRenew.IsNotForAPlaceInLine", no_line},
      {"LeaseRenew.IsNotForAnOffer", no_line},
      {"LeaseFencing.GrowsAcrossNames", own_counters},
      {"LeaseFencing.GrowsAcrossClients", own_counters},
      {"LeaseFencing.StartsAtTheClockSoThatALostCounterDoesNotRepeat", own_counters},
      {"LeaseFencing.AnOfferHasAFenceAboveTheLastHoldersAndKeepsItWhenConfirmed", no_line},
      {"LeaseConcurrency.NoFenceIsGivenTwice", own_counters},
      {"LeaseListing.FindTellsAllThereIs", no_note},
      {"LeaseListing.CountsWaitersAndShowsOffers", no_line},
      {"LeaseBreak.MarksTheLeaseAndSignalsTheHolder", no_break},
      {"LeaseBreak.ABrokenLeaseIsBusyForEverybody", no_break},
      {"LeaseBreak.IsFreeWhenItsTimeEnds", no_break},
      {"LeaseBreak.NowPassesOnToTheFirstInLine", no_line},
      {"LeaseBreak.AnOfferIsFreedAtOnce", no_line},
      {"LeaseBreak.OfAnotherFenceChangesNothing", no_break},
      {"LeaseBreak.OfWhatNobodyHoldsSaysSo", no_break},
      {"LeaseBreak.NowEndsTheRestOfAName", no_delay},
      {"OnceTest.NamesAndInstancesAreApart", no_instances},
      {"Diagnose.RaisingPutsEveryLaterFenceAboveAllBefore", own_counters},
      {"Diagnose.RaisingLeavesHoldersAlone", own_counters},
      {"Diagnose.RaisingACounterThatDoesNotExistStartsItHigh", own_counters},
      {"Diagnose.RaisingIsForOneInstance", own_counters},
      {"HoltWatch.SeesTheLineAndTheHandOver", no_line},
  };
}

}  // namespace holt::test
