// SPDX-License-Identifier: Apache-2.0
// Polling on every engine, through the public API: one node for each endpoint, moves without a gap
// and without an overlap, nodes that come and go.

#include "contract/engine_test.hpp"

#include <holt/holt.hpp>

#include <gmock/gmock.h>

#include <algorithm>
#include <condition_variable>
#include <mutex>
#include <set>
#include <thread>

namespace holt::test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::UnorderedElementsAreArray;

std::vector<std::string> feeds(int count) {
  std::vector<std::string> all;
  for (int i = 0; i < count; ++i) all.push_back("feed-" + std::to_string(i));
  return all;
}

/// Keeps what nodes are told, in words: `+a feed-1` and `-a feed-1 reason`.
class Diary {
 public:
  void follow(Polling& polling) {
    polling.on_assigned([this, node = polling.node()](Assignment const& ours) {
      write("+" + node + " " + ours.endpoint());
      std::scoped_lock const lock(mutex_);
      given_.push_back(ours);
    });
    polling.on_lost([this, node = polling.node()](std::string const& endpoint, ReleaseReason why) {
      write("-" + node + " " + endpoint + " " + std::string(to_string(why)));
    });
  }
  void write(std::string words) {
    std::scoped_lock const lock(mutex_);
    entries_.push_back(std::move(words));
    changed_.notify_all();
  }
  bool has(std::string const& words) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, 30s, [&] { return std::ranges::count(entries_, words) > 0; });
  }
  std::vector<std::string> of(std::string const& endpoint) {
    std::scoped_lock const lock(mutex_);
    std::vector<std::string> found;
    for (auto const& entry : entries_) {
      if ((entry + " ").find(" " + endpoint + " ") != std::string::npos) found.push_back(entry);
    }
    return found;
  }
  std::vector<Assignment> given() {
    std::scoped_lock const lock(mutex_);
    return given_;
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<std::string> entries_;
  std::vector<Assignment> given_;
};

class Pollings : public EngineTest {
 protected:
  Holt open_client(OpenOptions options = {}) {
    options.instance = "default";
    return open(store_->url(), std::move(options));
  }
  /// With a ttl that no test waits for: what moves was handed over.
  static PollingOptions as(std::string_view node) {
    return {.node = node, .every = 20ms, .ttl = 60s, .discover_every = 200ms, .settle = 50ms};
  }
  static bool owns(Polling const& polling, std::size_t count) {
    return comes_true([&] { return polling.owned().size() == count; });
  }
  /// Each endpoint is with the node that should have it.
  bool settles(std::size_t endpoints) {
    return comes_true([&] {
      auto const all = holt_.endpoints("p");
      return all.size() == endpoints && std::ranges::all_of(all, [](EndpointInfo const& one) {
               return one.node == one.preferred && one.state == EndpointState::owned;
             });
    });
  }

  Holt holt_ = open_client();
  Holt other_ = open_client();
};
HOLT_ON_EVERY_ENGINE(Pollings);

TEST_P(Pollings, EachEndpointIsWithOneNode) {
  auto third = open_client();
  auto a = holt_.polling("p", as("a"));
  auto b = other_.polling("p", as("b"));
  auto c = third.polling("p", as("c"));
  for (auto* const polling : {&a, &b, &c}) {
    polling->set_endpoints(feeds(30));
    polling->start();
  }
  ASSERT_TRUE(settles(30));
  std::multiset<std::string> owned;
  ASSERT_TRUE(comes_true([&] {
    owned.clear();
    for (auto const* const polling : {&a, &b, &c}) {
      for (auto const& id : polling->owned()) owned.insert(id);
    }
    return owned.size() == 30;
  }));
  EXPECT_THAT(owned, UnorderedElementsAreArray(feeds(30)));
  auto const nodes = holt_.nodes("p");
  ASSERT_EQ(nodes.size(), 3U);
  std::uint64_t endpoints = 0;
  for (auto const& node : nodes) {
    EXPECT_EQ(node.polling, "p");
    EXPECT_EQ(node.status, "online");
    endpoints += node.endpoints;
  }
  EXPECT_EQ(endpoints, 30U);
}

