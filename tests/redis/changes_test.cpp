// SPDX-License-Identifier: Apache-2.0
// Hints of change on Redis: who may have them, what they cost, and that they come back.

#include "primitives/watcher.hpp"
#include "redis/store_behind_proxy.hpp"
#include "support/redis_stores.hpp"

#include <holt/holt.hpp>

#include <atomic>

namespace holt::test {
namespace {

class Watched {
 public:
  explicit Watched(Engine& engine) : watch_(engine.watch([this] { ++hints_; })) {}

  [[nodiscard]] bool possible() const { return watch_ != nullptr; }
  [[nodiscard]] int hints() const { return hints_; }
  [[nodiscard]] bool more_than(int before) {
    return wait_until([&] { return hints_ > before; });
  }

 private:
  std::atomic<int> hints_ = 0;
  std::unique_ptr<ChangeWatch> watch_;
};

std::string listeners(RedisServer const& server) {
  return info_field(server.command({"INFO", "clients"}).text, "tracking_clients");
}

TEST(RedisChanges, TheConnectionIsThereOnlyWhileSomebodyWatches) {
  RedisServer const server;
  RedisCaller caller(server.url());
  EXPECT_EQ(listeners(server), "0");
  {
    Watched const one(caller.engine());
    Watched const two(caller.engine());
    EXPECT_TRUE(one.possible() && two.possible());
    EXPECT_EQ(listeners(server), "1");
  }
  EXPECT_TRUE(wait_until([&] { return listeners(server) == "0"; }));
  Watched again(caller.engine());
  EXPECT_TRUE(again.possible());
  auto const before = again.hints();
  caller.take("x", caller.owner());
  EXPECT_TRUE(again.more_than(before));
}

TEST(RedisChanges, ComeAgainAfterABreak) {
  RedisServer const server;
  RedisCaller caller(server.url());
  Watched watched(caller.engine());
  ASSERT_TRUE(watched.possible());
  for (int round = 0; round < 2; ++round) {
    auto before = watched.hints();
    server.command({"CLIENT", "KILL", "TYPE", "pubsub"});
    EXPECT_TRUE(watched.more_than(before)) << "something may be missed from now on";
    ASSERT_TRUE(wait_until([&] { return listeners(server) == "1"; }));
    EXPECT_TRUE(wait_until([&] {
      before = watched.hints();
      caller.take("x", caller.owner(), 1ms);
      return watched.hints() > before;
    }));
  }
}

TEST(RedisChanges, AFlushIsOne) {
  RedisServer const server;
  RedisCaller caller(server.url());
  caller.take("x", caller.owner());
  Watched watched(caller.engine());
  auto const before = watched.hints();
  server.command({"FLUSHALL"});
  EXPECT_TRUE(watched.more_than(before));
}

/// A lease comes behind it, whose hint could not overtake that of the record.
TEST(RedisChanges, RecordsAreNone) {
  RedisServer const server;
  RedisCaller caller(server.url());
  RedisCaller other(server.url());
  Watched watched(caller.engine());
  for (int i = 0; i < 20; ++i) ASSERT_TRUE(other.put("r", "1"));
  EXPECT_EQ(watched.hints(), 0);
  other.take("x", other.owner());
  EXPECT_TRUE(watched.more_than(0));
}

TEST(RedisChanges, ManyAtOnceAreFewHints) {
  RedisServer const server;
  RedisCaller caller(server.url());
  Watched watched(caller.engine());
  auto const start = BootClock::now();
  for (int i = 0; i < 500; ++i) caller.take(std::to_string(i), caller.owner());
  auto const took = std::chrono::duration_cast<std::chrono::milliseconds>(BootClock::now() - start);
  EXPECT_GE(watched.hints(), 1);
  EXPECT_LE(watched.hints(), took.count() / 5 + 2);
}

/// A restart takes longer than one call waits.
TEST(RedisChanges, AWatchWaitsForAServerThatIsAway) {
  RedisServer server({.append_only = true});
  auto client = open(server.url(), {.timeout = 100ms});
  auto watch = client.watch();
  EXPECT_TRUE(watch.next().empty());
  server.kill();
  EXPECT_TRUE(watch.next(1s).empty()) << "no error either";
  server.start();
  RedisCaller other(server.url());
  other.take("x", other.owner());
  EXPECT_TRUE(wait_until([&] { return watch.next(1s).size() == 1; }, 20s));
}

TEST(RedisChanges, AWatchDoesNotWaitForEver) {
  RedisTestStore store;
  auto const engine = store.open();
  Watcher watcher(store.env(), *engine, "");
  auto const next = [&](Nanos wait) {
    return run(watcher.next(store.env().now() + wait, 100ms, std::stop_token()));
  };
  EXPECT_TRUE(next(1s).empty());
  store.server().kill();
  EXPECT_TRUE(next(2s).empty());
  store.advance(Watcher::longest_absence);
  auto const error = error_of([&] { (void)next(10s); });
  ASSERT_TRUE(error);
  EXPECT_TRUE(error->retryable());
  EXPECT_NE(error->reason().find("127.0.0.1"), std::string::npos) << error->reason();
}

/// Then watchers look by themselves.
TEST(RedisChanges, AUserWithoutTheRightIsToldNoMoreThanThat) {
  for (std::string const missing : {" +client|tracking", " +client|id", " &__redis__:invalidate"}) {
    auto line = RedisAclTestStore::example_line();
    line.erase(line.find(missing), missing.size());
    RedisServer const server({.acl = {line}});
    auto const url = "redis://holt:change-me@" + server.address();
    RedisCaller caller(url);
    EXPECT_FALSE(Watched(caller.engine()).possible()) << missing;
    EXPECT_TRUE(wait_until([&] { return listeners(server) == "0"; })) << missing;
    auto client = open(url);
    auto watch = client.watch();
    EXPECT_TRUE(watch.next().empty());
    auto const lock = client.try_lock("x");
    EXPECT_EQ(watch.next(10s).size(), 1U) << missing;
  }
}

}  // namespace
}  // namespace holt::test
