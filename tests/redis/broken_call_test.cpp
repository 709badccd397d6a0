// SPDX-License-Identifier: Apache-2.0
// A break in the middle of each call: what is said about its outcome is true, nothing takes longer
// than its deadline, and the next call works.

#include "engines/redis/layout.hpp"
#include "redis/store_behind_proxy.hpp"

#include <functional>
#include <thread>

namespace holt::test {
namespace {

constexpr std::chrono::milliseconds slack{1500};  // a machine under load, with a sanitizer

/// What a call needs to find.
enum class Given { nothing, lease, record };

/// One kind of call, on the name "x", and how to see on the server that it was carried out.
struct Kind {
  char const* name;
  bool writes;
  Given given;
  std::function<void(RedisCaller&, Owner const&)> call;
  std::function<bool(RedisClient&)> applied;
};

std::vector<Kind> lease_kinds() {
  redis::Keys const keys("default");
  auto const lease = keys.lease("x");
  auto const second = keys.lease("{x}2");
  auto queue = lease;
  queue.replace(queue.find(":l:"), 3, ":q:");
  auto const exists = [](std::string const& key) {
    return [key](RedisClient& server) { return server.number({"EXISTS", key}) == 1; };
  };
  return {
      {"acquire", true, Given::nothing,
       [](RedisCaller& caller, Owner const& owner) { caller.take("x", owner); }, exists(lease)},
      {"acquire two", true, Given::nothing,
       [](RedisCaller& caller, Owner const& owner) {
         LeaseRequest const both({Name("x"), Name("{x}2")}, owner, 30s);
         (void)run(caller.engine().leases().acquire(both, caller.deadline()));
       },
       exists(second)},
      {"stand in line", true, Given::lease,
       [](RedisCaller& caller, Owner const&) { (void)caller.stand_in_line("x", caller.owner()); },
       exists(queue)},
      {"renew", true, Given::lease,
       [](RedisCaller& caller, Owner const& owner) { (void)caller.renew("x", owner, 120s); },
       [=](RedisClient& server) { return server.number({"PTTL", lease}) > 100'000; }},
      {"release", true, Given::lease,
       [](RedisCaller& caller, Owner const& owner) { (void)caller.release("x", owner); },
       [=](RedisClient& server) { return server.number({"EXISTS", lease}) == 0; }},
      {"break", true, Given::lease,
       [](RedisCaller& caller, Owner const&) { (void)caller.break_lease("x", "stop it"); },
       [=](RedisClient& server) {
         return server.text({"GET", lease}).find("stop it") != std::string::npos;
       }},
      {"raise fence", true, Given::nothing,
       [](RedisCaller& caller, Owner const&) {
         (void)run(caller.engine().raise_fence(caller.deadline()));
       },
       exists(keys.counter(0))},
  };
}

std::vector<Kind> record_kinds() {
  redis::Keys const keys("default");
  auto const record = keys.record("x");
  auto const number = keys.number("x");
  return {
      {"put", true, Given::nothing,
       [](RedisCaller& caller, Owner const&) { (void)caller.put("x", "1"); },
       [=](RedisClient& server) { return server.number({"EXISTS", record}) == 1; }},
      {"erase", true, Given::record,
       [](RedisCaller& caller, Owner const&) {
         (void)run(caller.engine().records().erase("x", std::nullopt, caller.deadline()));
       },
       [=](RedisClient& server) { return server.number({"EXISTS", record}) == 0; }},
      {"add", true, Given::nothing, [](RedisCaller& caller, Owner const&) { caller.add("x"); },
       [=](RedisClient& server) { return server.number({"EXISTS", number}) == 1; }},
  };
}

std::vector<Kind> reading_kinds() {
  auto const never = [](RedisClient&) { return false; };
  return {
      {"find", false, Given::lease,
       [](RedisCaller& caller, Owner const&) { (void)caller.find("x"); }, never},
      {"list", false, Given::lease, [](RedisCaller& caller, Owner const&) { (void)caller.list(); },
       never},
      {"get", false, Given::record,
       [](RedisCaller& caller, Owner const&) {
         (void)run(caller.engine().records().get("x", caller.deadline()));
       },
       never},
      {"list records", false, Given::record,
       [](RedisCaller& caller, Owner const&) {
         (void)run(caller.engine().records().list("", "", 100, caller.deadline()));
       },
       never},
  };
}

/// Every call that there is.
std::vector<Kind> kinds() {
  auto all = lease_kinds();
  for (auto const& more : {record_kinds(), reading_kinds()}) {
    all.insert(all.end(), more.begin(), more.end());
  }
  return all;
}

class BrokenCall : public testing::Test {
 protected:
  /// Breaks the next call with `fault` and checks what it says. Whether the server carried it out.
  bool breaks(Kind const& kind, std::function<void()> const& fault, ErrorCode code,
              Nanos patience = 5s) {
    SCOPED_TRACE(kind.name);
    server_.command({"FLUSHALL"});
    proxy_.pass();
    auto const owner = direct_.owner();  // signals for it do not come through the proxy
    caller_.set_patience(5s);
    EXPECT_FALSE(caller_.find("x")) << "connected, and the store is empty";
    give(kind.given, owner);
    // Who stands in line listens before that.
    EXPECT_TRUE(wait_until([&] { return caller_.engine().signals().listening(); }));
    fault();
    caller_.set_patience(patience);
    auto const start = BootClock::now();
    auto const error = error_of([&] { kind.call(caller_, owner); });
    EXPECT_LT(BootClock::now() - start, patience + slack);
    EXPECT_TRUE(error) << "nobody noticed";
    if (!error) return false;
    EXPECT_EQ(error->code(), code) << error->what();
    EXPECT_TRUE(error->retryable());
    if (!kind.writes) {
      EXPECT_EQ(error->outcome(), Outcome::not_applied) << error->what();
    }
    said_ = error->outcome();
    proxy_.pass();
    server_.thaw();
    caller_.set_patience(5s);
    EXPECT_NO_THROW((void)caller_.find("x")) << "the next call goes well";
    auto client = server_.connect();
    if (kind.writes && said_ == Outcome::not_applied) {
      EXPECT_FALSE(kind.applied(client)) << "it said that it did not happen";
    }
    return kind.applied(client);
  }

  /// The server has got all of it: it is done, and must not be called undone.
  void is_done(Kind const& kind) {
    if (!kind.writes) return;
    EXPECT_EQ(said_, Outcome::unknown) << kind.name;
    auto client = server_.connect();
    EXPECT_TRUE(wait_until([&] { return kind.applied(client); })) << kind.name;
  }

  void SetUp() override {
    caller_.engine().signals().listen();
    // Every script is known to the server: each call below is one command.
    for (auto const& kind : kinds()) {
      auto const owner = direct_.owner();
      give(kind.given, owner);
      kind.call(direct_, owner);
      server_.command({"FLUSHALL"});
    }
  }

  void give(Given given, Owner const& owner) {
    if (given == Given::lease) direct_.take("x", owner);
    if (given != Given::record) return;
    EXPECT_TRUE(direct_.put("x", "0"));
  }

  RedisServer server_;
  TcpProxy proxy_{server_.port()};
  RedisCaller direct_{server_.url()};
  RedisCaller caller_{url_of(proxy_)};
  Outcome said_ = Outcome::unknown;
};

TEST_F(BrokenCall, CutBeforeTheCommand) {
  for (auto const& kind : kinds()) {
    EXPECT_FALSE(
        breaks(kind, [&] { proxy_.cut_before(Way::to_server); }, ErrorCode::service_unavailable));
  }
}

TEST_F(BrokenCall, CutInTheMiddleOfTheCommand) {
  for (auto const& kind : kinds()) {
    for (std::uint64_t const bytes : {1, 20, 40}) {
      EXPECT_FALSE(breaks(
          kind, [&] { proxy_.cut_after(Way::to_server, bytes); }, ErrorCode::service_unavailable))
          << bytes;
    }
  }
}

/// Wherever the break is.
TEST_F(BrokenCall, CutAllThroughTheCommand) {
  for (auto const& kind : lease_kinds()) {
    if (kind.name != std::string_view("renew")) continue;
    auto const before = proxy_.bytes(Way::to_server);
    auto const owner = caller_.owner();
    (void)caller_.renew("x", owner, 120s);
    auto const size = proxy_.bytes(Way::to_server) - before;
    for (std::uint64_t bytes = 1; bytes < size; bytes += 7) {
      EXPECT_FALSE(breaks(
          kind, [&] { proxy_.cut_after(Way::to_server, bytes); }, ErrorCode::service_unavailable))
          << bytes;
    }
  }
}

TEST_F(BrokenCall, CutBeforeTheReply) {
  for (auto const& kind : kinds()) {
    breaks(kind, [&] { proxy_.cut_before(Way::to_client); }, ErrorCode::service_unavailable);
    is_done(kind);
  }
}

TEST_F(BrokenCall, CutInTheMiddleOfTheReply) {
  for (auto const& kind : kinds()) {
    breaks(kind, [&] { proxy_.cut_after(Way::to_client, 2); }, ErrorCode::service_unavailable);
    is_done(kind);
  }
}

TEST_F(BrokenCall, TheReplyIsLost) {
  for (auto const& kind : kinds()) {
    breaks(kind, [&] { proxy_.swallow(Way::to_client); }, ErrorCode::network_timeout, 100ms);
    is_done(kind);
  }
}

TEST_F(BrokenCall, TheCommandIsLost) {
  for (auto const& kind : kinds()) {
    EXPECT_FALSE(
        breaks(kind, [&] { proxy_.swallow(Way::to_server); }, ErrorCode::network_timeout, 100ms));
  }
}

/// Calls find out that nobody is there while they wait for a connection: nothing was sent.
TEST_F(BrokenCall, NobodyListens) {
  caller_.set_patience(500ms);
  for (auto const& kind : kinds()) {
    // It waits for its signals first, to the end of its time.
    if (kind.name == std::string_view("stand in line")) continue;
    SCOPED_TRACE(kind.name);
    proxy_.refuse();
    proxy_.cut_all();
    ASSERT_TRUE(wait_until([&] { return error_of([&] { (void)caller_.find("x"); }); }));
    auto const error = error_of([&] { kind.call(caller_, caller_.owner()); });
    ASSERT_TRUE(error);
    EXPECT_EQ(error->code(), ErrorCode::service_unavailable);
    EXPECT_EQ(error->outcome(), Outcome::not_applied);
    EXPECT_NE(error->reason().find("127.0.0.1"), std::string::npos) << "says which server";
    EXPECT_FALSE(error->hint().empty());
    proxy_.pass();
    EXPECT_TRUE(wait_until([&] { return !error_of([&] { (void)caller_.find("x"); }); }, 5s));
  }
}

/// The connection lives on, because other answers came; the late one is nobody's.
TEST_F(BrokenCall, ALateReplyIsNotTakenForAnother) {
  auto const owner = caller_.owner();
  auto const fence = direct_.take("other", owner);
  auto const before = proxy_.connections();
  proxy_.delay(Way::to_client, 600ms);
  std::thread earlier([&] { EXPECT_EQ(caller_.find("other")->fence, fence); });
  std::this_thread::sleep_for(300ms);  // its answer comes after the next call was sent
  auto const error =
      error_of([&] { run(caller_.engine().records().add("x", 1, caller_.env().now() + 450ms)); });
  ASSERT_TRUE(error) << "the answer was not late";
  EXPECT_EQ(error->code(), ErrorCode::network_timeout);
  EXPECT_EQ(error->outcome(), Outcome::unknown);
  EXPECT_EQ(caller_.find("other")->fence, fence) << "must be its own answer, not that of add";
  EXPECT_EQ(caller_.add("x"), 2);
  earlier.join();
  EXPECT_EQ(proxy_.connections(), before) << "the test shows nothing on a new connection";
}

TEST_F(BrokenCall, ManyAtOnceAreEachToldTheTruth) {
  constexpr int count = 50;
  redis::Keys const keys("default");
  for (int round = 0; round < 5; ++round) {
    server_.command({"FLUSHALL"});
    proxy_.cut_before(Way::to_client, static_cast<std::uint64_t>(round) * 37);
    std::vector<std::thread> threads;
    std::vector<std::optional<EngineError>> errors(count);
    for (int i = 0; i < count; ++i) {
      threads.emplace_back([&, i] {
        errors[static_cast<std::size_t>(i)] =
            error_of([&] { (void)caller_.put("many-" + std::to_string(i), "1"); });
      });
    }
    for (auto& thread : threads) thread.join();
    proxy_.pass();
    EXPECT_NO_THROW((void)caller_.find("x"));
    auto client = server_.connect();
    for (int i = 0; i < count; ++i) {
      bool const is_there =
          client.number({"EXISTS", keys.record("many-" + std::to_string(i))}) == 1;
      auto const& error = errors[static_cast<std::size_t>(i)];
      if (!error) {
        EXPECT_TRUE(is_there) << i;
      }
      if (error && error->outcome() == Outcome::not_applied) {
        EXPECT_FALSE(is_there) << i;
      }
    }
  }
}

TEST_F(BrokenCall, TheServerIsKilledAndStartedAgain) {
  auto const owner = caller_.owner();
  auto const before = caller_.take("x", owner);
  server_.kill();
  auto const error = error_of([&] { (void)caller_.renew("x", owner); });
  ASSERT_TRUE(error);
  EXPECT_TRUE(error->retryable());
  server_.start();
  EXPECT_TRUE(wait_until([&] { return !error_of([&] { (void)caller_.find("x"); }); }, 5s));
  auto const renewed = caller_.renew("x", owner);
  ASSERT_FALSE(renewed) << "a server without a log has forgotten it";
  EXPECT_EQ(renewed.error().reason, LossReason::taken);
  EXPECT_GT(caller_.take("x", caller_.owner()), before);
}

TEST_F(BrokenCall, AServerThatHangsCostsNoMoreThanTheDeadline) {
  for (auto const& kind : kinds()) {
    breaks(kind, [&] { server_.freeze(); }, ErrorCode::network_timeout, 200ms);
    if (kind.writes) {
      EXPECT_EQ(said_, Outcome::unknown) << "it reads the command when it wakes up";
    }
  }
}

}  // namespace
}  // namespace holt::test
