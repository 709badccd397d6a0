// SPDX-License-Identifier: Apache-2.0
// Fences, and versions of records, grow whatever happens to the server and its data; docs/adr/0013
// says what that rests on. And there is a last one.

#include "engines/redis/layout.hpp"
#include "redis/store_behind_proxy.hpp"
#include "support/servers/redis_sentinels.hpp"
#include "support/servers/shifted_clock.hpp"

#include <algorithm>

namespace holt::test {
namespace {

/// Draws numbers of one shard and checks that each is above all before.
class Numbers {
 public:
  /// By a client that connects now.
  void grow(RedisServer const& server, std::string const& when) {
    RedisCaller caller(server.url());
    grow(caller, when);
  }
  void grow(RedisCaller& caller, std::string const& when) {
    auto const owner = caller.owner();
    auto const fence = caller.take("x", owner);
    EXPECT_GT(fence, fence_) << when;
    EXPECT_TRUE(caller.release("x", owner));
    auto const version = caller.put("{x}", "1").value();
    EXPECT_GT(version, version_) << when;
    fence_ = std::max(fence_, fence);
    version_ = std::max(version_, version);
  }

 private:
  Fence fence_;
  std::uint64_t version_ = 0;
};

TEST(RedisFences, GrowWhenAServerThatWasRestartedIsFlushed) {
  RedisServer server({.append_only = true});
  Numbers numbers;
  numbers.grow(server, "new");
  server.restart();
  numbers.grow(server, "restarted with its data");
  server.command({"FLUSHALL"});
  numbers.grow(server, "flushed");
  server.restart();
  numbers.grow(server, "restarted once more");
  server.restart();
  server.command({"FLUSHALL"});
  numbers.grow(server, "restarted and flushed");
}

TEST(RedisFences, GrowWhenAnOldSnapshotIsLoaded) {
  RedisServer server;
  Numbers numbers;
  numbers.grow(server, "new");
  server.command({"SAVE"});
  for (int i = 0; i < 20; ++i) numbers.grow(server, "after the snapshot");
  server.kill();
  server.start();
  numbers.grow(server, "back in time");
  server.command({"FLUSHALL"});
  numbers.grow(server, "flushed");
}

/// A replica of `master` that knows nothing of what comes now, and is a master itself.
void part(RedisServer& master, RedisServer const& replica) {
  replica.command({"REPLICAOF", "127.0.0.1", std::to_string(master.port())});
  RedisSentinels::await_replicas(master, 1);
  replica.command({"REPLICAOF", "NO", "ONE"});
}

TEST(RedisFences, GrowWhenALateReplicaIsPromoted) {
  RedisServer first;
  RedisServer const second;
  Numbers numbers;
  numbers.grow(first, "new");
  part(first, second);
  for (int i = 0; i < 20; ++i) numbers.grow(first, "never replicated");
  numbers.grow(second, "promoted");
  second.command({"FLUSHALL"});
  numbers.grow(second, "flushed");
}

/// A name that passes to the next in line gets a fence too: here its release is the first that the
/// new server hears of.
TEST(RedisFences, GrowWhenALateReplicaPassesANameOn) {
  RedisServer first;
  RedisServer const second;
  RedisCaller caller(first.url());
  auto const holder = caller.owner();
  caller.take("x", holder);
  RedisCaller next(second.url());
  auto const waiter = next.owner();
  ASSERT_FALSE(caller.stand_in_line("x", waiter));
  part(first, second);
  Fence last;
  for (int i = 0; i < 20; ++i) last = caller.take("{x}" + std::to_string(i), caller.owner());
  // The waiter can be told, and drew nothing on this server.
  auto listener = second.connect();
  listener.done(
      {"SUBSCRIBE", redis::Keys("default").inbox_channel() + std::string(waiter.inbox())});
  RedisCaller other(second.url());
  EXPECT_TRUE(other.release("x", holder));
  auto const offered = next.find("x");
  ASSERT_TRUE(offered);
  EXPECT_EQ(offered->owner, waiter);
  EXPECT_GT(offered->fence, last);
}

/// The replica did not see that the master jumped, either.
TEST(RedisFences, GrowWhenAJumpWasNotReplicated) {
  RedisServer first({.append_only = true});
  RedisServer const second;
  Numbers numbers;
  numbers.grow(first, "new");
  part(first, second);
  first.restart();
  numbers.grow(first, "restarted");
  numbers.grow(second, "promoted");
}

TEST(RedisFences, GrowWhenTheNextServersClockIsAnHourBehind) {
  TemporaryFolder const folder;
  ShiftedClock const clock(folder.file("shift"));
  clock.set(-std::chrono::hours(1));
  RedisServer first;
  RedisServer const second({.environment = clock.environment()});
  part(first, second);  // its first replica changes a master's identity, and so its numbers
  Numbers numbers;
  numbers.grow(first, "new");
  part(first, second);
  for (int i = 0; i < 20; ++i) numbers.grow(first, "never replicated");
  numbers.grow(second, "promoted");
}

TEST(RedisFences, GrowWhenTheClockStepsBack) {
  TemporaryFolder const folder;
  ShiftedClock const clock(folder.file("shift"));
  RedisServer server({.append_only = true, .environment = clock.environment()});
  RedisCaller caller(server.url());
  Numbers numbers;
  numbers.grow(caller, "new");
  clock.set(-std::chrono::hours(1));
  numbers.grow(caller, "set back");
  server.restart();
  numbers.grow(server, "and restarted");
}

/// A raise may go ahead of the clock, so that a flush would take fences back: one raises again.
TEST(RedisFences, GrowWhenTheyAreRaisedAgainAfterAFlush) {
  RedisServer const server;
  RedisCaller caller(server.url());
  auto const raise = [&] { return run(caller.engine().raise_fence(caller.deadline())).after; };
  Numbers numbers;
  numbers.grow(caller, "new");
  raise();
  numbers.grow(caller, "raised");
  server.command({"FLUSHALL"});
  raise();
  numbers.grow(caller, "flushed and raised");
}

constexpr std::uint64_t last_number = (1ULL << 53U) - (1ULL << 33U);

class RedisLastNumber : public testing::Test {
 protected:
  void set(std::string const& field, std::uint64_t number) {
    server_.command({"HSET", redis::Keys("default").counter(redis::shard_of("x")), field,
                     std::to_string(number)});
  }
  static void expect_used_up(std::optional<EngineError> const& error) {
    ASSERT_TRUE(error);
    EXPECT_EQ(error->code(), ErrorCode::internal) << error->what();
    EXPECT_EQ(error->outcome(), Outcome::not_applied);
    EXPECT_NE(std::string(error->what()).find("used up"), std::string::npos) << error->what();
    EXPECT_NE(error->hint().find("another instance"), std::string::npos);
  }

