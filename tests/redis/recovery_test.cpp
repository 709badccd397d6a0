// SPDX-License-Identifier: Apache-2.0
// Locks through the public API while connections break, servers hang and data vanish: who waits
// gets the lock, who holds keeps it or knows in time that it does not, and fences grow.

#include "engines/redis/layout.hpp"
#include "redis/store_behind_proxy.hpp"
#include "support/overlap_log.hpp"

#include <holt/holt.hpp>

#include <atomic>
#include <future>
#include <thread>

namespace holt::test {
namespace {

/// Takes the lock in a thread and keeps it until asked to stop.
class Waiter {
 public:
  Waiter(Holt client, LockOptions options)
      : thread_([this, client = std::move(client), options](std::stop_token const& stop) mutable {
          auto const held = client.lock("x", options);
          got_ = held.has_value();
          if (held) fence_ = held->fence().value();
          while (got_ && !stop.stop_requested()) std::this_thread::sleep_for(2ms);
        }) {}

  [[nodiscard]] bool got(std::chrono::milliseconds patience) {
    return wait_until([this] { return got_.load(); }, patience);
  }
  [[nodiscard]] Fence fence() const { return Fence(fence_); }

 private:
  std::atomic<bool> got_ = false;
  std::atomic<std::uint64_t> fence_ = 0;
  std::jthread thread_;
};

/// Where the waiter would find out by itself only after minutes.
constexpr LockOptions long_wait{.ttl = 60s, .wait = 60s};

TEST(RedisRecovery, AWaiterWhoseEarWasCutGetsTheLockSoonAfterTheRelease) {
  RedisServer const server;
  auto holder = open(server.url());
  auto held = holder.try_lock("x", {.ttl = 60s});
  ASSERT_TRUE(held);
  Waiter waiter(open(server.url()), long_wait);
  ASSERT_TRUE(wait_until([&] { return holder.find("x")->waiting == 1; }));
  auto client = server.connect();
  client.done({"CLIENT", "KILL", "TYPE", "pubsub"});
  EXPECT_TRUE(held->release());
  EXPECT_TRUE(waiter.got(3s));
}

TEST(RedisRecovery, AWaiterThatWasCutOffGetsTheLockWhenItIsBack) {
  RedisServer const server;
  TcpProxy proxy(server.port());
  auto holder = open(server.url());
  auto held = holder.try_lock("x", {.ttl = 60s});
  ASSERT_TRUE(held);
  Waiter waiter(open(url_of(proxy)), long_wait);
  ASSERT_TRUE(wait_until([&] { return holder.find("x")->waiting == 1; }));
  proxy.refuse();
  proxy.cut_all();
  auto const fence = held->fence();
  EXPECT_TRUE(held->release());
  EXPECT_FALSE(waiter.got(300ms));
  proxy.pass();
  EXPECT_TRUE(waiter.got(5s));
  EXPECT_GT(waiter.fence(), fence);
}

/// Stands in line for "x" and can be cut off.
class InLine {
 public:
  InLine(RedisServer const& server, std::uint32_t place) : server_(server), proxy_(server.port()) {
    EXPECT_EQ(ask(), place);
  }

  [[nodiscard]] Owner const& owner() const { return owner_; }
  /// Its place, or 0 when it has got the name.
  std::uint32_t ask() {
    auto const granted = caller_.stand_in_line("x", owner_);
    return granted ? 0 : granted.error().place;
  }
  /// Until the server has noticed.
  void cut_off() {
    proxy_.refuse();
    proxy_.cut_all();
    auto const channel = redis::Keys("default").inbox_channel() + std::string(owner_.inbox());
    EXPECT_TRUE(wait_until(
        [&] { return server_.command({"PUBSUB", "NUMSUB", channel}).items.at(1).integer == 0; }));
  }
  void come_back() { proxy_.pass(); }

