// SPDX-License-Identifier: Apache-2.0
// Engines and clients that come and go while calls are under way, also when the server hangs.

#include "redis/store_behind_proxy.hpp"

#include <holt/holt.hpp>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include <filesystem>
#include <thread>

namespace holt::test {
namespace {

std::ptrdiff_t open_descriptors() {
  std::filesystem::directory_iterator const all("/proc/self/fd");
  return std::distance(begin(all), end(all));
}

/// Calls that have been sent and not answered, on a loop of their own.
class CallsUnderWay {
 public:
  CallsUnderWay(RedisCaller& caller, int count) {
    for (int i = 0; i < count; ++i) {
      auto const name = "name-" + std::to_string(i);
      auto& leases = caller.engine().leases();
      auto const deadline = caller.env().now() + 60s;
      LeaseRequest request({Name(name)}, caller.owner(), 30s);
      request.stand_in_line = i % 2 == 0;
      start(leases.acquire(std::move(request), deadline));
      start(leases.find(Name(name), deadline));
      start(leases.list("", "", 10, deadline));
      start(caller.engine().records().add(name, 1, deadline));
    }
    loop_.poll();  // from here on each has begun; an engine that is gone must not be called
    thread_ = std::thread([this] { loop_.run(); });
  }
  ~CallsUnderWay() { thread_.join(); }
  CallsUnderWay(CallsUnderWay const&) = delete;
  CallsUnderWay& operator=(CallsUnderWay const&) = delete;

  /// All have ended; how many of them with EngineError{aborted}.
  int aborted() {
    EXPECT_TRUE(wait_until([this] { return left_ == 0; }, 10s)) << "a call hangs";
    return aborted_;
  }

 private:
  template <class T>
  void start(asio::awaitable<T> call) {
    ++left_;
    asio::co_spawn(loop_, std::move(call), [this](std::exception_ptr error, auto&&) {
      try {
        if (error) std::rethrow_exception(error);
      } catch (EngineError const& failure) {
        if (failure.code() == ErrorCode::aborted) ++aborted_;
      }
      --left_;
    });
  }