  RedisServer server_;
  RedisCaller caller_{server_.url()};
};

TEST_F(RedisLastNumber, ThereIsNoFenceBehindIt) {
  auto const holder = caller_.owner();
  caller_.take("x", holder);
  ASSERT_FALSE(caller_.stand_in_line("x", caller_.owner()));
  set("n", last_number - 1);
  EXPECT_EQ(caller_.take("{x}", caller_.owner()).value(), last_number);
  EXPECT_TRUE(caller_.renew("x", holder)) << "who holds goes on";
  EXPECT_TRUE(caller_.release("x", holder)) << "and can let go, though nothing can be offered";
  for (int i = 0; i < 3; ++i) {
    expect_used_up(error_of([&] { caller_.take("y{x}", caller_.owner()); }));
  }
  RedisCaller other(server_.url());
  expect_used_up(error_of([&] { other.take("y{x}", other.owner()); }));
  EXPECT_FALSE(caller_.find("y{x}"));
  expect_used_up(error_of([&] { run(caller_.engine().raise_fence(caller_.deadline())); }));
}

TEST_F(RedisLastNumber, ThereIsNoVersionBehindIt) {
  ASSERT_TRUE(caller_.put("x", "1"));
  set("v", last_number);
  expect_used_up(error_of([&] { (void)caller_.put("x", "2"); }));
  EXPECT_EQ(run(caller_.engine().records().get("x", caller_.deadline()))->value, "1");
}

}  // namespace
}  // namespace holt::test
