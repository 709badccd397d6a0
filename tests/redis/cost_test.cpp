// SPDX-License-Identifier: Apache-2.0
// What waiting and holding cost the server: few commands when a lock changes hands, one waiter
// woken, not all of them, when it expires, and renewals of many leases in few short steps.

#include "redis/store_behind_proxy.hpp"
#include "support/servers/redis_traffic.hpp"

#include <holt/holt.hpp>

#include <atomic>
#include <set>
#include <sstream>
#include <string>
#include <string_view>
#include <thread>

namespace holt::test {
namespace {

/// Threads of one client that wait for "x", which somebody else has. Who gets it keeps it until
/// next() is called.
class Waiters {
 public:
  Waiters(RedisServer const& server, int count)
      : looks_(open(server.url())), proxy_(server.port()), client_(open(url_of(proxy_))) {
    for (int i = 0; i < count; ++i) {
      threads_.emplace_back([this] { wait(); });
    }
    auto const all = static_cast<std::uint32_t>(count);
    EXPECT_TRUE(wait_until([&] { return looks_.find("x")->waiting == all; }));
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
  /// Who of them has asked for the lock since then.
  [[nodiscard]] std::set<std::string> askers() const {
    constexpr std::size_t owner_at = 9;  // EVALSHA, script, 6, six keys
    std::set<std::string> owners;
    for (auto const& words : commands_sent(proxy_)) {
      if (words.size() > owner_at) owners.insert(words[owner_at]);
    }
    return owners;
  }

 private:
  void wait() {
    auto lock = client_.lock("x", {.ttl = 30s, .wait = 60s});
    EXPECT_TRUE(lock);
    int const turn = ++granted_;
    while (turns_ < turn && !all_) std::this_thread::sleep_for(1ms);
    EXPECT_TRUE(lock && lock->release());
  }

  Holt looks_;  ///< not through the proxy
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
  // Each took the offer and let go; who became first and who became third looked.
  EXPECT_LE(waiters.commands(), 4 * count);
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
  // The first three look at its end, and then who became third. On a busy machine they do it in any
  // order, and an offer may lapse before its owner comes; the others sleep in any case.
  auto const askers = waiters.askers().size();
  EXPECT_GE(askers, 1U);
  EXPECT_LE(askers, 6U);
  // At the end, when the name was offered, when the offer ended, when they rose.
  EXPECT_LE(waiters.commands(), 4 * askers);
}

/// How often a server has carried out a command since CONFIG RESETSTAT.
int calls(RedisClient& client, std::string const& command) {
  auto const line = info_field(client.text({"INFO", "commandstats"}), "cmdstat_" + command);
  return line.empty() ? 0 : std::stoi(line.substr(std::string("calls=").size()));
}

/// How many commands scripts have carried out since CONFIG RESETSTAT.
int calls_by_scripts(RedisClient& client) {
  std::set<std::string> const by_clients{"evalsha", "eval", "config|resetstat", "info"};
  std::istringstream lines(client.text({"INFO", "commandstats"}));
  int sum = 0;
  for (std::string line; std::getline(lines, line);) {
    constexpr std::string_view start = "cmdstat_";
    constexpr std::string_view count = ":calls=";
    auto const end = line.find(count);
    if (!line.starts_with(start) || end == std::string::npos) continue;
    if (by_clients.contains(line.substr(start.size(), end - start.size()))) continue;
    sum += std::stoi(line.substr(end + count.size()));
  }
  return sum;
}

/// Nobody else keeps the server's caches warm then: each command is time that the next one waits.
TEST(RedisHandOver, CostsTheServerFewCommands) {
  RedisServer const server;
  RedisCaller caller(server.url());
  auto const first = caller.owner();
  auto const second = caller.owner();
  caller.take("x", first);
  auto client = server.connect();
  client.done({"CONFIG", "RESETSTAT"});
  ASSERT_FALSE(caller.stand_in_line("x", second));
  EXPECT_LE(calls_by_scripts(client) - calls(client, "subscribe"), 12) << "to stand in line";
  client.done({"CONFIG", "RESETSTAT"});
  EXPECT_TRUE(caller.release("x", first));
  EXPECT_LE(calls_by_scripts(client), 13) << "to offer it";
  client.done({"CONFIG", "RESETSTAT"});
  EXPECT_TRUE(caller.stand_in_line("x", second));
  EXPECT_LE(calls_by_scripts(client), 5) << "to confirm that";
}

TEST(RedisRenewal, OfManyLeasesTakesFewShortSteps) {
  RedisServer const server;
  RedisCaller caller(server.url());
  std::vector<LeaseRenewal> renewals;
  constexpr int count = 300;
  for (int i = 0; i < count; ++i) {
    auto const name = "x" + std::to_string(i);
    auto const owner = caller.owner();
    caller.take(name, owner);
    renewals.emplace_back(Name(name), owner, 30s);
  }
  auto const renew_all = [&] {
    for (auto const& answer : run(caller.engine().leases().renew(renewals, caller.deadline()))) {
      EXPECT_TRUE(answer);
    }
  };
  renew_all();  // so that the server knows the script
  auto client = server.connect();
  client.done({"CONFIG", "RESETSTAT"});
  renew_all();
  EXPECT_EQ(calls(client, "evalsha"), 3) << "of 128 at most";
  EXPECT_EQ(calls(client, "eval"), 0);
  int commands = 0;
  for (auto const* const command : {"get", "mget", "pttl", "pexpire", "set"}) {
    commands += calls(client, command);
  }
  EXPECT_LE(commands, 2 * count + 3) << "each is time in which the server does nothing else";
}

}  // namespace
}  // namespace holt::test