  asio::io_context loop_{1};
  std::atomic<int> left_ = 0;
  std::atomic<int> aborted_ = 0;
  std::thread thread_;
};

TEST(RedisLifetime, CallsUnderWayEndWithTheEngine) {
  RedisServer server;
  for (int round = 0; round < 5; ++round) {
    RedisCaller caller(server.url());
    caller.find("x");
    server.freeze();
    CallsUnderWay calls(caller, 20);
    std::this_thread::sleep_for(std::chrono::milliseconds(5 * round));  // some are not sent yet
    auto const start = BootClock::now();
    caller.close();
    EXPECT_LT(BootClock::now() - start, 2s);
    EXPECT_EQ(calls.aborted(), 80);
    server.thaw();
  }
}

TEST(RedisLifetime, EnginesComeAndGoAmidTraffic) {
  RedisServer const server;
  for (int round = 0; round < 20; ++round) {
    RedisCaller caller(server.url());
    CallsUnderWay calls(caller, 10);
    if (round % 2 == 0) std::this_thread::sleep_for(std::chrono::milliseconds(round / 2));
    caller.close();
    (void)calls.aborted();
  }
}

TEST(RedisLifetime, NothingIsLeftOpen) {
  RedisServer const server;
  {
    RedisCaller const first(server.url());  // what stays for the whole process
  }
  auto const before = open_descriptors();
  for (int i = 0; i < 20; ++i) {
    RedisCaller caller(server.url());
    caller.engine().signals().listen();
    EXPECT_TRUE(wait_until([&] { return caller.engine().signals().listening(); }));
    caller.take("x", caller.owner(), 1ms);
  }
  EXPECT_EQ(open_descriptors(), before);
  auto client = server.connect();
  EXPECT_TRUE(wait_until(
      [&] { return info_field(client.text({"INFO", "clients"}), "connected_clients") == "1"; }));
}

TEST(RedisLifetime, AClientGoesWhileItsThreadsWait) {
  RedisServer const server;
  auto holder = open(server.url());
  auto const held = holder.try_lock("x", {.ttl = 60s});
  ASSERT_TRUE(held);
  for (int round = 0; round < 5; ++round) {
    auto client = open(server.url());
    std::vector<std::jthread> threads;
    for (int i = 0; i < 10; ++i) {
      threads.emplace_back([client]() mutable {
        try {
          EXPECT_FALSE(client.lock("x", {.ttl = 60s, .wait = 60s}));
        } catch (EngineError const& error) {
          EXPECT_EQ(error.code(), ErrorCode::aborted) << error.what();
        }
      });
    }
    EXPECT_TRUE(wait_until([&] { return holder.find("x")->waiting >= 5; }));
    client.close();
  }
  EXPECT_TRUE(wait_until([&] { return holder.find("x")->waiting == 0; })) << "all left the line";
}

TEST(RedisLifetime, AClientOfAServerThatHangsGoesSoon) {
  RedisServer server;
  auto const start = [&] {
    auto client = open(server.url(), {.timeout = 500ms});
    auto lock = client.try_lock("x", {.ttl = 60s});
    EXPECT_TRUE(lock);
    server.freeze();
    return BootClock::now();
  }();
  EXPECT_LT(BootClock::now() - start, 4s);
  server.thaw();
}

bool leads_to(int descriptor, std::uint16_t port) {
  sockaddr_in peer{};
  socklen_t size = sizeof peer;
  return ::getpeername(descriptor, reinterpret_cast<sockaddr*>(&peer), &size) == 0 &&
         peer.sin_family == AF_INET && ntohs(peer.sin_port) == port;
}

int socket_option(int descriptor, int level, int name) {
  int value = -1;
  socklen_t size = sizeof value;
  EXPECT_EQ(::getsockopt(descriptor, level, name, &value, &size), 0);
  return value;
}

/// A connection that carries nothing costs the server nothing, and still does not outlive the other
/// end by long.
TEST(RedisLifetime, TheKernelSeesToConnectionsThatAreSilent) {
  RedisServer const server;
  TcpProxy const proxy(server.port());
  RedisCaller caller(url_of(proxy));
  caller.find("x");
  caller.engine().signals().listen();
  EXPECT_TRUE(wait_until([&] { return caller.engine().signals().listening(); }));
  int seen = 0;
  for (int descriptor = 0; descriptor < 1024; ++descriptor) {
    if (!leads_to(descriptor, proxy.port())) continue;
    ++seen;
    EXPECT_EQ(socket_option(descriptor, SOL_SOCKET, SO_KEEPALIVE), 1);
    EXPECT_LE(socket_option(descriptor, IPPROTO_TCP, TCP_KEEPIDLE), 30);
    auto const silence_ms = socket_option(descriptor, IPPROTO_TCP, TCP_USER_TIMEOUT);
    EXPECT_GT(silence_ms, 0);
    EXPECT_LE(silence_ms, 30'000);
  }
  EXPECT_EQ(seen, 2) << "one for calls, one that listens";
}

/// However often it was asked for meanwhile.
TEST(RedisLifetime, AServerThatIsAwayCostsNoCpu) {
  RedisServer const server;
  TcpProxy proxy(server.port());
  RedisCaller caller(url_of(proxy));
  proxy.refuse();
  proxy.cut_all();
  auto const owner = caller.owner();
  caller.set_patience(1ms);
  for (int i = 0; i < 1000; ++i) {
    EXPECT_TRUE(error_of([&] { (void)caller.stand_in_line("x", owner); }));
  }
  caller.set_patience(5s);
  auto const cpu = [] {
    rusage used{};
    ::getrusage(RUSAGE_SELF, &used);
    auto const of = [](timeval const& time) {
      return std::chrono::seconds(time.tv_sec) + std::chrono::microseconds(time.tv_usec);
    };
    return of(used.ru_utime) + of(used.ru_stime);
  };
  auto const before = cpu();
  std::this_thread::sleep_for(1s);
  EXPECT_LT(cpu() - before, 200ms);
  proxy.pass();
  EXPECT_TRUE(wait_until([&] { return !error_of([&] { (void)caller.find("x"); }); }, 5s));
}

}  // namespace
}  // namespace holt::test
