// SPDX-License-Identifier: Apache-2.0
// The codec of the Redis engine: commands as bytes, and replies however their bytes arrive.

#include "engines/redis/reply.hpp"

#include <gtest/gtest.h>

#include <array>
#include <stdexcept>
#include <string>

namespace holt::redis {
namespace {

using namespace std::string_literals;

std::string what_is_thrown(std::string_view bytes) {
  ReplyReader reader;
  try {
    reader.feed(bytes);
    while (reader.next()) continue;
  } catch (std::runtime_error const& error) {
    return error.what();
  }
  return "nothing";
}

TEST(RedisCommandTest, IsItsWordsWithTheirLengths) {
  EXPECT_EQ(command("GET", "x"), "*2\r\n$3\r\nGET\r\n$1\r\nx\r\n");
  EXPECT_EQ(command("PING"), "*1\r\n$4\r\nPING\r\n");
}

TEST(RedisCommandTest, TakesEmptyWordsAndAnyByte) {
  EXPECT_EQ(command("SET", "", std::string_view()), "*3\r\n$3\r\nSET\r\n$0\r\n\r\n$0\r\n\r\n");
  auto const bytes = "a\0\r\n%s$"s;
  EXPECT_EQ(command("ECHO", bytes), "*2\r\n$4\r\nECHO\r\n$7\r\n"s + bytes + "\r\n");
}

TEST(RedisReplyTest, SaysWhatItIs) {
  ReplyReader reader;
  reader.feed("+OK\r\n:-7\r\n$5\r\na\r\nb!\r\n$-1\r\n-ERR no\r\n*-1\r\n$0\r\n\r\n*0\r\n"s);
  auto const status = reader.next();
  EXPECT_TRUE((*status)->is_text());
  EXPECT_EQ((*status)->text(), "OK");
  EXPECT_EQ((*reader.next())->integer(), -7);
  EXPECT_EQ((*reader.next())->text(), "a\r\nb!");
  EXPECT_TRUE((*reader.next())->is_nil());
  auto const error = reader.next();
  EXPECT_TRUE((*error)->is_error());
  EXPECT_FALSE((*error)->is_text());
  EXPECT_EQ((*error)->text(), "ERR no");
  EXPECT_TRUE((*reader.next())->is_nil());
  EXPECT_EQ((*reader.next())->text(), "");
  auto const none = reader.next();
  EXPECT_TRUE((*none)->is_array());
  EXPECT_EQ((*none)->size(), 0U);
  EXPECT_FALSE(reader.next()) << "there is no more";
}

TEST(RedisReplyTest, ComesOutTheSameByteByByte) {
  auto const bytes = "*3\r\n:1\r\n*2\r\n$2\r\nhi\r\n*1\r\n$-1\r\n-ERR x\r\n+next\r\n"s;
  ReplyReader reader;
  std::vector<Reply> replies;
  for (char const byte : bytes) {
    reader.feed({&byte, 1});
    while (auto reply = reader.next()) replies.push_back(std::move(*reply));
  }
  ASSERT_EQ(replies.size(), 2U);
  auto const& list = *replies[0];
  ASSERT_EQ(list.size(), 3U);
  EXPECT_EQ(list[0].integer(), 1);
  EXPECT_EQ(list[1][0].text(), "hi");
  EXPECT_TRUE(list[1][1][0].is_nil());
  EXPECT_TRUE(list[2].is_error());
  EXPECT_EQ(replies[1]->text(), "next");
}

TEST(RedisReplyTest, RefusesToBeReadAsSomethingElse) {
  ReplyReader reader;
  reader.feed("*2\r\n:1\r\n+two\r\n:3\r\n");
  auto const list = reader.next();
  auto const number = reader.next();
  EXPECT_THROW((void)(*list)->integer(), std::runtime_error);
  EXPECT_THROW((void)(*list)->text(), std::runtime_error);
  EXPECT_THROW((void)(**list)[0].text(), std::runtime_error);
  EXPECT_THROW((void)(**list)[1].integer(), std::runtime_error);
  EXPECT_THROW((void)(**list)[2], std::runtime_error);
  EXPECT_EQ((*number)->size(), 0U);
  EXPECT_THROW((void)(**number)[0], std::runtime_error);
}

TEST(RedisReplyTest, OtherProtocolsAreNoRedisServer) {
  for (std::string_view const bytes :
       {"HTTP/1.1 400 Bad Request\r\n\r\n", "SSH-2.0-OpenSSH_9.2\r\n", "\x15\x03\x01\r\n",
        "220 mail ready\r\n"}) {
    EXPECT_TRUE(what_is_thrown(bytes).starts_with("this is no Redis server: ")) << bytes;
  }
}

TEST(RedisReplyTest, DamagedNumbersAreRefused) {
  for (std::string_view const bytes : {"$x\r\n", "*x\r\n", ":\r\n", ":1x\r\n", "$-5\r\n", "*-2\r\n",
                                       "*99999999999999999999\r\n", "$99999999999999999999\r\n"}) {
    EXPECT_NE(what_is_thrown(bytes), "nothing") << bytes;
  }
}

/// Before anything is reserved for it: the elements never came.
TEST(RedisReplyTest, AHugeCountIsRefusedAtOnce) {
  for (std::string_view const bytes : {"*2147483647\r\n", "*1000001\r\n", "*1\r\n*1000001\r\n"}) {
    EXPECT_EQ(what_is_thrown(bytes), "the server's answer is too long") << bytes;
  }
  EXPECT_EQ(what_is_thrown("*1000000\r\n"), "nothing") << "that many are possible";
}

TEST(RedisReplyTest, AListTooDeepIsRefused) {
  std::string bytes;
  for (int i = 0; i < 64; ++i) bytes += "*1\r\n";
  EXPECT_NE(what_is_thrown(bytes), "nothing");
}

TEST(RedisReplyTest, PartsOfAListCanBeTakenOut) {
  ReplyReader reader;
  reader.feed("*4\r\n:7\r\n$-1\r\n*2\r\n:1\r\n+a\r\n:8\r\n");
  Reply list = std::move(reader.next()).value();
  Reply const nested = list.take(2);
  EXPECT_EQ(nested->size(), 2U);
  EXPECT_EQ((*nested)[1].text(), "a");
  EXPECT_EQ(list.take(0)->integer(), 7);
  EXPECT_TRUE(list.take(0).empty()) << "it is gone";
  EXPECT_TRUE(list.take(1).empty()) << "nil";
  EXPECT_EQ(list.take(3)->integer(), 8);
  EXPECT_THROW(static_cast<void>(list.take(4)), std::exception);
}

TEST(RedisReplyTest, ARefusalSaysItsText) {
  Reply const reply = Reply::refusal("NOSCRIPT No matching script.");
  EXPECT_TRUE(reply->is_error());
  EXPECT_EQ(reply->text(), "NOSCRIPT No matching script.");
  EXPECT_FALSE(reply.empty());
  EXPECT_TRUE(Reply().empty());
}

}  // namespace
}  // namespace holt::redis