TEST_P(Pollings, AJoiningNodeTakesItsPartAndNothingElseMoves) {
  Diary diary;
  auto a = holt_.polling("p", as("a"));
  diary.follow(a);
  a.set_endpoints(feeds(20));
  a.start();
  ASSERT_TRUE(owns(a, 20));
  auto const before = holt_.endpoints("p");
  auto b = other_.polling("p", as("b"));
  diary.follow(b);
  b.set_endpoints(feeds(20));
  b.start();
  ASSERT_TRUE(comes_true([&] { return holt_.nodes("p").size() == 2; }));
  ASSERT_TRUE(settles(20));
  std::size_t moved = 0;
  auto const after = holt_.endpoints("p");
  for (std::size_t i = 0; i < after.size(); ++i) {
    auto const& id = after[i].endpoint;
    if (after[i].node == "a") {
      EXPECT_EQ(after[i].fence, before[i].fence) << id;
      EXPECT_THAT(diary.of(id), ElementsAre("+a " + id)) << id;
      continue;
    }
    ++moved;
    EXPECT_GT(after[i].fence, before[i].fence) << id;
    ASSERT_TRUE(diary.has("+b " + id));
    EXPECT_THAT(diary.of(id), ElementsAre("+a " + id, "-a " + id + " not_preferred", "+b " + id));
  }
  EXPECT_THAT(moved, testing::AllOf(testing::Gt(0U), testing::Lt(20U)));
}

TEST_P(Pollings, ALeavingNodeHandsOverAtOnce) {
  Diary diary;
  auto a = holt_.polling("p", as("a"));
  auto b = other_.polling("p", as("b"));
  diary.follow(a);
  for (auto* const polling : {&a, &b}) {
    polling->set_endpoints(feeds(12));
    polling->start();
  }
  ASSERT_TRUE(settles(12));
  auto const owned = a.owned();
  EXPECT_TRUE(a.stop());
  for (auto const& id : owned) {
    EXPECT_THAT(diary.of(id).back(), "-a " + id + " shutdown");
    EXPECT_EQ(a.state(id), EndpointState::unknown) << id;
  }
  EXPECT_TRUE(owns(b, 12)) << "though no lease of a's can have ended";
  EXPECT_EQ(holt_.nodes("p").size(), 1U);
  a.start();
  EXPECT_TRUE(settles(12));
  EXPECT_TRUE(comes_true([&] { return a.owned() == owned; })) << "as it was before";
}

TEST_P(Pollings, NothingStaysInTheStore) {
  {
    auto a = holt_.polling("p", as("a"));
    a.set_endpoints(feeds(5));
    a.start();
    ASSERT_TRUE(owns(a, 5));
  }
  EXPECT_TRUE(comes_true([&] { return holt_.list().leases.empty(); }));
}

TEST_P(Pollings, EndpointsAreAddedRemovedPausedAndResumed) {
  Diary diary;
  auto a = holt_.polling("p", as("a"));
  diary.follow(a);
  a.start();
  a.add("x");
  ASSERT_TRUE(diary.has("+a x"));
  a.pause("x");
  ASSERT_TRUE(diary.has("-a x voluntary"));
  EXPECT_TRUE(comes_true([&] { return holt_.endpoints("p").empty(); }));
  a.resume("x");
  ASSERT_TRUE(owns(a, 1));
  EXPECT_EQ(a.state("x"), EndpointState::owned);
  a.remove("x");
  EXPECT_TRUE(comes_true([&] { return holt_.endpoints("p").empty(); }));
  EXPECT_EQ(a.state("x"), EndpointState::unknown);
  a.set_endpoints({"y", "z"});
  ASSERT_TRUE(owns(a, 2));
  a.set_endpoints({"z"});
  ASSERT_TRUE(diary.has("-a y voluntary"));
  EXPECT_TRUE(comes_true([&] { return a.owned() == std::vector<std::string>{"z"}; }));
  a.pause("nothing of that name");
}

