// SPDX-License-Identifier: Apache-2.0
#include "support/servers/tcp_proxy.hpp"

#include "support/servers/redis_server.hpp"
#include "support/servers/redis_traffic.hpp"
#include "support/servers/wait_until.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <thread>

namespace holt::test {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using Words = RedisClient::Words;
using Clock = std::chrono::steady_clock;

/// *2 $4 INCR $1 n
constexpr std::uint64_t incr_size = 4 + 10 + 7;
/// :1
constexpr std::uint64_t reply_size = 4;

class TcpProxyTest : public testing::Test {
 protected:
  static void SetUpTestSuite() { server_ = std::make_unique<RedisServer>(); }
  static void TearDownTestSuite() { server_.reset(); }
  void SetUp() override { server_->command({"FLUSHALL"}); }

  /// A client behind the proxy.
  [[nodiscard]] RedisClient client() const { return RedisClient(proxy_.port()); }
  /// What the server has counted, asked past the proxy.
  [[nodiscard]] static std::string counted() { return server_->connect().ask({"GET", "n"}).text; }
  [[nodiscard]] static bool fails(RedisClient& client) {
    try {
      client.ask({"INCR", "n"});
      return false;
    } catch (std::runtime_error const&) {
      return true;
    }
  }

  static inline std::unique_ptr<RedisServer> server_;
  TcpProxy proxy_{server_->port()};
};

TEST_F(TcpProxyTest, PassesCountsAndRecords) {
  auto first = client();
  auto second = client();
  EXPECT_EQ(first.number({"INCR", "n"}), 1);
  EXPECT_EQ(second.number({"INCR", "n"}), 2);
  EXPECT_EQ(first.number({"INCR", "n"}), 3);
  EXPECT_EQ(proxy_.connections(), 2U);
  EXPECT_EQ(proxy_.open_connections(), 2U);
  EXPECT_EQ(proxy_.bytes(Way::to_server), 3 * incr_size);
  EXPECT_EQ(proxy_.bytes(Way::to_client), 3 * reply_size);
  EXPECT_THAT(proxy_.recorded(Way::to_client), ElementsAre(":1\r\n:3\r\n", ":2\r\n"));
  Words const incr{"INCR", "n"};
  EXPECT_THAT(commands_sent(proxy_), ElementsAre(incr, incr, incr));
  proxy_.forget();
  EXPECT_TRUE(commands_sent(proxy_).empty());
  EXPECT_EQ(proxy_.bytes(Way::to_server), 0U);
}

TEST_F(TcpProxyTest, CarriesMuchAndInOrder) {
  auto one = client();
  std::string const much(20'000'000, 'x');
  EXPECT_EQ(one.text({"SET", "much", much}), "OK");
  EXPECT_EQ(one.text({"GET", "much"}), much);
}

TEST_F(TcpProxyTest, EndsWhatEitherSideEnds) {
  {
    auto one = client();
    EXPECT_FALSE(fails(one));
  }
  EXPECT_TRUE(wait_until([this] { return proxy_.open_connections() == 0; }));
  auto other = client();
  EXPECT_FALSE(fails(other));
  server_->command({"CLIENT", "KILL", "TYPE", "normal"});
  EXPECT_TRUE(fails(other));
  EXPECT_EQ(proxy_.cuts(), 0U);
}

TEST_F(TcpProxyTest, CutsBeforeTheRequest) {
  auto one = client();
  auto other = client();
  EXPECT_FALSE(fails(other));
  proxy_.cut_before(Way::to_server);
  EXPECT_TRUE(fails(one));
  EXPECT_EQ(counted(), "1") << "must not reach the server";
  EXPECT_FALSE(fails(other)) << "one connection, once";
  EXPECT_EQ(proxy_.cuts(), 1U);
}

TEST_F(TcpProxyTest, CutsInTheMiddleOfTheRequest) {
  for (auto const bytes : {std::uint64_t{1}, incr_size / 2, incr_size - 1}) {
    auto one = client();
    proxy_.forget();
    proxy_.cut_after(Way::to_server, bytes);
    EXPECT_TRUE(fails(one));
    EXPECT_EQ(proxy_.bytes(Way::to_server), bytes);
  }
  EXPECT_EQ(counted(), "");
}

TEST_F(TcpProxyTest, CutsAfterTheRequestWhichTheServerStillDoes) {
  auto one = client();
  proxy_.cut_after(Way::to_server, incr_size);
  EXPECT_TRUE(fails(one));
  EXPECT_TRUE(wait_until([] { return counted() == "1"; }));
}

TEST_F(TcpProxyTest, CutsBeforeAndInTheMiddleOfTheReply) {
  for (auto const bytes : {std::uint64_t{0}, std::uint64_t{2}, reply_size - 1}) {
    auto one = client();
    proxy_.forget();
    proxy_.cut_before(Way::to_client, bytes);
    EXPECT_TRUE(fails(one));
    EXPECT_EQ(proxy_.bytes(Way::to_client), bytes);
  }
  EXPECT_EQ(counted(), "3") << "the server has done what was asked";
}

TEST_F(TcpProxyTest, CutsAfterTheReply) {
  auto one = client();
  proxy_.cut_after(Way::to_client, reply_size);
  EXPECT_FALSE(fails(one));
  EXPECT_TRUE(fails(one));
}

TEST_F(TcpProxyTest, CountsOnEachConnectionIfToldTo) {
  auto before = client();
  EXPECT_FALSE(fails(before));
  proxy_.cut_before(Way::to_server, 2 * incr_size, TcpProxy::Count::per_connection);
  EXPECT_FALSE(fails(before));
  EXPECT_TRUE(fails(before));
  for (int i = 0; i < 2; ++i) {
    auto later = client();
    EXPECT_FALSE(fails(later));
    EXPECT_FALSE(fails(later));
    EXPECT_TRUE(fails(later));
  }
  EXPECT_EQ(proxy_.cuts(), 3U);
  proxy_.pass();
  auto healed = client();
  for (int i = 0; i < 4; ++i) EXPECT_FALSE(fails(healed));
}

TEST_F(TcpProxyTest, CutsAllAtOnce) {
  auto one = client();
  auto other = client();
  EXPECT_FALSE(fails(one));
  EXPECT_FALSE(fails(other));
  proxy_.cut_all();
  EXPECT_EQ(proxy_.open_connections(), 0U);
  EXPECT_TRUE(fails(one));
  EXPECT_TRUE(fails(other));
}

TEST_F(TcpProxyTest, DelaysReplies) {
  auto one = client();
  proxy_.delay(Way::to_client, 150ms);
  auto const start = Clock::now();
  EXPECT_EQ(one.number({"INCR", "n"}), 1);
  EXPECT_GE(Clock::now() - start, 150ms);
  one.send({"INCR", "n"});
  EXPECT_TRUE(wait_until([] { return counted() == "2"; })) << "the request is not delayed";
  one.send({"INCR", "n"});
  EXPECT_EQ(one.receive().integer, 2);
  EXPECT_EQ(one.receive().integer, 3);
}

TEST_F(TcpProxyTest, HoldsRepliesUntilToldToPass) {
  auto one = client();
  proxy_.hold(Way::to_client);
  one.send({"INCR", "n"});
  EXPECT_TRUE(wait_until([] { return counted() == "1"; }));
  EXPECT_EQ(proxy_.bytes(Way::to_client), 0U);
  proxy_.pass();
  EXPECT_EQ(one.receive().integer, 1);
}

TEST_F(TcpProxyTest, SwallowsRepliesAndKeepsTheConnection) {
  auto one = client();
  proxy_.swallow(Way::to_client);
  one.send({"INCR", "n"});
  EXPECT_TRUE(wait_until([this] { return proxy_.recorded(Way::to_client).at(0) == ":1\r\n"; }));
  proxy_.pass();
  EXPECT_EQ(one.number({"INCR", "n"}), 2) << "the first reply is lost, the connection is not";
  EXPECT_EQ(proxy_.connections(), 1U);
}

TEST_F(TcpProxyTest, ABlackHoleHidesEvenTheEndOfTheServer) {
  RedisServer doomed;
  TcpProxy proxy(doomed.port());
  RedisClient open(proxy.port());
  open.done({"PING"});
  proxy.black_hole();
  RedisClient late(proxy.port());
  doomed.kill();
  for (auto* client : {&open, &late}) {
    client->set_patience(100ms);
    auto const start = Clock::now();
    EXPECT_THROW(client->ask({"PING"}), std::runtime_error);
    EXPECT_GE(Clock::now() - start, 90ms) << "a time-out, and no end of connection";
  }
  EXPECT_EQ(proxy.open_connections(), 2U);
  doomed.start();
  proxy.pass();
  EXPECT_EQ(RedisClient(proxy.port()).text({"PING"}), "PONG");
}

TEST_F(TcpProxyTest, RefusesNewConnectionsOnly) {
  auto open = client();
  proxy_.refuse();
  EXPECT_THROW(auto const none = client(), std::runtime_error);
  EXPECT_FALSE(fails(open));
  proxy_.pass();
  auto later = client();
  EXPECT_FALSE(fails(later));
}

TEST_F(TcpProxyTest, CanBePointedAtAnotherServer) {
  RedisServer const other;
  proxy_.set_server(other.port());
  auto one = client();
  EXPECT_FALSE(fails(one));
  EXPECT_EQ(counted(), "");
}

TEST_F(TcpProxyTest, EndsConnectionsWhenThereIsNoServer) {
  RedisServer gone;
  proxy_.set_server(gone.port());
  gone.stop();
  auto one = client();
  EXPECT_TRUE(fails(one));
}

TEST_F(TcpProxyTest, ManyClientsAndAHandOnTheLever) {
  std::vector<std::jthread> clients;
  std::atomic<int> replies = 0;
  for (int i = 0; i < 4; ++i) {
    clients.emplace_back([&](std::stop_token const& stop) {
      while (!stop.stop_requested()) {
        try {
          auto one = client();
          while (!stop.stop_requested() && one.number({"INCR", "n"}) > 0) ++replies;
        } catch (std::runtime_error const&) {
        }
      }
    });
  }
  for (int round = 0; round < 20; ++round) {
    auto const before = replies.load();
    proxy_.cut_before(round % 2 == 0 ? Way::to_client : Way::to_server, 100);
    EXPECT_TRUE(wait_until([&] { return replies > before + 20; }));
    proxy_.delay(Way::to_client, round % 3 * 1ms);
    proxy_.cut_all();
    proxy_.pass();
  }
  for (auto& one : clients) one.request_stop();
  clients.clear();
  EXPECT_LE(replies, std::stoi(counted())) << "a reply for each, or it was lost on the way";
}

TEST(RedisTrafficTest, ReadsWholeCommandsOnly) {
  EXPECT_THAT(commands_in("*1\r\n$4\r\nPING\r\n*2\r\n$3\r\nGET\r\n$3\r\na\r\n\r\n*2\r\n$3\r\nGE"),
              ElementsAre(Words{"PING"}, Words{"GET", "a\r\n"}));
  EXPECT_THROW(auto const none = commands_in("PING\r\n"), std::runtime_error);
}

}  // namespace
}  // namespace holt::test
