// SPDX-License-Identifier: Apache-2.0
// More calls than a server answers: what waits is bounded, and nobody is told what is not true.

#include "redis/store_behind_proxy.hpp"

#include <boost/asio/co_spawn.hpp>

#include <atomic>

namespace holt::test {
namespace {

/// What became of many puts at once.
struct Ends {
  std::atomic<int> done = 0;
  std::atomic<int> unknown = 0;
  std::atomic<int> not_applied = 0;

  [[nodiscard]] int all() const { return done + unknown + not_applied; }
  void count(std::exception_ptr const& thrown) {
    auto const error = error_of([&] {
      if (thrown) std::rethrow_exception(thrown);
    });
    ++(!error ? done : error->outcome() == Outcome::unknown ? unknown : not_applied);
  }
};

void put_many(RedisCaller& caller, int count, Ends& ends) {
  for (int i = 0; i < count; ++i) {
    RecordWrite write("key-" + std::to_string(i), std::string(RecordStore::max_value_bytes, 'x'));
    asio::co_spawn(caller.env().executor(),
                   caller.engine().records().put(std::move(write), caller.deadline()),
                   [&ends](std::exception_ptr const& thrown, auto&&) { ends.count(thrown); });
  }
}

TEST(RedisFlood, NoMoreThan64MiBAreUnderWay) {
  constexpr int count = 1200;  // of 64 KiB each
  constexpr int fit = 1023;    // with their keys
  RedisServer const server;
  TcpProxy proxy(server.port());
  RedisCaller caller(url_of(proxy), 3s);
  Ends ends;
  proxy.swallow(Way::to_client);
  put_many(caller, count, ends);
  ASSERT_TRUE(wait_until([&] { return ends.all() == count; }, 60s));
  EXPECT_EQ(ends.done, 0);
  EXPECT_LE(ends.unknown, fit);
  EXPECT_GE(ends.not_applied, count - fit) << "these were never sent";
  EXPECT_LE(proxy.bytes(Way::to_server), std::uint64_t{65} << 20U);
  proxy.pass();
  EXPECT_TRUE(wait_until([&] { return !error_of([&] { (void)caller.find("x"); }); }, 10s));
}

TEST(RedisFlood, WhatWaitsGoesOutWhenThereIsRoom) {
  constexpr int count = 1200;
  RedisServer const server;
  TcpProxy proxy(server.port());
  RedisCaller caller(url_of(proxy), 60s);
  Ends ends;
  proxy.hold(Way::to_client);
  put_many(caller, count, ends);
  ASSERT_TRUE(
      wait_until([&] { return proxy.bytes(Way::to_server) > std::uint64_t{60} << 20U; }, 60s));
  proxy.pass();
  ASSERT_TRUE(wait_until([&] { return ends.all() == count; }, 60s));
  EXPECT_EQ(ends.done, count);
}

/// It waits behind others for the socket, and goes out when that has room, late as it is.
TEST(RedisFlood, WhatIsGivenUpBeforeItIsSentMayStillHappen) {
  constexpr int count = 600;
  RedisServer const server;
  TcpProxy proxy(server.port());
  RedisCaller caller(url_of(proxy), 60s);
  Ends ends;
  proxy.hold(Way::to_server);
  put_many(caller, count, ends);
  caller.set_patience(300ms);
  auto const error = error_of([&] { (void)caller.put("late", "1"); });
  ASSERT_TRUE(error);
  EXPECT_EQ(error->outcome(), Outcome::unknown);
  proxy.pass();
  EXPECT_TRUE(wait_until([&] { return ends.all() == count; }, 60s));
}

}  // namespace
}  // namespace holt::test