TEST_P(Pollings, EndpointsMayBeInTheStore) {
  EXPECT_TRUE(holt_.add_endpoint("p", "x"));
  EXPECT_FALSE(holt_.add_endpoint("p", "x")) << "it is there";
  EXPECT_FALSE(holt_.pause_endpoint("p", "y")) << "it is not there";
  auto options = as("a");
  options.stored = true;
  options.discover_every = 60s;  // what it knows it was told
  auto a = other_.polling("p", options);
  a.start();
  ASSERT_TRUE(owns(a, 1));
  EXPECT_TRUE(holt_.add_endpoint("p", "y"));
  ASSERT_TRUE(owns(a, 2));
  EXPECT_TRUE(holt_.pause_endpoint("p", "x"));
  EXPECT_FALSE(holt_.pause_endpoint("p", "x")) << "it is so already";
  ASSERT_TRUE(comes_true([&] { return a.owned() == std::vector<std::string>{"y"}; }));
  auto const seen = holt_.endpoints("p");
  ASSERT_EQ(seen.size(), 2U);
  EXPECT_TRUE(seen[0].paused);
  EXPECT_EQ(seen[1].node, "a");
  EXPECT_TRUE(holt_.pause_endpoint("p", "x", false));
  ASSERT_TRUE(owns(a, 2));
  EXPECT_TRUE(holt_.remove_endpoint("p", "x"));
  EXPECT_FALSE(holt_.remove_endpoint("p", "x"));
  EXPECT_TRUE(comes_true([&] { return a.owned() == std::vector<std::string>{"y"}; }));
}

TEST_P(Pollings, PollsComeByTheClockAndNoneTwiceAtOnce) {
  auto a = holt_.polling("p", as("a"));
  a.set_endpoints({"x", "y"});
  a.start();
  auto first = a.next();
  auto second = a.next();
  ASSERT_TRUE(first && second);
  EXPECT_NE(first->endpoint(), second->endpoint());
  EXPECT_GT(first->fence(), Fence());
  EXPECT_TRUE(first->held());
  EXPECT_FALSE(a.next({}, 100ms)) << "both are being polled";
  auto const again = first->endpoint();
  first.reset();
  first = a.next();
  ASSERT_TRUE(first);
  EXPECT_EQ(first->endpoint(), again);
}

TEST_P(Pollings, AWaitForAPollEndsWhenToldTo) {
  auto a = holt_.polling("p", as("a"));
  a.start();
  std::stop_source stop;
  std::optional<Poll> poll;
  {
    std::jthread const waits([&] { poll = a.next(stop.get_token()); });
    stop.request_stop();
  }
  EXPECT_FALSE(poll);
  std::jthread const stops([&] { a.stop(); });
  EXPECT_FALSE(a.next()) << "it stops";
}

TEST_P(Pollings, AnEndpointDoesNotMoveWhileItIsPolled) {
  auto a = holt_.polling("p", as("a"));
  a.set_endpoints(feeds(20));
  a.start();
  ASSERT_TRUE(owns(a, 20));
  std::vector<Poll> polls;
  while (polls.size() < 20) {
    auto poll = a.next();
    ASSERT_TRUE(poll);
    polls.push_back(std::move(*poll));
  }
  auto b = other_.polling("p", as("b"));
  b.set_endpoints(feeds(20));
  b.start();
  std::string moving;  // an endpoint that b should have and a still polls
  ASSERT_TRUE(comes_true([&] {
    for (auto const& one : holt_.endpoints("p")) {
      if (one.preferred == "b") moving = one.endpoint;
    }
    auto const owned = a.owned();
    return !moving.empty() && std::ranges::count(owned, moving) == 0;
  })) << "a was asked, and starts no poll of it any more";
  EXPECT_THAT(b.owned(), IsEmpty());
  EXPECT_EQ(holt_.find(Name("poll/p/" + moving))->note, "a");
  auto const poll = std::ranges::find(polls, moving, &Poll::endpoint);
  EXPECT_TRUE(poll->held());
  EXPECT_FALSE(poll->lost().stop_requested()) << "it may end by itself";
  polls.clear();
  EXPECT_TRUE(settles(20));
  EXPECT_TRUE(comes_true([&] { return std::ranges::count(b.owned(), moving) == 1; }));
}

