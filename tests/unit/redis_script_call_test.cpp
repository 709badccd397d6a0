// SPDX-License-Identifier: Apache-2.0
// Calls of scripts as the Redis engine writes them into bytes.

#include "engines/redis/script_call.hpp"
#include "redis_scripts.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <string>

namespace holt::redis {
namespace {

constexpr Script script{"try", "return 1", "e0e1f9fabfc9d4800c877a703b823ac0578ff8db"};

TEST(RedisScriptCallTest, IsAnEvalshaWithItsKeysBeforeItsWords) {
  ScriptCall call(script, 2, 3);
  call.add("a").add("prefix:", std::string("{23}:"), "b").add("word").add("").add(-42);
  EXPECT_EQ(call.by_sha(),
            "*8\r\n$7\r\nEVALSHA\r\n$40\r\ne0e1f9fabfc9d4800c877a703b823ac0578ff8db\r\n$1\r\n2\r\n"
            "$1\r\na\r\n$13\r\nprefix:{23}:b\r\n$4\r\nword\r\n$0\r\n\r\n$3\r\n-42\r\n");
  EXPECT_EQ(call.name(), "try");
}

TEST(RedisScriptCallTest, WithItsTextItIsTheSameCall) {
  ScriptCall call(script, 1, 1);
  call.add("key").add("word");
  EXPECT_EQ(call.with_text(), command("EVAL", "return 1", "1", "key", "word"));
  EXPECT_EQ(call.by_sha(), command("EVALSHA", script.sha, "1", "key", "word"));
}

TEST(RedisScriptCallTest, NumbersOfAnySizeAreWords) {
  ScriptCall call(script, 0, 3);
  call.add(std::numeric_limits<std::int64_t>::min()).add(std::numeric_limits<std::uint64_t>::max());
  call.add(0U);
  EXPECT_EQ(call.by_sha(), command("EVALSHA", script.sha, "0", "-9223372036854775808",
                                   "18446744073709551615", "0"));
}

TEST(RedisScriptCallTest, WordsMayBeLongAndOfAnyByte) {
  std::string word(100'000, 'x');
  word += std::string("\0\r\n$1\r\n", 8);
  ScriptCall call(script, 1, 1);
  call.add(word, word).add(word);
  EXPECT_EQ(call.by_sha(), command("EVALSHA", script.sha, "1", word + word, word));
}

TEST(RedisScriptCallTest, KnowsItsFirstKey) {
  ScriptCall none(script, 0, 1);
  none.add("word");
  EXPECT_EQ(none.first_key(), "");
  for (auto const& key : {std::string(), std::string("k"), std::string(1000, 'k')}) {
    ScriptCall call(script, 2, 0);
    call.add(key).add("another");
    EXPECT_EQ(call.first_key(), key);
  }
}

/// The server would take what comes next for its rest.
TEST(RedisScriptCallDeathTest, IsNotSentBeforeAllOfItIsThere) {
  ScriptCall call(script, 1, 1);
  call.add("key");
  EXPECT_DEATH((void)call.by_sha(), "missing_ == 0");
}

}  // namespace
}  // namespace holt::redis
