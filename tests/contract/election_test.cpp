// SPDX-License-Identifier: Apache-2.0
// Elections on every engine, through the public API: one leader, hand-over in the right order,
// events, successors.

#include "contract/engine_test.hpp"

#include <holt/holt.hpp>

#include <gmock/gmock.h>

#include <atomic>
#include <condition_variable>
#include <future>
#include <mutex>
#include <thread>

namespace holt::test {
namespace {

using testing::AnyOf;
using testing::ElementsAre;
using testing::HasSubstr;

/// Keeps what was told, in words.
class Diary {
 public:
  Election::Listener listener() {
    return [this](ElectionEvent const& event) {
      std::scoped_lock const lock(mutex_);
      std::string words(to_string(event.kind));
      if (event.kind == ElectionEventKind::state_changed) {
        words = std::string(to_string(event.previous)) + " to " + std::string(to_string(event.now));
      }
      if (event.kind == ElectionEventKind::leadership_lost) {
        words += " " + std::string(to_string(event.reason));
      }
      entries_.push_back(words);
      last_ = event;
      changed_.notify_all();
    };
  }
  bool has(std::size_t count) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, 20s, [&] { return entries_.size() >= count; });
  }
  std::vector<std::string> entries() {
    std::scoped_lock const lock(mutex_);
    return entries_;
  }
  ElectionEvent last() {
    std::scoped_lock const lock(mutex_);
    return last_;
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<std::string> entries_;
  ElectionEvent last_;
};

class Elections : public EngineTest {
 protected:
  Holt open_client() { return open(store_->url(), {.instance = "default"}); }
  /// How many stand in line; a candidate that has not come so far cannot be passed over.
  bool in_line(std::uint32_t count) {
    return comes_true([&] {
      auto const leader = holt_.leader("e");
      return leader && leader->candidates == count;
    });
  }
  static bool leads(Election const& election) {
    return comes_true([&] { return election.is_leader(); });
  }