TEST_P(Pollings, APollThatGoesOnTooLongIsToldToStop) {
  auto options = as("a");
  options.drain = 10ms;
  auto a = holt_.polling("p", options);
  a.set_endpoints({"x"});
  a.start();
  auto poll = a.next();
  ASSERT_TRUE(poll);
  a.remove("x");
  EXPECT_TRUE(comes_true([&] { return poll->lost().stop_requested(); }));
  EXPECT_TRUE(poll->held()) << "it is released when the poll has ended";
  poll.reset();
  EXPECT_TRUE(comes_true([&] { return holt_.endpoints("p").empty(); }));
}

TEST_P(Pollings, StopSaysWhenWorkDidNotEndInTime) {
  auto a = holt_.polling("p", as("a"));
  a.set_endpoints({"x"});
  a.start();
  auto poll = a.next();
  ASSERT_TRUE(poll);
  EXPECT_FALSE(a.stop(50ms));
  EXPECT_TRUE(comes_true([&] { return poll->lost().stop_requested(); }));
  EXPECT_FALSE(poll->held());
}

TEST_P(Pollings, AnAssignmentEndsBeforeItIsHandedOver) {
  Diary diary;
  auto a = holt_.polling("p", as("a"));
  diary.follow(a);
  a.set_endpoints({"x"});
  a.start();
  ASSERT_TRUE(diary.has("+a x"));
  ASSERT_TRUE(comes_true([&] { return diary.given().size() == 1; }));
  auto const ours = diary.given().front();
  EXPECT_TRUE(ours.may_poll());
  EXPECT_TRUE(ours.held());
  a.remove("x");
  EXPECT_TRUE(comes_true([&] { return ours.lost().stop_requested(); }));
  EXPECT_FALSE(ours.may_poll());
}

TEST_P(Pollings, FunctionsThatThrowHarmNothing) {
  auto a = holt_.polling("p", as("a"));
  a.on_assigned([](Assignment const&) { throw std::runtime_error("no"); });
  a.on_lost([](std::string const&, ReleaseReason) { throw std::runtime_error("no"); });
  a.set_endpoints({"x"});
  a.start();
  ASSERT_TRUE(owns(a, 1));
  EXPECT_TRUE(a.stop());
}

TEST_P(Pollings, ABrokenLeaseIsToldAndTakenAgain) {
  Diary diary;
  auto a = holt_.polling("p", as("a"));
  diary.follow(a);
  a.set_endpoints({"x"});
  a.start();
  ASSERT_TRUE(diary.has("+a x"));
  auto const fence = holt_.endpoints("p").front().fence;
  holt_.break_lock("poll/p/x", "to see it move");
  ASSERT_TRUE(diary.has("-a x voluntary"));
  EXPECT_TRUE(comes_true([&] {
    auto const seen = holt_.endpoints("p");
    return seen.size() == 1 && seen.front().fence > fence;
  }));
}

TEST_P(Pollings, OfTwoNodesWithOneNameOneTakesPart) {
  auto a = holt_.polling("p", as("same"));
  auto b = other_.polling("p", as("same"));
  for (auto* const polling : {&a, &b}) polling->set_endpoints({"x"});
  a.start();
  ASSERT_TRUE(owns(a, 1));
  b.start();
  ASSERT_TRUE(comes_true([&] {
    auto const node = holt_.find("node/p/same");
    return node && node->waiting == 1;
  }));
  EXPECT_THAT(b.owned(), IsEmpty());
  EXPECT_TRUE(a.stop());
  EXPECT_TRUE(owns(b, 1));
}

TEST_P(Pollings, AnEndpointThatItsNomineeDoesNotKnowIsTakenByOneWhoDoes) {
  auto options = as("a");
  options.ttl = 500ms;
  auto a = holt_.polling("p", options);
  options.node = "b";
  auto b = other_.polling("p", options);
  a.set_endpoints(feeds(10));
  b.set_endpoints({});
  a.start();
  b.start();
  ASSERT_TRUE(comes_true([&] { return holt_.nodes("p").size() == 2; }));
  EXPECT_TRUE(owns(a, 10)) << "also those that b should have";
  b.set_endpoints(feeds(10));
  EXPECT_TRUE(settles(10)) << "b asks for its own";
  EXPECT_LT(a.owned().size(), 10U);
}

