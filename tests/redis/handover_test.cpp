// SPDX-License-Identifier: Apache-2.0
// What waiting costs the server: few commands when a lock changes hands, and one waiter woken, not
// all of them, when it expires.

#include "engines/redis/layout.hpp"
#include "redis/store_behind_proxy.hpp"
#include "support/servers/redis_traffic.hpp"

#include <holt/holt.hpp>

#include <atomic>
#include <thread>

namespace holt::test {
namespace {

/// Threads of one client that wait for "x", which somebody else has. Who gets it keeps it until
/// next() is called.
class Waiters {
 public:
  Waiters(RedisServer const& server, int count)
      : looks_(server.connect()), proxy_(server.port()), client_(open(url_of(proxy_))) {
    for (int i = 0; i < count; ++i) {
      threads_.emplace_back([this] { wait(); });
    }
    std::vector<std::string> keys;
    redis::Keys("default").append("x", keys);
    EXPECT_TRUE(wait_until([&] { return looks_.number({"ZCARD", keys.at(1)}) == count; }));
    EXPECT_TRUE(wait_until([this] { return silent_for(100ms); }));
    proxy_.forget();
  }
  ~Waiters() {
    all_ = true;
    threads_.clear();
  }
  Waiters(Waiters const&) = delete;
  Waiters& operator=(Waiters const&) = delete;

  [[nodiscard]] int granted() const { return granted_; }
  [[nodiscard]] bool granted(int count) const {
    return wait_until([&] { return granted_ == count; });
  }
  /// Whoever has it lets it go.
  void next() { ++turns_; }
  /// Whether nothing was sent for so long.
  [[nodiscard]] bool silent_for(std::chrono::milliseconds span) const {
    auto const before = proxy_.bytes(Way::to_server);
    std::this_thread::sleep_for(span);
    return proxy_.bytes(Way::to_server) == before;
  }
  /// What they have sent since all of them stood in line.
  [[nodiscard]] std::size_t commands() const { return commands_sent(proxy_).size(); }

 private:
  void wait() {
    auto lock = client_.lock("x", {.ttl = 30s, .wait = 60s});
    EXPECT_TRUE(lock);
    int const turn = ++granted_;
    while (turns_ < turn && !all_) std::this_thread::sleep_for(1ms);
    EXPECT_TRUE(lock && lock->release());
  }

  RedisClient looks_;
  TcpProxy proxy_;
  Holt client_;
  std::atomic<int> granted_ = 0;
  std::atomic<int> turns_ = 0;
  std::atomic<bool> all_ = false;
  std::vector<std::jthread> threads_;
};

TEST(RedisHandOver, CostsFewCommands) {
  RedisServer const server;
  auto holder = open(server.url());
  auto held = holder.lock("x", {.ttl = 30s});
  ASSERT_TRUE(held);
  constexpr int count = 10;
  Waiters waiters(server, count);
  EXPECT_TRUE(held->release());
  for (int i = 1; i < count; ++i) {
    ASSERT_TRUE(waiters.granted(i));
    // Slowly: who comes near the head has the time to look.
    EXPECT_TRUE(wait_until([&] { return waiters.silent_for(50ms); }));
    waiters.next();
  }
  ASSERT_TRUE(waiters.granted(count));
  // Each took the offer and let go; who became third looked. Standing in line is one more.
  EXPECT_LE(waiters.commands(), 3 * count);
}

TEST(RedisHandOver, AnExpiryWakesOneOfMany) {
  RedisServer const server;
  auto holder = open(server.url());
  auto const held = holder.lock("x", {.ttl = 3s, .renew = false});
  ASSERT_TRUE(held);
  Waiters const waiters(server, 50);
  EXPECT_EQ(waiters.granted(), 0);
  ASSERT_TRUE(waiters.granted(1));
  EXPECT_TRUE(wait_until([&] { return waiters.silent_for(100ms); }));
  EXPECT_EQ(waiters.granted(), 1);
  EXPECT_LE(waiters.commands(), 6U);
}

}  // namespace
}  // namespace holt::test
