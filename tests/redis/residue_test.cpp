// SPDX-License-Identifier: Apache-2.0
// What stays on a server: counters, and nothing else that does not end by itself. And what others
// do to our keys.

#include "engines/redis/layout.hpp"
#include "engines/redis/listing.hpp"
#include "redis/store_behind_proxy.hpp"

#include <holt/holt.hpp>

#include <algorithm>
#include <thread>

namespace holt::test {
namespace {

/// Keys that would stay for ever, counters aside.
std::vector<std::string> residue(RedisServer const& server) {
  auto client = server.connect();
  std::vector<std::string> left;
  for (auto const& key : client.done({"KEYS", "*"}).items) {
    if (!key.text.ends_with("}:c") && client.number({"PTTL", key.text}) < 0) {
      left.push_back(key.text);
    }
  }
  std::ranges::sort(left);
  return left;
}

/// Every key there is.
std::vector<std::string> all_keys(RedisServer const& server) {
  std::vector<std::string> keys;
  for (auto const& key : server.command({"KEYS", "*"}).items) keys.push_back(key.text);
  std::ranges::sort(keys);
  return keys;
}

using Strings = std::vector<std::string>;

/// The number before one that calls for a sweep.
std::string before_sweep() {
  std::uint64_t number = 1'750'000'000'000'000;
  while (!redis::calls_for_sweep(number + 1)) ++number;
  return std::to_string(number);
}

TEST(RedisResidue, OnlyCountersStayBehind) {
  RedisServer const server;
  {
    RedisCaller caller(server.url());
    auto const holder = caller.owner();
    auto const waiter = caller.owner();
    auto const gone = caller.owner();
    caller.take("x", holder);
    ASSERT_FALSE(caller.stand_in_line("x", waiter));
    ASSERT_FALSE(caller.stand_in_line("x", gone));
    EXPECT_TRUE(caller.release("x", gone));
    EXPECT_TRUE(caller.release("x", holder));
    EXPECT_TRUE(caller.acquire("x", waiter));
    (void)caller.break_lease("x", "stop");
    EXPECT_TRUE(caller.release("x", waiter));
    ASSERT_TRUE(caller.put("r", "1"));
    ASSERT_TRUE(caller.put("t", "1", 30s));
    EXPECT_TRUE(*run(caller.engine().records().erase("r", std::nullopt, caller.deadline())));
    EXPECT_TRUE(*run(caller.engine().records().erase("t", std::nullopt, caller.deadline())));
  }
  for (auto const& key : all_keys(server)) EXPECT_TRUE(key.ends_with("}:c")) << key;
}

TEST(RedisResidue, ClientsAndTheirLocksLeaveOnlyCounters) {
  RedisServer const server;
  {
    auto client = open(server.url());
    auto lock = client.try_lock("x", {.ttl = 5s});
    ASSERT_TRUE(lock);
    EXPECT_FALSE(client.lock("x", {.ttl = 5s, .wait = 1s})) << "gives up, and leaves the line";
    std::thread waiter([&] { EXPECT_TRUE(client.lock("x", {.ttl = 5s, .wait = 20s})); });
    EXPECT_TRUE(wait_until([&] { return client.find("x")->waiting == 1; }));
    EXPECT_TRUE(lock->release());
    waiter.join();
    auto const forgotten = client.try_lock("y", {.ttl = 5s});
    client.close();
  }
  for (auto const& key : all_keys(server)) EXPECT_TRUE(key.ends_with("}:c")) << key;
}

TEST(RedisResidue, WhatTheDeadLeaveEndsByItself) {
  RedisServer const server;
  RedisCaller caller(server.url());
  {
    RedisCaller dying(server.url());
    dying.take("x", dying.owner(), 2s);
    ASSERT_FALSE(dying.stand_in_line("x", dying.owner(), 2s, 3s));
    dying.take("y", dying.owner(), 100ms);
  }
  redis::Keys const keys("default");
  EXPECT_EQ(residue(server),
            (Strings{keys.names(redis::shard_of("x")), keys.names(redis::shard_of("y"))}))
      << "lists of names are swept after many grants, or when the name is asked for again";
  EXPECT_TRUE(wait_until([&] {
    auto const now = all_keys(server);
    return std::ranges::none_of(now, [](auto const& key) { return key.find(":q:") != key.npos; });
  }));
  EXPECT_TRUE(wait_until([&] { return caller.acquire("x", caller.owner(), 200ms).has_value(); }));
}

/// The list of a shard is looked through by whoever draws a fence of a certain kind.
TEST(RedisResidue, NamesOfTheDeadAreSwept) {
  RedisServer const server;
  RedisCaller caller(server.url());
  redis::Keys const keys("default");
  auto const shard = redis::shard_of("x");
  auto client = server.connect();
  for (int i = 0; i < 3000; ++i) {
    client.send({"ZADD", keys.names(shard), "0", "{x}" + std::to_string(i)});
  }
  for (int i = 0; i < 3000; ++i) (void)client.receive();
  auto const owner = caller.owner();
  caller.take("x", owner);
  client.done({"HSET", keys.counter(shard), "n", before_sweep()});
  caller.take("{x}", caller.owner());
  EXPECT_TRUE(wait_until([&] { return client.number({"ZCARD", keys.names(shard)}) == 2; }));
  EXPECT_TRUE(caller.find("x"));
  EXPECT_EQ(caller.list().leases.size(), 2U);
}

TEST(RedisResidue, KeysOfRecordsThatEndedAreSwept) {
  RedisServer const server;
  RedisCaller caller(server.url());
  redis::Keys const keys("default");
  auto const shard = redis::shard_of("x");
  auto client = server.connect();
  ASSERT_TRUE(caller.put("{x}1", "1", 1ms));
  ASSERT_TRUE(caller.put("{x}2", "1"));
  EXPECT_EQ(client.number({"ZCARD", keys.record_keys(shard)}), 2);
  client.done({"HSET", keys.counter(shard), "v", before_sweep()});
  EXPECT_TRUE(wait_until([&] { return !client.number({"EXISTS", keys.record("{x}1")}); }));
  ASSERT_TRUE(caller.put("x", "1"));
  EXPECT_EQ(client.number({"ZCARD", keys.record_keys(shard)}), 2);
  EXPECT_FALSE(client.ask({"ZSCORE", keys.record_keys(shard), "{x}2"}).is_nil());
}

/// More of them than are tried one by one: they are of one process.
TEST(RedisResidue, ADeadProcessWithManyWaitersIsSkippedAtOnce) {
  RedisServer const server;
  RedisCaller caller(server.url());
  auto const holder = caller.owner();
  caller.take("x", holder);
  {
    RedisCaller dying(server.url());
    for (int i = 0; i < 60; ++i) ASSERT_FALSE(dying.stand_in_line("x", dying.owner()));
  }
  auto const waiter = caller.owner();
  ASSERT_FALSE(caller.stand_in_line("x", waiter));
  EXPECT_TRUE(caller.release("x", holder));
  auto const found = caller.find("x");
  ASSERT_TRUE(found);
  EXPECT_TRUE(found->offered);
  EXPECT_EQ(found->owner, waiter);
}

TEST(RedisResidue, ALineThatLostPartOfItselfStopsNobody) {
  for (auto const* const part :
       {"holt:default:{23}:q:x", "holt:default:{23}:u:x", "holt:default:{23}:t:x"}) {
    RedisServer const server;
    RedisCaller caller(server.url());
    auto const holder = caller.owner();
    auto const waiter = caller.owner();
    caller.take("x", holder);
    ASSERT_FALSE(caller.stand_in_line("x", waiter));
    EXPECT_EQ(server.command({"DEL", part}).integer, 1);
    SCOPED_TRACE(part);
    EXPECT_TRUE(caller.release("x", holder));
    EXPECT_TRUE(caller.stand_in_line("x", waiter)) << "free, and nobody is before it";
    EXPECT_TRUE(caller.release("x", waiter));
  }
}

TEST(RedisResidue, AFlushTakesLeasesButNotTheGrowthOfFences) {
  RedisServer const server;
  RedisCaller caller(server.url());
  auto const owner = caller.owner();
  auto last = caller.take("x", owner);
  auto version = *caller.put("r", "1");
  for (auto const* const command : {"FLUSHALL", "FLUSHDB"}) {
    server.command({command});
    auto const renewed = caller.renew("x", owner);
    ASSERT_FALSE(renewed);
    EXPECT_EQ(renewed.error().reason, LossReason::taken);
    EXPECT_FALSE(caller.release("x", owner));
    auto const next = caller.take("x", owner);
    EXPECT_GT(next, last);
    last = next;
    auto const written = *caller.put("r", "1");
    EXPECT_GT(written, version);
    version = written;
  }
}

/// A counter that came back must not be taken for another server's: it would run ahead of the
/// clock, and the next flush would bring old numbers back.
TEST(RedisResidue, FlushesAmongClientsOfDifferentAgeDoNotBringOldFencesBack) {
  RedisServer const server;
  RedisCaller old_client(server.url());
  auto last = old_client.take("x", old_client.owner());
  for (int round = 0; round < 3; ++round) {
    server.command({"FLUSHALL"});
    auto const first = old_client.take("x", old_client.owner());
    EXPECT_GT(first, last);
    RedisCaller new_client(server.url());
    last = new_client.take("{x}", new_client.owner());
    EXPECT_EQ(last.value(), first.value() + 1);
  }
}

/// It may have lost the last second of its log.
TEST(RedisResidue, ARestartedServerJumpsOverWhatItMayHaveForgotten) {
  RedisServer server({.append_only = true});
  RedisCaller caller(server.url());
  auto const owner = caller.owner();
  caller.take("x", owner);
  ASSERT_TRUE(caller.put("x", "1")) << "a record in the shard of the lease";
  auto const time = server.command({"TIME"}).items;
  auto const now = std::stoull(time.at(0).text) * 1'000'000 + std::stoull(time.at(1).text);
  server.restart();
  ASSERT_TRUE(wait_until([&] { return !error_of([&] { (void)caller.find("x"); }); }));
  EXPECT_TRUE(caller.renew("x", owner)) << "it is in the log";
  EXPECT_GT(*caller.put("x", "1"), now);
  EXPECT_GT(caller.take("{x}", caller.owner()).value(), now);
}

}  // namespace
}  // namespace holt::test