 private:
  RedisServer const& server_;
  TcpProxy proxy_;
  RedisCaller caller_{url_of(proxy_)};
  Owner owner_ = caller_.owner();
};

TEST(RedisRecovery, AWaiterThatCouldNotHearOfItsTurnKeepsItsPlace) {
  RedisServer const server;
  RedisCaller holder(server.url());
  auto const held = holder.owner();
  holder.take("x", held);
  InLine first(server, 1);
  InLine second(server, 2);
  InLine third(server, 3);
  first.cut_off();
  EXPECT_TRUE(holder.release("x", held));
  EXPECT_EQ(second.ask(), 0U) << "it was offered to the next";
  first.come_back();
  EXPECT_EQ(third.ask(), 2U);
  EXPECT_EQ(first.ask(), 1U);
  EXPECT_TRUE(holder.release("x", second.owner()));
  EXPECT_EQ(first.ask(), 0U) << "this time it has heard";
}

TEST(RedisRecovery, AWaiterThatDoesNotComeBackIsPassedOverOnce) {
  RedisServer const server;
  RedisCaller holder(server.url());
  auto const held = holder.owner();
  holder.take("x", held);
  InLine first(server, 1);
  InLine second(server, 2);
  InLine third(server, 3);
  first.cut_off();
  EXPECT_TRUE(holder.release("x", held));
  EXPECT_EQ(second.ask(), 0U);
  EXPECT_EQ(holder.find("x")->waiting, 2U);
  EXPECT_TRUE(holder.release("x", second.owner()));
  EXPECT_EQ(third.ask(), 0U);
  EXPECT_EQ(holder.find("x")->waiting, 0U);
}

/// The server is away, and the caller has noticed.
void go_away(TcpProxy& proxy, RedisCaller& caller) {
  proxy.refuse();
  proxy.cut_all();
  caller.set_patience(20ms);
  EXPECT_TRUE(error_of([&] { (void)caller.find("x"); }));
}

TEST(RedisRecovery, ACallWithTimeLeftWaitsForTheServer) {
  RedisServer const server;
  TcpProxy proxy(server.port());
  RedisCaller caller(url_of(proxy));
  go_away(proxy, caller);
  caller.set_patience(5s);
  auto const start = BootClock::now();
  auto taken = std::async(std::launch::async, [&] { return caller.take("x", caller.owner()); });
  EXPECT_EQ(taken.wait_for(300ms), std::future_status::timeout);
  proxy.pass();
  EXPECT_GT(taken.get(), Fence());
  EXPECT_LT(BootClock::now() - start, 4s);
}

TEST(RedisRecovery, ACallThatWaitsForTheServerInVainSaysWhatWasWrong) {
  RedisServer const server;
  TcpProxy proxy(server.port());
  RedisCaller caller(url_of(proxy));
  go_away(proxy, caller);
  caller.set_patience(300ms);
  for (bool const listens : {false, true}) {
    auto const start = BootClock::now();
    auto const error = error_of([&] {
      auto const owner = caller.owner();
      static_cast<void>(listens ? caller.stand_in_line("x", owner) : caller.acquire("x", owner));
    });
    EXPECT_GT(BootClock::now() - start, 250ms);
    EXPECT_LT(BootClock::now() - start, 2s);
    ASSERT_TRUE(error);
    EXPECT_EQ(error->outcome(), Outcome::not_applied);
    EXPECT_TRUE(error->retryable());
    EXPECT_NE(std::string(error->what()).find("Connection refused"), std::string::npos)
        << error->what();
  }
}

TEST(RedisRecovery, AHolderKeepsItsLockWhileConnectionsBreak) {
  RedisServer const server;
  TcpProxy proxy(server.port());
  auto client = open(url_of(proxy));
  auto held = client.try_lock("x", {.ttl = 3s});
  ASSERT_TRUE(held);
  auto const until = BootClock::now() + 7s;
  for (int i = 0; BootClock::now() < until; ++i) {
    if (i % 50 == 0) proxy.cut_all();
    ASSERT_TRUE(held->held());
    std::this_thread::sleep_for(5ms);
  }
  EXPECT_GT(proxy.connections(), 3U) << "the test shows nothing without cuts";
  EXPECT_TRUE(held->release());
}

/// In both eyes: the old holder stops believing before the new one may begin.
void loses_in_time(RedisServer& server, TcpProxy& proxy, std::function<void()> const& part,
                   std::function<void()> const& join) {
  TemporaryFolder const folder;
  auto const file = folder.file("overlaps");
  OverlapLog log(file);
  auto client = open(url_of(proxy, "?timeout=3000"), {.timeout = 2s});
  auto held = client.try_lock("x", {.ttl = 3s});
  ASSERT_TRUE(held);
  auto tenure = log.enter("x", held->fence(), "old", held->deadline());
  std::thread next([&] {
    auto other = open(server.url());
    auto const got = other.lock("x", {.ttl = 5s, .wait = 20s});
    ASSERT_TRUE(got);
    log.enter("x", got->fence(), "new", got->deadline()).leave(got->deadline());
  });
  auto watching = open(server.url());
  EXPECT_TRUE(wait_until([&] { return watching.find("x")->waiting == 1; }));
  part();
  EXPECT_TRUE(wait_until(
      [&] { return !tenure.still([&] { return held->held(); }, held->deadline()); }, 10s));
  EXPECT_TRUE(wait_until([&] { return held->lost().stop_requested(); }, 5s));
  EXPECT_EQ(held->loss(), LossReason::expired);
  join();
  next.join();
  EXPECT_EQ(tenures_in(file), 2U);
  EXPECT_EQ(overlaps_in(file), std::vector<std::string>());
}

TEST(RedisRecovery, AHolderThatIsCutOffStopsBelievingInTime) {
  RedisServer server;
  TcpProxy proxy(server.port());
  loses_in_time(server, proxy, [&] { proxy.black_hole(); }, [] {});
}

TEST(RedisRecovery, AHolderOfAServerThatHangsStopsBelievingInTime) {
  RedisServer server;
  TcpProxy proxy(server.port());
  loses_in_time(server, proxy, [&] { server.freeze(); }, [&] { server.thaw(); });
}

TEST(RedisRecovery, AFlushIsNoticedByHoldersAndFencesGrow) {
  RedisServer const server;
  auto client = open(server.url());
  auto held = client.try_lock("x", {.ttl = 3s});
  ASSERT_TRUE(held);
  server.command({"FLUSHALL"});
  EXPECT_TRUE(wait_until([&] { return held->lost().stop_requested(); }, 5s));
  EXPECT_EQ(held->loss(), LossReason::taken);
  EXPECT_FALSE(held->release());
  auto const next = client.try_lock("x");
  ASSERT_TRUE(next);
  EXPECT_GT(next->fence(), held->fence());
}

TEST(RedisRecovery, AServerThatForgotEverythingGivesLargerFences) {
  RedisServer server;
  auto client = open(server.url());
  auto held = client.try_lock("x", {.ttl = 900ms});
  ASSERT_TRUE(held);
  server.restart();
  EXPECT_TRUE(wait_until([&] { return held->lost().stop_requested(); }, 3s));
  std::optional<Lock> next;
  EXPECT_TRUE(wait_until([&] {
    return !error_of([&] {
      auto got = client.try_lock("x");
      if (got) next.emplace(std::move(*got));
    }) && next;
  }));
  EXPECT_GT(next->fence(), held->fence());
}

TEST(RedisRecovery, AWaiterOutlivesARestart) {
  RedisServer server;
  auto client = open(server.url());
  auto held = client.try_lock("x", {.ttl = 60s});
  ASSERT_TRUE(held);
  Waiter waiter(open(server.url()), long_wait);
  ASSERT_TRUE(wait_until([&] { return client.find("x")->waiting == 1; }));
  server.restart();
  EXPECT_TRUE(waiter.got(5s)) << "the server has forgotten the holder";
  EXPECT_GT(waiter.fence(), held->fence());
}

}  // namespace
}  // namespace holt::test
