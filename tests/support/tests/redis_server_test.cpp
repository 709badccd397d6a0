// SPDX-License-Identifier: Apache-2.0
#include "support/servers/redis_server.hpp"

#include "process_gone.hpp"
#include "support/servers/shifted_clock.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <ctime>

namespace holt::test {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;
using testing::StartsWith;

/// PING over TLS with redis-cli; whether it was answered.
bool answers_over_tls(RedisServer const& server, std::string const& ca, TlsFiles const* client) {
  TemporaryFolder const folder;
  SpawnPlan plan;
  plan.command = {"redis-cli", "-e",       "-h",
                  "127.0.0.1", "-p",       std::to_string(server.tls_port()),
                  "--tls",     "--cacert", ca};
  if (client != nullptr) {
    plan.command.insert(plan.command.end(),
                        {"--cert", client->client_certificate(), "--key", client->client_key()});
  }
  plan.command.emplace_back("PING");
  plan.folder = folder.path();
  plan.log = folder.file("log");
  try {
    run_program("redis-cli", plan);
    return true;
  } catch (ServerFailed const&) {
    return false;
  }
}

TEST(RedisServerTest, AnswersAndIsGoneWithItsOwner) {
  pid_t pid = 0;
  {
    RedisServer server;
    auto client = server.connect();
    EXPECT_EQ(client.text({"SET", "a b", std::string("x\0y", 3)}), "OK");
    EXPECT_EQ(client.text({"GET", "a b"}), std::string("x\0y", 3));
    EXPECT_EQ(client.number({"INCR", "n"}), 1);
    EXPECT_TRUE(client.ask({"GET", "none"}).is_nil());
    EXPECT_THAT(client.ask({"INCR", "a b"}).text, StartsWith("ERR "));
    EXPECT_THROW(client.number({"INCR", "a b"}), std::runtime_error);
    EXPECT_EQ(client.done({"LRANGE", "none", "0", "1"}).kind, RedisReply::Kind::array);
    EXPECT_EQ(server.url(), "redis://127.0.0.1:" + std::to_string(server.port()));
    pid = server.process().pid();
  }
  EXPECT_TRUE(is_gone(pid));
}

TEST(RedisServerTest, SaysWhatRedisSaysWhenItDoesNotStart) {
  try {
    RedisServer const server({.config = {"no-such-setting yes"}});
    FAIL() << "should throw";
  } catch (ServerFailed const& error) {
    EXPECT_THAT(error.what(), HasSubstr("no-such-setting"));
  }
}

TEST(RedisServerTest, KeepsItsPortOverARestartAndItsDataIfAsked) {
  for (bool const keeps : {true, false}) {
    RedisServer server({.append_only = keeps});
    auto const port = server.port();
    server.command({"SET", "k", "v"});
    server.restart();
    EXPECT_EQ(server.port(), port);
    EXPECT_EQ(server.connect().ask({"GET", "k"}).text, keeps ? "v" : "");
    server.kill();
    EXPECT_THROW(auto const none = server.connect(), std::runtime_error);
    server.start();
    EXPECT_EQ(server.connect().ask({"GET", "k"}).text, keeps ? "v" : "");
  }
}

TEST(RedisServerTest, AsksForThePassword) {
  RedisServer const server({.password = "secret"});
  EXPECT_THAT(RedisClient(server.port()).ask({"GET", "k"}).text, StartsWith("NOAUTH"));
  EXPECT_TRUE(server.connect().ask({"GET", "k"}).is_nil());
  EXPECT_THAT(server.url(), StartsWith("redis://:secret@127.0.0.1:"));
}

TEST(RedisServerTest, KnowsTheUsersOfItsAclFile) {
  RedisServer const server({.acl = {"user default off", "user worker on >pass ~w:* +get"}});
  RedisClient client(server.port());
  EXPECT_THAT(client.ask({"GET", "k"}).text, StartsWith("NOAUTH"));
  client.done({"AUTH", "worker", "pass"});
  EXPECT_TRUE(client.ask({"GET", "w:k"}).is_nil());
  EXPECT_THAT(client.ask({"GET", "k"}).text, StartsWith("NOPERM"));
  EXPECT_THAT(client.ask({"SET", "w:k", "v"}).text, StartsWith("NOPERM"));
  EXPECT_EQ(server.connect().text({"SET", "k", "v"}), "OK");
}

TEST(RedisServerTest, ListensOnAUnixSocket) {
  RedisServer const server({.unix_socket = true});
  EXPECT_EQ(RedisClient(server.socket_path()).text({"PING"}), "PONG");
}

TEST(RedisServerTest, SpeaksTlsWithACertificateOfItsAuthority) {
  RedisServer const server({.tls = RedisOptions::Tls::server});
  TlsFiles const others;
  EXPECT_TRUE(answers_over_tls(server, server.tls().ca(), nullptr));
  EXPECT_TRUE(answers_over_tls(server, server.tls().ca(), &server.tls()));
  EXPECT_FALSE(answers_over_tls(server, others.ca(), nullptr));
  EXPECT_FALSE(answers_over_tls(server, server.tls().ca(), &others));
}

TEST(RedisServerTest, CanWantAClientCertificate) {
  RedisServer const server({.tls = RedisOptions::Tls::mutual});
  EXPECT_TRUE(answers_over_tls(server, server.tls().ca(), &server.tls()));
  EXPECT_FALSE(answers_over_tls(server, server.tls().ca(), nullptr));
}

TEST(RedisServerTest, HasTheMemoryItIsGiven) {
  RedisServer const server({.max_memory = "3mb", .eviction = "allkeys-lru"});
  auto client = server.connect();
  EXPECT_EQ(client.done({"CONFIG", "GET", "maxmemory-policy"}).items.at(1).text, "allkeys-lru");
  EXPECT_EQ(client.done({"CONFIG", "GET", "maxmemory"}).items.at(1).text, "3145728");
}

TEST(ShiftedClockTest, MovesTheClockOfAProgram) {
  TemporaryFolder const folder;
  ShiftedClock const clock(folder.file("shift"));
  clock.set(-48h);
  SpawnPlan plan;
  plan.command = {"sh", "-c", "test $(date +%s) -lt " + std::to_string(std::time(nullptr) - 86400)};
  plan.environment = clock.environment();
  plan.folder = folder.path();
  plan.log = folder.file("log");
  run_program("date", plan);
}

TEST(RedisServerTest, ItsClockCanBeMovedAndKeysEndByIt) {
  TemporaryFolder const folder;
  ShiftedClock const clock(folder.file("shift"));
  RedisServer const server({.environment = clock.environment()});
  auto const ahead = [&] {
    return std::stol(server.command({"TIME"}).items.at(0).text) - std::time(nullptr);
  };
  EXPECT_LT(std::abs(ahead()), 60);
  server.command({"SET", "k", "v", "PX", "60000"});
  clock.set(2h);
  EXPECT_NEAR(static_cast<double>(ahead()), 7200.0, 60.0);
  EXPECT_TRUE(server.command({"GET", "k"}).is_nil());
  clock.set(-2h);
  EXPECT_NEAR(static_cast<double>(ahead()), -7200.0, 60.0);
}

TEST(RedisServerTest, ItsSubscribersHear) {
  RedisServer const server;
  auto listener = server.connect();
  listener.done({"SUBSCRIBE", "news"});
  EXPECT_EQ(server.command({"PUBLISH", "news", "hello"}).integer, 1);
  auto const message = listener.receive();
  ASSERT_EQ(message.items.size(), 3U);
  EXPECT_EQ(message.items[2].text, "hello");
}

}  // namespace
}  // namespace holt::test
