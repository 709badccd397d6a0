// SPDX-License-Identifier: Apache-2.0
// Servers that answer what a real one on this machine cannot be made to answer, and what is no
// Redis at all.

#include "redis/scripted_server.hpp"
#include "redis/store_behind_proxy.hpp"

#include <thread>

namespace holt::test {
namespace {

/// Answers calls with what stands in `next`, then with a lease that somebody holds.
class Moody {
 public:
  std::string next;
  std::mutex mutex;

  std::string operator()(ScriptedServer::Words const&) {
    std::scoped_lock const lock(mutex);
    return next.empty() ? "*1\r\n*-1\r\n" : std::exchange(next, {});
  }
  void say(std::string bytes) {
    std::scoped_lock const lock(mutex);
    next = std::move(bytes);
  }
};

class StrangeServer : public testing::Test {
 protected:
  std::optional<EngineError> after(std::string const& bytes) {
    moody_.say(bytes);
    return error_of([&] { caller_.take("x", caller_.owner()); });
  }
  void works_again() { EXPECT_NO_THROW((void)caller_.find("x")); }

  Moody moody_;
  ScriptedServer server_{[this](ScriptedServer::Words const& words) { return moody_(words); }};
  RedisCaller caller_{server_.url(), 500ms};
};

TEST_F(StrangeServer, ErrorsOfAClusterAreSaidAndSurvived) {
  for (auto const* const text : {"MOVED 3999 127.0.0.1:1", "ASK 3999 127.0.0.1:1",
                                 "CROSSSLOT Keys in request don't hash to the same slot"}) {
    auto const error = after(error_reply(text));
    ASSERT_TRUE(error);
    EXPECT_EQ(error->code(), ErrorCode::invalid_argument);
    EXPECT_EQ(error->outcome(), Outcome::not_applied);
    EXPECT_NE(error->hint().find("Cluster"), std::string::npos);
    works_again();
  }
  for (auto const* const text :
       {"TRYAGAIN Multiple keys request during rehashing of slot",
        "CLUSTERDOWN The cluster is down", "MASTERDOWN Link with MASTER is down"}) {
    auto const error = after(error_reply(text));
    ASSERT_TRUE(error);
    EXPECT_EQ(error->code(), ErrorCode::service_unavailable);
    EXPECT_EQ(error->outcome(), Outcome::not_applied);
    EXPECT_TRUE(error->retryable());
    works_again();
  }
}

TEST_F(StrangeServer, AnErrorNobodyKnowsLeavesTheOutcomeOpen) {
  auto const error = after(error_reply("ERR the moon is in the wrong phase"));
  ASSERT_TRUE(error);
  EXPECT_EQ(error->code(), ErrorCode::internal);
  EXPECT_EQ(error->outcome(), Outcome::unknown);
  EXPECT_NE(std::string(error->what()).find("moon"), std::string::npos);
  works_again();
}

TEST_F(StrangeServer, AnswersOfAnotherShapeAreErrorsNotCrashes) {
  for (auto const* const bytes :
       {"+OK\r\n", "$-1\r\n", "*0\r\n", "*1\r\n:0\r\n", "*2\r\n:0\r\n:9\r\n",
        "*5\r\n:0\r\n:9\r\n$3\r\nabc\r\n:1\r\n:1\r\n", "*5\r\n:0\r\n:-1\r\n+x\r\n:1\r\n:1\r\n",
        "*5\r\n:0\r\n:0\r\n+x\r\n:1\r\n:1\r\n", "*1\r\n:1\r\n", "*2\r\n:1\r\n:7\r\n",
        "*2\r\n:1\r\n+seven\r\n", "*1\r\n-ERR x\r\n"}) {
    auto const error = after(bytes);
    ASSERT_TRUE(error) << bytes;
    EXPECT_EQ(error->code(), ErrorCode::internal) << bytes;
    EXPECT_EQ(error->outcome(), Outcome::unknown) << bytes;
    works_again();
  }
}

TEST_F(StrangeServer, WhatNobodyAskedForIsNotTakenForTheNextAnswer) {
  EXPECT_TRUE(after(error_reply("ERR one") + "*1\r\n$5\r\nextra\r\n"));
  ASSERT_TRUE(wait_until([&] { return !error_of([&] { EXPECT_FALSE(caller_.find("x")); }); }));
  EXPECT_EQ(server_.connections(), 2) << "such a connection is of no use";
}

TEST_F(StrangeServer, GarbageEndsTheConnectionNotTheClient) {
  for (auto const* const bytes :
       {"HTTP/1.1 400 Bad Request\r\n\r\n", "*2147483647\r\n", "$x\r\n"}) {
    auto const error = after(bytes);
    ASSERT_TRUE(error) << bytes;
    EXPECT_EQ(error->outcome(), Outcome::unknown);
    works_again();
  }
}

/// Renewals go out in chunks: what was done of the first is not undone by the second.
TEST(StrangeServers, ARefusalInTheMiddleOfManyRenewalsLeavesTheOutcomeOpen) {
  int asked = 0;
  ScriptedServer const server([&](ScriptedServer::Words const&) {
    if (++asked > 1) return error_reply("MISCONF unable to persist to disk");
    std::string all = "*128\r\n";
    for (int i = 0; i < 128; ++i) all += ":1\r\n";
    return all;
  });
  RedisCaller caller(server.url());
  std::vector<LeaseRenewal> renewals;
  for (int i = 0; i < 200; ++i) renewals.emplace_back(Name("x"), caller.owner(), 30s);
  auto const error =
      error_of([&] { run(caller.engine().leases().renew(renewals, caller.deadline())); });
  ASSERT_TRUE(error);
  EXPECT_EQ(error->code(), ErrorCode::service_unavailable);
  EXPECT_EQ(error->outcome(), Outcome::unknown);
}

TEST(NoRedis, IsSaid) {
  ReservedPort const port;
  auto const opening = [&](std::string const& url) { return error_of([&] { RedisCaller{url}; }); };
  auto const start = BootClock::now();
  auto const refused = opening("redis://127.0.0.1:" + std::to_string(port.number()));
  EXPECT_LT(BootClock::now() - start, 1s) << "who opens a store does not wait for its server";
  ASSERT_TRUE(refused);
  EXPECT_EQ(refused->code(), ErrorCode::service_unavailable);
  EXPECT_EQ(refused->outcome(), Outcome::not_applied);
  EXPECT_FALSE(refused->hint().empty());
  auto const nowhere = opening("redis://no-such-host.invalid");
  ASSERT_TRUE(nowhere);
  EXPECT_EQ(nowhere->code(), ErrorCode::service_unavailable);
  EXPECT_EQ(nowhere->outcome(), Outcome::not_applied);
}

TEST(NoRedis, SilenceOnConnectingCostsTheTimeoutOfTheAddress) {
  RedisServer const server;
  TcpProxy proxy(server.port());
  proxy.black_hole();
  auto const start = BootClock::now();
  auto const error = error_of([&] { RedisCaller{url_of(proxy, "?timeout=200")}; });
  EXPECT_LT(BootClock::now() - start, 2s);
  ASSERT_TRUE(error);
  EXPECT_EQ(error->code(), ErrorCode::network_timeout);
  EXPECT_EQ(error->outcome(), Outcome::not_applied);
  EXPECT_TRUE(error->retryable());
  EXPECT_FALSE(error->hint().empty());
  proxy.pass();
  EXPECT_NO_THROW(RedisCaller{url_of(proxy, "?timeout=2000")});
}

TEST(NoRedis, ASocketThatCannotBeSaysWhy) {
  auto const start = BootClock::now();
  auto const error = error_of([&] { RedisCaller{"redis+unix:///" + std::string(200, 'x')}; });
  ASSERT_TRUE(error);
  EXPECT_LT(BootClock::now() - start, 1s);
  EXPECT_EQ(error->code(), ErrorCode::invalid_argument) << error->what();
}

}  // namespace
}  // namespace holt::test
