// SPDX-License-Identifier: Apache-2.0
// How a cluster shares its keys: slots as Redis counts them, its map, and what its nodes say.

#include "engines/redis/layout.hpp"
#include "engines/redis/slot_map.hpp"

#include <holt/error.hpp>

#include <gtest/gtest.h>

#include <map>
#include <string>

namespace holt::redis {
namespace {

Endpoint const asked{"h0", 7000};

SlotMap map_of(std::string const& bytes) {
  ReplyReader reader;
  reader.feed(bytes);
  auto const reply = reader.next();
  return SlotMap(**reply, asked);
}

TEST(RedisSlotTest, IsWhatRedisSays) {
  // From CLUSTER KEYSLOT of a server.
  EXPECT_EQ(slot_of("123456789"), 0x31C3U);
  EXPECT_EQ(slot_of("foo"), 12182U);
  EXPECT_EQ(slot_of("bar"), 5061U);
  EXPECT_EQ(slot_of("somekey"), 11058U);
  EXPECT_EQ(slot_of(""), 0U);
}

TEST(RedisSlotTest, CountsThePartInBraces) {
  EXPECT_EQ(slot_of("foo{hash_tag}"), 2515U);
  EXPECT_EQ(slot_of("bar{hash_tag}{other}"), 2515U);
  EXPECT_EQ(slot_of("foo{{bar}}zap"), slot_of("{bar"));
  EXPECT_NE(slot_of("foo{}{bar}"), slot_of("bar")) << "empty braces are letters";
  EXPECT_NE(slot_of("{bar"), slot_of("bar"));
}

TEST(RedisSlotTest, ShardsAreSpread) {
  Keys const keys("default", Keys::Counting::by_shard);
  Keys const other("another-instance", Keys::Counting::by_shard);
  std::map<unsigned, int> thirds;
  for (unsigned shard = 0; shard < shards; ++shard) {
    auto const slot = slot_of(keys.counter(shard));
    EXPECT_EQ(slot, slot_of(other.counter(shard)));
    ++thirds[slot * 3 / slots];
  }
  EXPECT_EQ(thirds.size(), 3U);
  for (auto const& [third, count] : thirds)
    EXPECT_GE(count, 15) << "of three nodes, node " << third;
}

TEST(RedisRedirectTest, IsReadFromTheError) {
  using enum Redirect::Kind;
  auto const moved_to = redirect_of("MOVED 3999 127.0.0.1:6381", asked);
  ASSERT_TRUE(moved_to);
  EXPECT_EQ(moved_to->kind, moved);
  EXPECT_EQ(moved_to->to, (Endpoint{"127.0.0.1", 6381}));
  auto const asks = redirect_of("ASK 3999 ::1:6381", asked);
  ASSERT_TRUE(asks);
  EXPECT_EQ(asks->kind, ask);
  EXPECT_EQ(asks->to, (Endpoint{"::1", 6381}));
  EXPECT_EQ(redirect_of("TRYAGAIN Multiple keys request during rehashing of slot", asked)->kind,
            later);
  EXPECT_EQ(redirect_of("CLUSTERDOWN The cluster is down", asked)->kind, no_one);
  EXPECT_EQ(redirect_of("CLUSTERDOWN Hash slot not served", asked)->kind, no_one);
  for (auto const* const other : {"ERR x", "MOVEDX 1 h:1", "NOSCRIPT No matching script", ""}) {
    EXPECT_FALSE(redirect_of(other, asked)) << other;
  }
}

TEST(RedisRedirectTest, ANodeThatDoesNotKnowItsHostIsTheOneThatWasAsked) {
  EXPECT_EQ(redirect_of("MOVED 1 :6381", asked)->to, (Endpoint{"h0", 6381}));
}

TEST(RedisRedirectTest, ADamagedOneLeadsNowhere) {
  for (auto const* const text : {"MOVED", "MOVED 1", "MOVED 1 ?:1", "ASK 1 h", "ASK 1 h:x",
                                 "MOVED 1 h:0", "MOVED 1 h:99999"}) {
    EXPECT_EQ(redirect_of(text, asked)->kind, Redirect::Kind::no_one) << text;
  }
}

TEST(RedisSlotMapTest, IsReadFromTheAnswer) {
  auto const map = map_of(
      "*3\r\n"
      "*4\r\n:0\r\n:5460\r\n"
      "*4\r\n$2\r\nh1\r\n:7001\r\n$1\r\na\r\n*0\r\n*3\r\n$2\r\nh4\r\n:7004\r\n$1\r\nd\r\n"
      "*3\r\n:5461\r\n:5461\r\n*3\r\n$-1\r\n:7002\r\n$1\r\nb\r\n"
      "*3\r\n:16383\r\n:16383\r\n*3\r\n$2\r\nh1\r\n:7001\r\n$1\r\na\r\n");
  EXPECT_EQ(*map.master_of(0), (Endpoint{"h1", 7001}));
  EXPECT_EQ(*map.master_of(5460), (Endpoint{"h1", 7001}));
  EXPECT_EQ(*map.master_of(5461), (Endpoint{"h0", 7002})) << "no host: the one that was asked";
  EXPECT_EQ(map.master_of(5462), nullptr);
  EXPECT_EQ(*map.master_of(16383), (Endpoint{"h1", 7001}));
  EXPECT_EQ(map.masters().size(), 2U);
  EXPECT_EQ(map.covered(), 5463U);
}

TEST(RedisSlotMapTest, WhatIsDamagedIsNotServedOrRefused) {
  EXPECT_EQ(SlotMap().covered(), 0U);
  EXPECT_EQ(map_of("*0\r\n").covered(), 0U);
  auto const node = std::string("*3\r\n$2\r\nh1\r\n:7001\r\n$1\r\na\r\n");
  EXPECT_EQ(map_of("*1\r\n*3\r\n:5\r\n:4\r\n" + node).covered(), 0U);
  EXPECT_EQ(map_of("*1\r\n*3\r\n:-9\r\n:99999\r\n" + node).covered(), slots);
  EXPECT_EQ(map_of("*1\r\n*3\r\n:0\r\n:9\r\n*3\r\n$1\r\n?\r\n:7001\r\n$1\r\na\r\n").covered(), 0U);
  for (auto const* const bytes : {"+OK\r\n", ":1\r\n", "*1\r\n:1\r\n", "*1\r\n*2\r\n:1\r\n:2\r\n",
                                  "*1\r\n*3\r\n$1\r\nx\r\n:2\r\n:3\r\n"}) {
    EXPECT_THROW(static_cast<void>(map_of(bytes)), EngineError) << bytes;
  }
}

}  // namespace
}  // namespace holt::redis
