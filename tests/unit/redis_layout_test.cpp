// SPDX-License-Identifier: Apache-2.0
// Keys and records of the Redis engine. What is stored outlives this version: the texts below must
// never change.

#include "engines/redis/layout.hpp"
#include "redis_scripts.hpp"

#include <gtest/gtest.h>

#include <set>
#include <string>

namespace holt::redis {
namespace {

using namespace std::string_literals;

auto const owner = "1234-00000000deadbeef.AAAAAAAAAAAAAAAAAAAAAA"s;
auto const record =
    owner + " 1760000000000042 0 30000 1500 1760000000123 3 7\nreqstop it" + "a note\nof two lines";

TEST(RedisLayoutTest, AShardIsANamesForEver) {
  EXPECT_EQ(shard_of("x"), 0x23U);
  EXPECT_EQ(shard_of("deploy"), 0x11U);
  EXPECT_EQ(shard_of(""), 0x19U);
}

TEST(RedisLayoutTest, NamesWithTheSamePartInBracesShareAShard) {
  EXPECT_EQ(shard_of("{deploy}:eu"), shard_of("deploy"));
  EXPECT_EQ(shard_of("a{deploy}b"), shard_of("deploy"));
  EXPECT_EQ(shard_of("{deploy}{other}"), shard_of("deploy")) << "the first pair counts";
}

TEST(RedisLayoutTest, AKeyTellsItsShard) {
  Keys const keys("default");
  for (auto const* const name : {"x", "deploy", "{deploy}:eu", "a{b", "{ff}"}) {
    EXPECT_EQ(shard_in(keys.lease(name)), shard_of(name)) << name;
    EXPECT_EQ(shard_in(keys.record(name)), shard_of(name)) << name;
  }
  Keys const of_cluster("default", Keys::Counting::by_shard);
  for (unsigned shard = 0; shard < shards; ++shard) {
    EXPECT_EQ(shard_in(of_cluster.counter(shard)), shard);
  }
  EXPECT_EQ(shard_in("holt:default:everybody"), 0U) << "any will do";
}

TEST(RedisLayoutTest, EmptyOrOpenBracesAreLetters) {
  std::set<unsigned> found;
  for (auto const* const name : {"{}a", "{}b", "{}c", "{}d", "{}e"}) found.insert(shard_of(name));
  EXPECT_GT(found.size(), 1U) << "names that only begin with {} must not share one shard";
  found.clear();
  for (auto const* const name : {"{a", "{b", "}{c", "}{d", "{e"}) found.insert(shard_of(name));
  EXPECT_GT(found.size(), 1U);
}

TEST(RedisLayoutTest, ShardsAreAllUsed) {
  std::set<unsigned> found;
  for (int i = 0; i < 2000; ++i) found.insert(shard_of("name-" + std::to_string(i)));
  EXPECT_EQ(found.size(), shards);
}

TEST(RedisLayoutTest, KeysOfANameLieInItsShardsSlot) {
  Keys const keys("default");
  EXPECT_EQ(keys.lease("x"), "holt:default:{23}:l:x");
  EXPECT_EQ(keys.names(0x23), "holt:default:{23}:i");
  EXPECT_EQ(keys.record("x"), "holt:default:{23}:r:x");
  EXPECT_EQ(keys.number("x"), "holt:default:{23}:n:x");
  EXPECT_EQ(keys.record_keys(3), "holt:default:{03}:k");
}

/// Not that of one of the shards: an instance that was on a cluster must not find an old number.
TEST(RedisLayoutTest, OneServerHasOneCounterAndAClusterOneInEachSlot) {
  Keys const keys("default");
  EXPECT_EQ(keys.counter(0x23), "holt:default:{all}:c");
  EXPECT_EQ(keys.all_counters(), std::vector<std::string>{"holt:default:{all}:c"});
  Keys const of_cluster("default", Keys::Counting::by_shard);
  EXPECT_EQ(of_cluster.counter(0x23), "holt:default:{23}:c");
  EXPECT_EQ(of_cluster.all_counters().size(), shards);
  EXPECT_EQ(of_cluster.all_counters().at(0x23), of_cluster.counter(0x23));
}

TEST(RedisLayoutTest, KeysOfALeaseAreToldFromOthers) {
  Keys const keys("default");
  std::vector<std::string> const others{
      keys.counter(3),         keys.names(3),          keys.record("l:x"),
      keys.number("q:x"),      keys.record_keys(3),    "holt:",
      "holt:default:{23}:",    "holt:default:{23}:l",  "holt:other:{23}:l:x",
      "holt:default:{23}:u:x", "holt:default:{23}:t:x"};
  for (std::string const key : {"holt:default:{23}:l:x", "holt:default:{23}:q:x"}) {
    EXPECT_TRUE(key.starts_with(keys.shards_prefix())) << key;
    EXPECT_TRUE(keys.is_about_a_lease(key)) << key;
  }
  for (auto const& key : others) EXPECT_FALSE(keys.is_about_a_lease(key)) << key;
}

TEST(RedisLayoutTest, ScriptsAreGivenAllKeysOfAName) {
  Keys const keys("default");
  ScriptCall call(scripts::release, Keys::of_a_name, 0);
  keys.add_all("x", call);
  EXPECT_EQ(call.by_sha(),
            command("EVALSHA", scripts::release.sha, "6", "holt:default:{23}:l:x",
                    "holt:default:{23}:q:x", "holt:default:{23}:u:x", "holt:default:{23}:t:x",
                    "holt:default:{all}:c", "holt:default:{23}:i"));
  ScriptCall find(scripts::find, 2, 0);
  keys.add_lease("x", find);
  keys.add_until("x", find);
  EXPECT_EQ(find.by_sha(), command("EVALSHA", scripts::find.sha, "2", "holt:default:{23}:l:x",
                                   "holt:default:{23}:u:x"));
}

TEST(RedisLayoutTest, ARecordIsReadAsItWasWritten) {
  auto const read = parse_record(record);
  ASSERT_TRUE(read);
  EXPECT_EQ(read->owner.text(), owner);
  EXPECT_EQ(read->fence, Fence(1'760'000'000'000'042));
  EXPECT_FALSE(read->offered);
  EXPECT_EQ(read->ttl_ms, 30000);
  EXPECT_EQ(read->delay_ms, 1500);
  EXPECT_EQ(read->acquired_ms, 1'760'000'000'123);
  EXPECT_EQ(read->broken, "stop it");
  EXPECT_EQ(read->note, "a note\nof two lines");
}

TEST(RedisLayoutTest, ARecordMayHaveNoTextsAtAll) {
  auto const text = owner + " 1 1 100 0 5 0 0\n";
  auto const read = parse_record(text);
  ASSERT_TRUE(read);
  EXPECT_TRUE(read->offered);
  EXPECT_EQ(read->note, "");
  EXPECT_EQ(read->broken, "");
}

/// Either nothing or a record whose texts lie within what was given; never a crash.
void read_anything(std::string const& text) {
  auto const read = parse_record(text);
  if (!read) return;
  EXPECT_LE(read->note.size() + read->broken.size(), text.size());
  EXPECT_GE(read->ttl_ms, 0);
  EXPECT_GE(read->delay_ms, 0);
  EXPECT_GE(read->acquired_ms, 0);
}

TEST(RedisLayoutTest, ARecordThatWasCutIsNone) {
  auto const head = record.find('\n');
  for (std::size_t size = 0; size < record.size(); ++size) {
    auto const cut = record.substr(0, size);
    read_anything(cut);
    if (size < head + 1 + 10) {
      EXPECT_FALSE(parse_record(cut)) << cut;
    }
  }
}

TEST(RedisLayoutTest, AnyByteMayBeAnother) {
  for (std::size_t at = 0; at < record.size(); ++at) {
    for (int byte = 0; byte < 256; ++byte) {
      auto changed = record;
      changed[at] = static_cast<char>(byte);
      read_anything(changed);
    }
  }
}

TEST(RedisLayoutTest, NumbersThatMakeNoSenseAreRefused) {
  auto const with = [](std::string const& numbers) { return owner + numbers + "\nabc"; };
  EXPECT_TRUE(parse_record(with(" 1 0 1 0 1 0 0")));
  for (auto const* const numbers :
       {" 1 0 1 0 1 18446744073709551615 1", " 1 0 1 0 1 1 18446744073709551615",
        " 1 0 1 0 1 9223372036854775808 9223372036854775808", " 1 0 1 0 1 4 0", " 1 0 1 0 1 0 4",
        " 1 0 1 0 1 2 2", " 18446744073709551616 0 1 0 1 0 0", " 1 2 1 0 1 0 0",
        " 1 0 18446744073709551615 0 1 0 0", " 1 0 1 9223372036854775 1 0 0",
        " 1 0 1 0 9223372036854775 0 0", " 1 0 1 0 1 0", " 1 0 1 0 1 0 0 0", " 1 0 1 0 1 0 -1",
        "  1 0 1 0 1 0 0", " 1 0 1 0 1 0 0 "}) {
    EXPECT_FALSE(parse_record(with(numbers))) << numbers;
  }
}

}  // namespace
}  // namespace holt::redis
