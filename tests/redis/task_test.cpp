// SPDX-License-Identifier: Apache-2.0
// Tasks on a Redis that forgets, refuses, or answers into the void: what is then said of a call is
// true, no half of anything stays, and workers go on.

#include "redis/store_behind_proxy.hpp"

#include <holt/holt.hpp>

#include <gmock/gmock.h>

#include <functional>
#include <map>
#include <set>

namespace holt::test {
namespace {

using testing::HasSubstr;

constexpr auto queue_name = "q";
/// What all keys of the queue begin with.
constexpr std::string_view start = "holt:default:{q:q}:";

/// A RedisCaller's calls on tasks.
class RedisTaskCaller : public RedisCaller {
 public:
  using RedisCaller::RedisCaller;

  std::vector<Added> add(std::size_t count, std::string const& payload = "",
                         std::string request = {}) {
    AddRequest adding(queue_name, std::vector<NewTask>(count, NewTask("job", payload)));
    adding.request = RequestId(std::move(request));
    return run(engine().tasks()->add(std::move(adding), deadline()));
  }
  Claimed exchange(ClaimRequest request) {
    return run(engine().tasks()->claim(std::move(request), deadline()));
  }
  ClaimRequest asking(std::uint32_t want) { return {queue_name, owner(), want, 30s}; }
  /// The next exchange of who has `held`: all of it is completed.
  ClaimRequest completing(Owner const& by, Claimed const& held, std::uint32_t want = 0) {
    auto request = asking(want);
    request.answered = by;
    for (auto const& task : held.tasks) {
      request.finishes.emplace_back(task.id, by, held.fence, TaskOutcome::completed);
    }
    return request;
  }
  TaskCounts count() { return run(engine().tasks()->count(queue_name, deadline())); }
};

std::set<std::string> keys_of(RedisServer const& server) {
  std::set<std::string> keys;
  for (auto const& key : server.command({"KEYS", std::string(start) + "*"}).items) {
    keys.insert(key.text.substr(start.size()));
  }
  return keys;
}

TEST(RedisTasks, AFlushTakesTasksButNotTheGrowthOfNumbers) {
  RedisServer const server;
  RedisTaskCaller caller(server.url());
  for (int round = 0; round < 3; ++round) {
    auto const added = caller.add(5);
    auto const first = caller.asking(2);
    auto const held = caller.exchange(first);
    server.command({"FLUSHALL"});
    auto const told = caller.exchange(caller.completing(first.owner, held));
    for (auto const& finish : told.finishes) EXPECT_FALSE(finish) << "it is gone";
    std::vector<ClaimRenewal> renewals;
    renewals.emplace_back(queue_name, first.owner, held.fence, 30s);
    auto const renewed = run(caller.engine().tasks()->renew(renewals, caller.deadline()));
    ASSERT_FALSE(renewed.at(0));
    EXPECT_EQ(renewed.at(0).error().reason, LossReason::taken);
    EXPECT_EQ(caller.count().pending, 0U);
    EXPECT_GT(caller.add(1).front().id.number(), added.back().id.number());
    EXPECT_GT(caller.exchange(caller.asking(1)).fence, held.fence);
  }
}

TEST(RedisTasks, AServerThatForgotItsScriptsIsToldThemAgain) {
  RedisServer const server;
  RedisTaskCaller caller(server.url());
  server.command({"SCRIPT", "FLUSH"});
  EXPECT_EQ(caller.add(3).size(), 3U);
  server.command({"SCRIPT", "FLUSH"});
  auto const first = caller.asking(2);
  auto const held = caller.exchange(first);
  EXPECT_EQ(held.tasks.size(), 2U);
  server.command({"SCRIPT", "FLUSH"});
  auto const told = caller.exchange(caller.completing(first.owner, held));
  for (auto const& finish : told.finishes) EXPECT_EQ(finish.value(), TaskState::completed);
  server.command({"SCRIPT", "FLUSH"});
  EXPECT_EQ(caller.count().completed, 2U);
}

std::size_t memory_of(RedisServer const& server) {
  auto const info = server.command({"INFO", "memory"}).text;
  return std::stoul(info.substr(info.find("used_memory:") + 12));
}

/// Ended tasks go when their time is over and somebody asks; what is left then has an end of its
/// own, but for the counter and the kinds.
TEST(RedisTasks, OnlyCountersStayBehindAnEmptyQueue) {
  RedisServer const server;
  RedisTaskCaller caller(server.url());
  caller.count();
  auto const before = memory_of(server);
  NewTask task("job", std::string(2000, 'x'));
  task.keep = 1ms;
  for (int round = 0; round < 4; ++round) {
    run(caller.engine().tasks()->add(AddRequest(queue_name, {2000, task}), caller.deadline()));
    auto request = caller.asking(500);
    for (int i = 0; i < 6; ++i) {
      auto const by = request.owner;
      auto const held = caller.exchange(request);
      request = caller.completing(by, held, 500);
      for (std::size_t each = 0; each < held.tasks.size(); each += 2) {
        request.finishes[each].text = "result";
      }
    }
  }
  EXPECT_TRUE(wait_until([&] {
    caller.exchange(caller.asking(1));
    return !keys_of(server).contains("t");
  }));
  for (auto const& key : keys_of(server)) {
    auto const left = server.command({"PTTL", std::string(start) + key}).integer;
    EXPECT_TRUE(key == "c" || key == "k" || left >= 0) << key;
  }
  EXPECT_LT(memory_of(server), before + 2'000'000) << "16 MB of payloads were there";
}

TEST(RedisTasks, AKeyThatSomebodyElseHasWrittenIsToldAndNothingIsLost) {
  RedisServer const server;
  RedisTaskCaller caller(server.url());
  caller.add(40);
  auto const first = caller.asking(1);
  auto const held = caller.exchange(first);
  std::size_t expected = 39;  // waiting or running, when that one is completed
  std::size_t running = 0;
  for (auto const& key : keys_of(server)) {
    SCOPED_TRACE(key);
    auto const ours = std::string(start) + key;
    server.command({"RENAME", ours, "kept"});
    server.command({"SET", ours, "a stranger's"});
    auto const before = server.command({"DBSIZE"}).integer;
    auto const refused = [&](auto const& work) {
      auto const error = error_of(work);
      if (!error) return false;  // it does not need this key
      EXPECT_THAT(error->what(), HasSubstr("WRONGTYPE"));
      EXPECT_FALSE(error->retryable()) << error->what();
      return true;
    };
    if (!refused([&] { caller.add(1); })) ++expected;
    refused([&] { running += caller.exchange(caller.asking(1)).tasks.size(); });
    EXPECT_GE(server.command({"DBSIZE"}).integer, before);
    EXPECT_EQ(server.command({"GET", ours}).text, "a stranger's");
    server.command({"DEL", ours});
    server.command({"RENAME", "kept", ours});
  }
  auto const told = caller.exchange(caller.completing(first.owner, held));
  EXPECT_EQ(told.finishes.at(0).value(), TaskState::completed);
  EXPECT_EQ(caller.count().pending + caller.count().running, expected);
  std::size_t claimed = running;
  for (int i = 0; i < 50; ++i) claimed += caller.exchange(caller.asking(1)).tasks.size();
  EXPECT_EQ(claimed, expected) << "a task that nobody can claim";
  EXPECT_EQ(caller.count().pending, 0U);
}

TEST(RedisTasks, AFullServerRefusesAllOfABatchOrTakesAllOfIt) {
  RedisServer const server;
  RedisTaskCaller caller(server.url());
  caller.add(20);
  auto const first = caller.asking(10);
  auto const held = caller.exchange(first);
  auto const keys = keys_of(server);
  server.command({"CONFIG", "SET", "maxmemory", "1"});
  auto const error = error_of([&] { caller.add(500, std::string(500, 'x'), "request"); });
  ASSERT_TRUE(error);
  EXPECT_EQ(error->outcome(), Outcome::not_applied) << error->what();
  EXPECT_THAT(error->what(), HasSubstr("OOM"));
  server.command({"CONFIG", "SET", "maxmemory", "0"});
  EXPECT_EQ(caller.count().pending, 10U) << "half of a batch";
  EXPECT_EQ(keys_of(server), keys);
  EXPECT_EQ(caller.add(500, std::string(500, 'x'), "request").size(), 500U);
  EXPECT_EQ(caller.count().pending, 510U);
  auto const told = caller.exchange(caller.completing(first.owner, held));
  for (auto const& finish : told.finishes) EXPECT_EQ(finish.value(), TaskState::completed);
}

/// What a listing shows is what is counted, state by state.
void expect_counted(RedisTaskCaller& caller, std::size_t most = 1000) {
  std::map<TaskState, std::uint64_t> seen;
  std::string cursor;
  do {
    auto const page = run(caller.engine().tasks()->list(
        queue_name, TaskFilter(), cursor, static_cast<std::uint32_t>(most), caller.deadline()));
    for (auto const& task : page.tasks) ++seen[task.state];
    cursor = page.next;
  } while (!cursor.empty());
  auto const counts = caller.count();
  EXPECT_EQ(counts.pending, seen[TaskState::pending]);
  EXPECT_EQ(counts.running, seen[TaskState::running]);
  EXPECT_EQ(counts.completed, seen[TaskState::completed]);
  EXPECT_EQ(counts.retrying, seen[TaskState::retrying]);
  EXPECT_EQ(counts.cancelled, seen[TaskState::cancelled]);
}

/// 250 tasks whose payloads are their places, added together.
std::vector<Added> add_250(RedisTaskCaller& caller) {
  std::vector<NewTask> tasks;
  for (int i = 0; i < 250; ++i) tasks.emplace_back("job", std::to_string(i));
  return run(caller.engine().tasks()->add(AddRequest(queue_name, tasks), caller.deadline()));
}

/// Claims and completes all that waits; how many that were.
std::size_t complete_the_rest(RedisTaskCaller& caller) {
  std::size_t claimed = 0;
  for (int i = 0; i < 20; ++i) {
    auto const next = caller.asking(30);
    auto const more = caller.exchange(next);
    claimed += more.tasks.size();
    caller.exchange(caller.completing(next.owner, more));
  }
  return claimed;
}

/// Tasks that were added together are one record, until something happens to some of them.
TEST(RedisTasks, WhatHappensToSomeOfAPackDividesIt) {
  RedisServer const server;
  RedisTaskCaller caller(server.url());
  auto const added = add_250(caller);
  EXPECT_EQ(server.command({"HLEN", std::string(start) + "t"}).integer, 3) << "one for a hundred";
  expect_counted(caller, 7);

  auto const first = caller.asking(130);
  auto const held = caller.exchange(first);
  ASSERT_EQ(held.tasks.size(), 130U);
  for (std::size_t i = 0; i < 130; ++i) {
    EXPECT_EQ(held.tasks[i].id, added[i].id);
    EXPECT_EQ(held.tasks[i].payload, std::to_string(i));
  }
  expect_counted(caller);

  auto request = caller.asking(0);
  auto const hand_in = [&](std::size_t i, TaskOutcome outcome) {
    request.finishes.emplace_back(held.tasks[i].id, first.owner, held.fence, outcome);
  };
  for (std::size_t i = 10; i < 60; ++i) hand_in(i, TaskOutcome::completed);
  for (std::size_t i = 65; i < 75; ++i) hand_in(i, TaskOutcome::untouched);
  hand_in(62, TaskOutcome::completed);
  hand_in(99, TaskOutcome::failed);
  auto const told = caller.exchange(request);
  for (std::size_t i = 0; i < told.finishes.size(); ++i) {
    auto const expected = i < 50 || i == 60 ? TaskState::completed : TaskState::pending;
    EXPECT_EQ(told.finishes[i].value(), expected) << i;
  }
  expect_counted(caller);

  // Said of what has ended, or is somebody else's, this is refused and changes nothing.
  std::vector<ClaimRenewal> renewals;
  renewals.emplace_back(queue_name, first.owner, held.fence, 30s);
  renewals.front().progress.emplace_back(held.tasks[30].id, "late");
  renewals.front().progress.emplace_back(held.tasks[61].id, "half");
  auto const renewed = run(caller.engine().tasks()->renew(renewals, caller.deadline()));
  EXPECT_EQ(renewed.at(0).value().refused, std::vector{held.tasks[30].id});
  auto const twice = caller.exchange(request);
  EXPECT_EQ(twice.finishes.size(), told.finishes.size());
  expect_counted(caller);

  auto const found = run(caller.engine().tasks()->find(added[70].id, caller.deadline()));
  ASSERT_TRUE(found);
  EXPECT_EQ(found->state, TaskState::pending);
  EXPECT_EQ(found->payload, "70");
  EXPECT_EQ(found->fence, held.fence);
}

TEST(RedisTasks, OneTaskOfAPackIsCancelledAndTheRestOfAClaimGivenBack) {
  RedisServer const server;
  RedisTaskCaller caller(server.url());
  auto const added = add_250(caller);
  auto const first = caller.asking(130);
  auto const held = caller.exchange(first);
  auto request = caller.asking(0);
  for (std::size_t i = 10; i < 60; ++i) {
    request.finishes.emplace_back(held.tasks.at(i).id, first.owner, held.fence,
                                  TaskOutcome::completed);
  }
  caller.exchange(request);
  auto const cancel = [&](TaskId const& id) {
    return run(caller.engine().tasks()->cancel(id, caller.deadline()));
  };
  EXPECT_EQ(cancel(added[200].id), Cancellation::cancelled);
  EXPECT_EQ(cancel(added[5].id), Cancellation::asked);
  EXPECT_EQ(cancel(added[30].id), Cancellation::finished);
  expect_counted(caller);

  auto back = caller.asking(0);
  back.give_back.push_back(first.owner);
  caller.exchange(back);
  EXPECT_EQ(caller.count().running, 0U);
  expect_counted(caller);
  EXPECT_EQ(complete_the_rest(caller), 250U - 50 - 2) << "all but the completed and the cancelled";
  expect_counted(caller);
  EXPECT_EQ(caller.count().pending, 0U);
}

}  // namespace
}  // namespace holt::test