  Holt holt_ = open_client();
  Holt other_ = open_client();
};
HOLT_ON_EVERY_ENGINE(Elections);

TEST_P(Elections, OneLeadsAndTheOtherFollowsAtOnceWhenItStops) {
  auto first = holt_.election("e", {.id = "first", .ttl = 60s});
  auto second = other_.election("e", {.id = "second", .ttl = 60s});
  first.start();
  ASSERT_TRUE(leads(first));
  EXPECT_EQ(first.state(), ElectionState::leader);
  auto const term = first.term();
  EXPECT_GT(term, Fence());
  second.start();
  ASSERT_TRUE(in_line(1));
  EXPECT_TRUE(comes_true([&] { return second.state() == ElectionState::follower; }));
  EXPECT_FALSE(second.is_leader());
  EXPECT_EQ(second.term(), Fence());
  EXPECT_EQ(first.stop(), Resignation::done);
  EXPECT_FALSE(first.is_leader());
  ASSERT_TRUE(leads(second));
  EXPECT_GT(second.term(), term);
}

TEST_P(Elections, TellsEventsInOrder) {
  Diary diary;
  auto election = holt_.election("e", {.ttl = 60s});
  election.on(diary.listener());
  election.start();
  ASSERT_TRUE(diary.has(3));
  EXPECT_EQ(diary.last().term, election.term());
  EXPECT_FALSE(diary.last().stop.stop_requested());
  EXPECT_EQ(election.stop(), Resignation::done);
  ASSERT_TRUE(diary.has(5));
  EXPECT_THAT(diary.entries(),
              ElementsAre("follower to candidate", "candidate to leader", "leadership_acquired",
                          "leader to follower", "leadership_lost released"));
}

TEST_P(Elections, StartsAgainAfterAStopWithAllEvents) {
  Diary diary;
  auto election = holt_.election("e", {.ttl = 60s});
  election.on(diary.listener());
  election.start();
  ASSERT_TRUE(diary.has(3));
  auto const before = election.term();
  EXPECT_EQ(election.stop(), Resignation::done);
  ASSERT_TRUE(diary.has(5));
  election.start();
  ASSERT_TRUE(diary.has(8));
  EXPECT_GT(election.term(), before);
}

TEST_P(Elections, AStopDuringTheStartLeavesNothingBehind) {
  auto election = holt_.election("e", {.ttl = 60s});
  for (int i = 0; i < 20; ++i) {
    election.start();
    election.stop();
    EXPECT_FALSE(election.is_leader());
  }
  EXPECT_EQ(election.state(), ElectionState::follower);
  EXPECT_FALSE(holt_.leader("e"));
}

TEST_P(Elections, TheWorkStopsBeforeTheLeadershipPassesOn) {
  std::atomic<bool> stopping = false;
  std::promise<void> work_ends;
  auto const work_ended = work_ends.get_future().share();
  auto first = holt_.election("e", {.ttl = 60s});
  first.on(
      [&stopping, work_ended](ElectionEvent const& event) {
        if (event.kind != ElectionEventKind::leadership_lost) return;
        stopping = true;
        work_ended.wait();
      },
      Election::Listen::in_turn);
  auto second = other_.election("e", {.ttl = 60s});
  first.start();
  ASSERT_TRUE(leads(first));
  second.start();
  ASSERT_TRUE(in_line(1));
  auto stopped = std::async(std::launch::async, [&] { return first.stop(20s); });
  ASSERT_TRUE(comes_true([&] { return stopping.load(); }));
  EXPECT_FALSE(first.is_leader());
  EXPECT_FALSE(second.is_leader());
  EXPECT_EQ(holt_.leader("e")->id, first.id()) << "kept until the work is done";
  work_ends.set_value();
  EXPECT_EQ(stopped.get(), Resignation::done);
  EXPECT_TRUE(leads(second));
}

TEST_P(Elections, WorkThatDoesNotStopKeepsTheLeaseUntilItEnds) {
  std::promise<void> work_ends;
  auto const work_ended = work_ends.get_future().share();
  auto first = holt_.election("e", {.ttl = 2s});
  first.on(
      [work_ended](ElectionEvent const& event) {  // it outlives us: nobody waits for it
        if (event.kind == ElectionEventKind::leadership_lost) work_ended.wait();
      },
      Election::Listen::in_turn);
  auto second = other_.election("e", {.ttl = 60s});
  first.start();
  ASSERT_TRUE(leads(first));
  second.start();
  ASSERT_TRUE(in_line(1));
  EXPECT_EQ(first.stop(100ms), Resignation::late);
  EXPECT_FALSE(first.is_leader());
  EXPECT_FALSE(second.is_leader());
  EXPECT_TRUE(leads(second)) << "when the lease has ended";
  work_ends.set_value();
}

TEST_P(Elections, NoNewTermBeginsBesideWorkOfTheLast) {
  std::promise<void> work_ends;
  auto const work_ended = work_ends.get_future().share();
  auto election = holt_.election("e", {.ttl = 60s});
  election.on(
      [work_ended](ElectionEvent const& event) {
        if (event.kind == ElectionEventKind::leadership_lost) work_ended.wait();
      },
      Election::Listen::in_turn);
  election.start();
  ASSERT_TRUE(leads(election));
  EXPECT_EQ(holt_.break_lock("election/e", "maintenance", {.now = true}), BreakResult::freed);
  ASSERT_TRUE(comes_true([&] { return election.state() == ElectionState::follower; }));
  std::this_thread::sleep_for(200ms);  // longer than it takes to be elected again
  EXPECT_FALSE(election.is_leader());
  work_ends.set_value();
  EXPECT_TRUE(leads(election));
}

TEST_P(Elections, TheTermsStopTokenFires) {
  Diary diary;
  auto election = holt_.election("e", {.ttl = 60s});
  election.on(diary.listener());
  election.start();
  ASSERT_TRUE(diary.has(3));
  auto const token = diary.last().stop;
  ASSERT_TRUE(token.stop_possible());
  EXPECT_EQ(election.stop(), Resignation::done);
  EXPECT_TRUE(comes_true([&] { return token.stop_requested(); }));
}

TEST_P(Elections, AListenerThatThrowsHarmsNothingAndOneCanBeRemoved) {
  Diary diary;
  Diary removed;
  auto election = holt_.election("e", {.ttl = 60s});
  election.on([](ElectionEvent const&) { throw std::runtime_error("no"); },
              Election::Listen::in_turn);
  election.remove(election.on(removed.listener()));
  election.on(diary.listener(), Election::Listen::in_turn);
  election.start();
  EXPECT_TRUE(diary.has(3));
  EXPECT_TRUE(leads(election));
  EXPECT_TRUE(removed.entries().empty());
}

TEST_P(Elections, ABrokenLeadershipIsLostAndPassesOn) {
  Diary diary;
  auto first = holt_.election("e", {.ttl = 60s});
  auto second = other_.election("e", {.ttl = 60s});
  first.on(diary.listener());
  first.start();
  ASSERT_TRUE(leads(first));
  second.start();
  ASSERT_TRUE(in_line(1));
  EXPECT_EQ(holt_.break_lock("election/e", "maintenance"), BreakResult::asked);
  EXPECT_TRUE(leads(second));
  ASSERT_TRUE(diary.has(5));
  EXPECT_EQ(diary.entries()[4], "leadership_lost broken");
}

TEST_P(Elections, ResigningToNobodyInParticularLetsTheNextLead) {
  auto first = holt_.election("e", {.ttl = 60s});
  auto second = other_.election("e", {.ttl = 60s});
  EXPECT_EQ(first.resign(), Resignation::not_leader);
  first.start();
  ASSERT_TRUE(leads(first));
  second.start();
  ASSERT_TRUE(in_line(1));
  EXPECT_EQ(first.resign(), Resignation::done);
  EXPECT_TRUE(leads(second));
  EXPECT_TRUE(in_line(1)) << "who resigned stands in line again";
  EXPECT_EQ(second.stop(), Resignation::done);
  EXPECT_TRUE(leads(first));
}

TEST_P(Elections, ResigningToANamedCandidateLetsThatOneLead) {
  auto third_client = open_client();
  auto first = holt_.election("e", {.id = "first", .ttl = 60s});
  auto second = other_.election("e", {.id = "second", .ttl = 60s});
  auto third = third_client.election("e", {.id = "third", .ttl = 60s});
  first.start();
  ASSERT_TRUE(leads(first));
  second.start();
  ASSERT_TRUE(in_line(1));
  third.start();
  ASSERT_TRUE(in_line(2));
  EXPECT_EQ(first.resign("third"), Resignation::done);
  EXPECT_TRUE(leads(third));
  EXPECT_FALSE(second.is_leader());
}

TEST_P(Elections, ResigningToSomebodyWhoIsNotThereChangesNothing) {
  auto first = holt_.election("e", {.ttl = 60s});
  first.start();
  ASSERT_TRUE(leads(first));
  auto const term = first.term();
  EXPECT_EQ(first.resign("nobody"), Resignation::no_candidate);
  EXPECT_TRUE(first.is_leader());
  EXPECT_EQ(first.term(), term);
}

TEST_P(Elections, AStopWhileASuccessorIsWaitedForIsNotLate) {
  auto first = holt_.election("e", {.ttl = 60s});
  first.start();
  ASSERT_TRUE(leads(first));
  auto resigned =
      std::async(std::launch::async, [&] { return other_.resign_leader("e", "nobody", 20s); });
  std::this_thread::sleep_for(100ms);  // the request is there, under way or to come: all are right
  EXPECT_EQ(first.stop(4s), Resignation::done);
  EXPECT_THAT(resigned.get(), AnyOf(Resignation::done, Resignation::not_leader))
      << "nobody leads any more";
}

TEST_P(Elections, AStopDoesNotWaitForAResignation) {
  auto patient = open(store_->url(), {.instance = "default", .timeout = 60s});
  auto first = patient.election("e", {.ttl = 60s});
  first.start();
  ASSERT_TRUE(leads(first));
  auto resigned = std::async(std::launch::async, [&] { return first.resign("nobody"); });
  std::this_thread::sleep_for(100ms);  // it waits for an answer by now, or comes too late
  EXPECT_EQ(first.stop(20s), Resignation::done);
  EXPECT_NE(resigned.get(), Resignation::no_candidate) << "the stop came first";
}

TEST_P(Elections, APriorityComesBeforeArrival) {
  auto third_client = open_client();
  auto first = holt_.election("e", {.ttl = 60s});
  auto usual = other_.election("e", {.ttl = 60s});
  auto urgent = third_client.election("e", {.ttl = 60s, .priority = 1});
  first.start();
  ASSERT_TRUE(leads(first));
  usual.start();
  ASSERT_TRUE(in_line(1));
  urgent.start();
  ASSERT_TRUE(in_line(2));
  EXPECT_EQ(first.stop(), Resignation::done);
  EXPECT_TRUE(leads(urgent));
  EXPECT_FALSE(usual.is_leader());
}

TEST_P(Elections, ThePreferredHostTakesOverWhenItComes) {
  auto third_client = open_client();
  ElectionOptions const options{.ttl = 60s, .preferred_host = "best"};
  auto there = options;
  there.host = "elsewhere";
  auto best = options;
  best.host = "best";
  auto first = holt_.election("e", there);
  auto second = other_.election("e", there);
  auto preferred = third_client.election("e", best);
  first.start();
  ASSERT_TRUE(leads(first));
  second.start();
  ASSERT_TRUE(in_line(1));
  preferred.start();
  EXPECT_TRUE(leads(preferred));
  EXPECT_FALSE(first.is_leader());
  EXPECT_FALSE(second.is_leader());
}

TEST_P(Elections, OnlookersSeeWhoLeads) {
  EXPECT_FALSE(holt_.leader("e"));
  auto election = other_.election("e", {.id = "me", .ttl = 60s});
  auto watch = holt_.observe("e");
  EXPECT_TRUE(watch.next().empty());
  election.start();
  ASSERT_TRUE(leads(election));
  auto const leader = holt_.leader("e");
  ASSERT_TRUE(leader);
  EXPECT_EQ(leader->election.text(), "e");
  EXPECT_EQ(leader->id, "me");
  EXPECT_EQ(leader->term, election.term());
  EXPECT_LE(leader->heartbeat_age, 30s);
  auto const seen = watch.next(20s);
  ASSERT_FALSE(seen.empty());
  EXPECT_EQ(seen.front().lease.note, "me");
  EXPECT_EQ(seen.front().lease.fence, election.term());
  EXPECT_EQ(holt_.leaders().size(), 1U);
  EXPECT_EQ(holt_.leaders("e", "e").size(), 0U);
}

TEST_P(Elections, AnyoneMayAskTheLeaderToResign) {
  EXPECT_EQ(holt_.resign_leader("e"), Resignation::not_leader);
  auto third_client = open_client();
  auto first = holt_.election("e", {.id = "first", .ttl = 60s});
  auto second = other_.election("e", {.id = "second", .ttl = 60s});
  first.start();
  ASSERT_TRUE(leads(first));
  second.start();
  ASSERT_TRUE(in_line(1));
  EXPECT_EQ(third_client.resign_leader("e", {}, 20s), Resignation::done);
  EXPECT_TRUE(leads(second));
  ASSERT_TRUE(in_line(1));
  EXPECT_EQ(third_client.resign_leader("e", "first", 20s), Resignation::done);
  EXPECT_TRUE(leads(first));
}

TEST_P(Elections, TheShortestTtlIsRenewedInTime) {
  auto election = holt_.election("e", {.ttl = 100ms});
  election.start();
  // Over five ttl in one term; a busy machine may need more than one try.
  EXPECT_TRUE(comes_true([&] {
    auto const term = election.term();
    if (term == Fence()) return false;
    auto const until = std::chrono::steady_clock::now() + 500ms;
    while (election.term() == term && std::chrono::steady_clock::now() < until) {
      std::this_thread::sleep_for(5ms);
    }
    return election.term() == term;
  }));
}

TEST_P(Elections, ALockDelayKeepsEverybodyOutAfterALossAndNotAfterAStop) {
  std::promise<void> work_ends;
  auto const work_ended = work_ends.get_future().share();
  auto first = holt_.election("e", {.ttl = 500ms, .lock_delay = 60s});
  auto second = other_.election("e", {.ttl = 60s});
  first.start();
  ASSERT_TRUE(leads(first));
  EXPECT_EQ(first.stop(), Resignation::done);
  EXPECT_FALSE(holt_.leader("e")) << "nothing rests after a stop";
  first.on(
      [work_ended](ElectionEvent const& event) {
        if (event.kind == ElectionEventKind::leadership_lost) work_ended.wait();
      },
      Election::Listen::in_turn);
  first.start();
  ASSERT_TRUE(leads(first));
  EXPECT_EQ(first.stop(50ms), Resignation::late) << "so its lease ends by itself";
  second.start();
  ASSERT_TRUE(in_line(1));
  std::this_thread::sleep_for(1s);  // twice the ttl
  EXPECT_FALSE(second.is_leader());
  EXPECT_TRUE(holt_.leader("e")) << "at rest";
  work_ends.set_value();
}

TEST(ElectionOptionsTest, WhatCannotBeSafeIsRefusedWithTheRule) {
  TemporaryFolder const folder;
  auto holt = open(folder.file("s.db"));
  auto const refusal = [&](ElectionOptions const& options) -> std::string {
    try {
      auto const election = holt.election("e", options);
    } catch (InvalidArgument const& error) {
      return error.what();
    }
    return "accepted";
  };
  EXPECT_EQ(refusal({.ttl = 100ms}), "accepted");
  EXPECT_EQ(refusal({.ttl = 30s, .renew_every = 10s}), "accepted");
  EXPECT_EQ(refusal({.ttl = 30s, .renew_every = 14850ms}), "accepted");
  EXPECT_THAT(refusal({.ttl = 30s, .renew_every = 14851ms}), HasSubstr("two renewals must fit"));
  EXPECT_THAT(refusal({.ttl = 99ms}), HasSubstr("100 ms to 24 h"));
  EXPECT_THAT(refusal({.priority = 0}), HasSubstr("1 (first) to 10"));
  EXPECT_THAT(refusal({.lock_delay = -1ms}), HasSubstr("0 to 24 h"));
  EXPECT_THAT(refusal({.id = "a\nb"}), HasSubstr("an id"));
  auto const long_name = std::string(504, 'x');
  EXPECT_THROW(static_cast<void>(holt.election(long_name)), InvalidArgument);
}

}  // namespace
}  // namespace holt::test
