// SPDX-License-Identifier: Apache-2.0
// How much may be under way on one connection, with bounds that a test can reach: so many bytes are
// sent, so many more wait for room, and the rest is refused at once. flood_test.cpp has the bounds
// that are in use.

#include "engines/redis/connection.hpp"
#include "redis/store_behind_proxy.hpp"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/use_future.hpp>

#include <atomic>

namespace holt::test {
namespace {

constexpr std::size_t word = 1000;  // bytes of what one call brings
constexpr redis::Limits few_bytes{
    .in_flight = 1000, .in_flight_bytes = 2500, .waiting = 1000, .waiting_bytes = 7500};
constexpr int sent = 2;
constexpr int waiting = 7;

struct Ends {
  std::atomic<int> done = 0;
  std::atomic<int> unknown = 0;
  std::atomic<int> not_applied = 0;
  std::atomic<int> refused = 0;

  [[nodiscard]] int all() const { return done + unknown + not_applied + refused; }
};

class RedisLimits : public testing::Test {
 protected:
  void connect(redis::Limits const& limits) {
    connection_.emplace(env_, redis::parse_place(url_of(proxy_)), limits);
    connect_again();
  }
  void connect_again() {
    asio::co_spawn(env_.executor(), connection_->ready("test", env_.now() + 5s), asio::use_future)
        .get();
  }
  /// Calls that add their number to a list, all in one turn of the loop.
  void push(int count, Ends& ends, Nanos patience = 30s, std::size_t size = word) {
    auto const until = env_.now() + patience;
    auto const all = [this, count, &ends, until, size]() -> asio::awaitable<void> {
      for (int i = 0; i < count; ++i) {
        auto text = std::to_string(i) + " ";
        text.resize(size, 'x');
        asio::co_spawn(env_.executor(), push_one(std::move(text), until, ends), asio::detached);
      }
      co_return;
    };
    asio::co_spawn(env_.executor(), all(), asio::use_future).get();
  }
  /// The numbers in the list.
  std::vector<int> pushed() {
    std::vector<int> numbers;
    for (auto const& item : server_.command({"LRANGE", "list", "0", "-1"}).items) {
      numbers.push_back(std::stoi(item.text));
    }
    return numbers;
  }

  RedisServer server_;
  TcpProxy proxy_{server_.port()};
  RealEnv env_;
  std::optional<redis::Connection> connection_;

 private:
  asio::awaitable<void> push_one(std::string text, Instant until, Ends& ends) {
    auto const bytes = redis::command("RPUSH", "list", text);
    redis::Answer answer = co_await connection_->call(bytes, redis::Effect::writes, "test", until);
    auto const error = error_of([&] { (void)redis::reply_of(std::move(answer)); });
    if (!error) {
      ++ends.done;
    } else if (error->code() == ErrorCode::rate_limited) {
      EXPECT_EQ(error->outcome(), Outcome::not_applied);
      EXPECT_EQ(error->reason(), "too many calls wait for the server");
      ++ends.refused;
    } else {
      ++(error->outcome() == Outcome::unknown ? ends.unknown : ends.not_applied);
    }
  }
};

std::vector<int> first(int count) {
  std::vector<int> numbers;
  for (int i = 0; i < count; ++i) numbers.push_back(i);
  return numbers;
}

TEST_F(RedisLimits, WhatFindsNoRoomWaitsAndWhatFindsNoPlaceThereIsRefusedAtOnce) {
  connect(few_bytes);
  proxy_.hold(Way::to_client);
  Ends ends;
  push(20, ends);
  ASSERT_TRUE(wait_until([&] { return ends.refused == 20 - sent - waiting; }));
  ASSERT_TRUE(wait_until([&] { return pushed().size() == sent; }));
  EXPECT_EQ(ends.all(), ends.refused) << "the others wait";
  proxy_.pass();
  ASSERT_TRUE(wait_until([&] { return ends.all() == 20; }));
  EXPECT_EQ(ends.done, sent + waiting);
  EXPECT_EQ(pushed(), first(sent + waiting)) << "in the order in which they were asked for";

  Ends again;
  push(sent + waiting, again);
  ASSERT_TRUE(wait_until([&] { return again.all() == sent + waiting; }));
  EXPECT_EQ(again.done, sent + waiting) << "there is room again";
}

TEST_F(RedisLimits, WhatIsGivenUpLeavesItsPlaceToOthers) {
  connect(few_bytes);
  proxy_.swallow(Way::to_client);
  Ends ends;
  push(sent + waiting, ends, 200ms);
  ASSERT_TRUE(wait_until([&] { return ends.all() == sent + waiting; }));
  EXPECT_EQ(ends.unknown, sent);
  EXPECT_EQ(ends.not_applied, waiting) << "these were never sent";
  proxy_.pass();
  connect_again();
  Ends again;
  push(sent + waiting, again);
  ASSERT_TRUE(wait_until([&] { return again.all() == sent + waiting; }));
  EXPECT_EQ(again.done, sent + waiting);
}

TEST_F(RedisLimits, ALossEndsWhatWaitsAndForgetsIt) {
  connect(few_bytes);
  proxy_.hold(Way::to_client);
  Ends ends;
  push(sent + waiting, ends);
  ASSERT_TRUE(wait_until([&] { return pushed().size() == sent; }));
  proxy_.cut_all();
  ASSERT_TRUE(wait_until([&] { return ends.all() == sent + waiting; }));
  EXPECT_EQ(ends.unknown, sent);
  EXPECT_EQ(ends.not_applied, waiting);
  proxy_.pass();
  connect_again();
  Ends again;
  push(sent + waiting, again);
  ASSERT_TRUE(wait_until([&] { return again.all() == sent + waiting; }));
  EXPECT_EQ(again.done, sent + waiting);
}

TEST_F(RedisLimits, CallsAreCountedToo) {
  auto few_calls = few_bytes;
  few_calls.in_flight = 1;
  few_calls.waiting = 3;
  connect(few_calls);
  proxy_.hold(Way::to_client);
  Ends ends;
  push(10, ends, 30s, 10);
  ASSERT_TRUE(wait_until([&] { return ends.refused == 6; }));
  proxy_.pass();
  ASSERT_TRUE(wait_until([&] { return ends.all() == 10; }));
  EXPECT_EQ(pushed(), first(4));
}

TEST_F(RedisLimits, ACallThatIsLargerThanAllRoomGoesAlone) {
  connect(few_bytes);
  Ends ends;
  push(1, ends, 30s, few_bytes.in_flight_bytes * 2);
  ASSERT_TRUE(wait_until([&] { return ends.all() == 1; }));
  EXPECT_EQ(ends.done, 1);
}

}  // namespace
}  // namespace holt::test