TEST_P(Pollings, ShareGoesByWeightAndCap) {
  auto options = as("a");
  options.weight = 3;
  options.cap = 1;
  auto a = holt_.polling("p", options);
  options.node = "b";
  options.weight = 1;
  auto b = other_.polling("p", options);
  for (auto* const polling : {&a, &b}) {
    polling->set_endpoints(feeds(40));
    polling->start();
  }
  EXPECT_TRUE(settles(40));
  EXPECT_TRUE(owns(a, 30));
  EXPECT_TRUE(owns(b, 10));
}

TEST_P(Pollings, InstancesAndPollingsAreApart) {
  auto a = holt_.polling("p", as("a"));
  auto b = other_.polling("q", as("b"));
  auto elsewhere = open(store_->url(), {.instance = "other"});
  auto c = elsewhere.polling("p", as("c"));
  for (auto* const polling : {&a, &b, &c}) {
    polling->set_endpoints(feeds(4));
    polling->start();
  }
  EXPECT_TRUE(owns(a, 4));
  EXPECT_TRUE(owns(b, 4));
  EXPECT_TRUE(owns(c, 4));
  EXPECT_EQ(holt_.nodes().size(), 2U);
  EXPECT_EQ(elsewhere.nodes().size(), 1U);
}

TEST_P(Pollings, TellsTheLogWhatHappens) {
  std::mutex mutex;
  std::set<std::string> told;
  OpenOptions options;
  options.log_level = LogLevel::debug;
  options.log = [&](LogEvent const& event) {
    std::scoped_lock const lock(mutex);
    if (event.name == "poll/p/x") told.insert(event.event + " " + event.reason);
  };
  auto const has = [&](std::string const& words) {
    return comes_true([&] {
      std::scoped_lock const lock(mutex);
      return told.contains(words);
    });
  };
  auto logged = open_client(std::move(options));
  auto a = logged.polling("p", as("a"));
  a.set_endpoints({"x"});
  a.start();
  EXPECT_TRUE(has("acquired "));
  a.remove("x");
  EXPECT_TRUE(has("released voluntary"));
  a.add("x");
  ASSERT_TRUE(owns(a, 1));
  a.stop();
  EXPECT_TRUE(has("released shutdown"));
}

TEST_P(Pollings, RefusesWhatCannotBe) {
  auto const refused = [&](std::string_view what, PollingOptions const& options) {
    try {
      auto polling = holt_.polling("p", options);
      ADD_FAILURE() << "not refused: " << what;
    } catch (InvalidArgument const& error) {
      EXPECT_THAT(error.what(), HasSubstr(std::string(what)));
    }
  };
  refused("a ttl of 50 ms", {.ttl = 50ms});
  refused("cannot be safe", {.ttl = 1s, .renew_every = 500ms});
  refused("a weight of 0", {.weight = 0});
  refused("a cap of 0.5", {.cap = 0.5});
  refused("0 moves", {.moves = 0});
  refused("a node's id", {.node = "a\nb"});
  refused("a pause between polls of 0 ms", {.every = 0ms});
  refused("a time to drain of -1 ms", {.drain = -1ms});
  EXPECT_THROW(holt_.polling("a/b"), InvalidArgument);
  auto a = holt_.polling("p");
  EXPECT_THAT(a.node(), testing::MatchesRegex(".+-[0-9]{19}-[0-9a-f]{8}"));
  EXPECT_THROW(a.add(""), InvalidArgument);
  EXPECT_THROW(a.set_endpoints({"x", "a\nb"}), InvalidArgument);
  EXPECT_THROW(a.add(std::string(512, 'x')), InvalidArgument);
  EXPECT_THROW(a.stop(-1ms), InvalidArgument);
  EXPECT_THROW(holt_.add_endpoint("a/b", "x"), InvalidArgument);
}

}  // namespace
}  // namespace holt::test
