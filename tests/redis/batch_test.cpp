// SPDX-License-Identifier: Apache-2.0
// Callers that ask in the same turn of the engine's loop share a command. Each is answered as if it
// had asked alone, whatever becomes of the others and of the connection.

#include "engines/redis/engine.hpp"
#include "engines/redis/layout.hpp"
#include "redis/scripted_server.hpp"
#include "redis/store_behind_proxy.hpp"
#include "redis_scripts.hpp"
#include "support/servers/redis_traffic.hpp"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/post.hpp>

#include <atomic>
#include <deque>
#include <functional>
#include <thread>

namespace holt::test {
namespace {

/// What a call came to: its answer, or why there is none.
template <class Answer>
struct End {
  std::optional<Answer> answer;
  std::optional<EngineError> error;
};
using Taken = End<std::expected<LeaseGrant, Busy>>;
using Freed = End<std::expected<void, Lost>>;

/// An engine on our own loop, so that calls can be made in one turn of it.
class Callers {
 public:
  explicit Callers(std::string const& url) : engine_(redis::open(env_, {url, "default"})) {}

  [[nodiscard]] LeaseStore& leases() { return engine_->leases(); }
  [[nodiscard]] Owner owner() {
    return {engine_->signals().inbox(), random_token([this] { return env_.random(); })};
  }
  /// Asks for it in the next turn.
  Taken& acquire(std::string const& name, Owner const& by, Nanos patience = 5s) {
    return ask<std::expected<LeaseGrant, Busy>>(taken_, [=, this] {
      return leases().acquire(LeaseRequest({Name(name)}, by, 30s), env_.now() + patience);
    });
  }
  Freed& release(std::string const& name, Owner const& by, Nanos patience = 5s) {
    return ask<std::expected<void, Lost>>(
        freed_, [=, this] { return leases().release(Name(name), by, env_.now() + patience); });
  }
  /// All that were asked for start in one turn, in their order.
  void turn() {
    asio::post(env_.executor(), [calls = std::exchange(asked_, {})] {
      for (auto const& call : calls) call();
    });
  }
  [[nodiscard]] bool ended() const {
    return wait_until([&] { return open_ == 0; }, 20s);
  }
  void run_turn() {
    turn();
    ASSERT_TRUE(ended());
  }
  /// The first grant of each shard on a connection goes alone, and a server has to learn scripts.
  /// After this it knows all that is needed, and these names are free.
  void know(std::vector<std::string> const& names) {
    auto const by = owner();
    for (int i = 0; i < 3; ++i) {
      for (auto const& name : names) acquire(name, by);
      run_turn();
      for (auto const& name : names) release(name, by);
      run_turn();
    }
  }

 private:
  template <class Answer, class Start>
  End<Answer>& ask(std::deque<End<Answer>>& ends, Start start) {
    auto& end = ends.emplace_back();
    ++open_;
    asked_.push_back([this, &end, start] {
      asio::co_spawn(env_.executor(), start(),
                     [this, &end](std::exception_ptr const& thrown, Answer answer) {
                       if (thrown) {
                         end.error = error_of([&] { std::rethrow_exception(thrown); });
                       } else {
                         end.answer = std::move(answer);
                       }
                       --open_;
                     });
    });
    return end;
  }

  RealEnv env_;
  std::deque<Taken> taken_;
  std::deque<Freed> freed_;
  std::vector<std::function<void()>> asked_;
  std::atomic<int> open_ = 0;
  std::unique_ptr<Engine> engine_;  // last: its loop runs as long as it
};

std::vector<std::string> names(int count) {
  std::vector<std::string> list;
  for (int i = 0; i < count; ++i) list.push_back("name-" + std::to_string(i));
  return list;
}

class Batches : public testing::Test {
 protected:
  /// How many times a script was called by its SHA, or with its text.
  [[nodiscard]] int calls(redis::Script const& script) const {
    int count = 0;
    for (auto const& words : commands_sent(proxy_)) {
      if (words.size() > 1 && (words[1] == script.sha || words[1] == script.text)) ++count;
    }
    return count;
  }
  [[nodiscard]] int all_calls() const { return static_cast<int>(commands_sent(proxy_).size()); }
  [[nodiscard]] std::string lease(std::string const& name) const { return keys_.lease(name); }
  [[nodiscard]] bool is_there(std::string const& name) const {
    return server_.connect().number({"EXISTS", lease(name)}) == 1;
  }

  RedisServer server_;
  TcpProxy proxy_{server_.port()};
  redis::Keys keys_{"default"};
  RedisCaller other_{server_.url()};
  Callers callers_{url_of(proxy_)};
};

Fence fence_of(Taken const& taken) {
  EXPECT_TRUE(taken.answer && *taken.answer) << (taken.error ? taken.error->what() : "busy");
  return taken.answer && *taken.answer ? taken.answer->value().fences.at(0) : Fence();
}

void expect_freed(Freed const& freed) {
  EXPECT_TRUE(freed.answer && *freed.answer) << (freed.error ? freed.error->what() : "lost");
}

void expect_lost(Freed const& freed, LossReason reason) {
  ASSERT_TRUE(freed.answer) << freed.error->what();
  ASSERT_FALSE(*freed.answer);
  EXPECT_EQ(freed.answer->error().reason, reason);
}

TEST_F(Batches, OneCommandServesMany) {
  auto const all = names(20);
  callers_.know(all);
  proxy_.forget();
  auto const owner = callers_.owner();
  std::vector<Taken*> taken;
  for (auto const& name : all) taken.push_back(&callers_.acquire(name, owner));
  callers_.run_turn();
  EXPECT_EQ(calls(redis::scripts::acquire_many), 1);
  EXPECT_EQ(all_calls(), 1);
  for (std::size_t i = 0; i < all.size(); ++i) {
    auto const found = other_.find(all[i]);
    ASSERT_TRUE(found) << all[i];
    EXPECT_EQ(found->owner, owner);
    EXPECT_EQ(found->fence, fence_of(*taken[i])) << all[i];
    EXPECT_EQ(found->ttl, 30s);
  }
  EXPECT_EQ(other_.list().leases.size(), all.size());
  std::vector<Freed*> freed;
  for (auto const& name : all) freed.push_back(&callers_.release(name, owner));
  callers_.run_turn();
  EXPECT_EQ(calls(redis::scripts::release_many), 1);
  EXPECT_EQ(all_calls(), 2);
  for (auto const* const each : freed) expect_freed(*each);
  EXPECT_TRUE(other_.list().leases.empty());
}

TEST_F(Batches, NoCommandKeepsTheServerForLong) {
  auto const all = names(100);
  callers_.know(all);
  proxy_.forget();
  auto const owner = callers_.owner();
  for (auto const& name : all) callers_.acquire(name, owner);
  callers_.run_turn();
  EXPECT_EQ(calls(redis::scripts::acquire_many), 4);
  EXPECT_EQ(other_.list().leases.size(), all.size());
}

TEST_F(Batches, OneAloneIsAskedAsAlways) {
  callers_.know({"x"});
  proxy_.forget();
  auto const owner = callers_.owner();
  callers_.acquire("x", owner);
  callers_.run_turn();
  callers_.release("x", owner);
  callers_.run_turn();
  EXPECT_EQ(calls(redis::scripts::acquire), 1);
  EXPECT_EQ(calls(redis::scripts::release), 1);
  EXPECT_EQ(all_calls(), 2);
}

TEST_F(Batches, EachAcquireHasItsOwnAnswer) {
  callers_.know({"free", "busy", "own", "offered", "broken", "resting", "ended", "stranger's"});
  auto const owner = callers_.owner();
  auto const holder = other_.owner();
  auto const busy_fence = other_.take("busy", holder);
  auto const own_fence = other_.take("own", owner);
  auto const first = other_.owner();
  other_.take("offered", first);
  ASSERT_FALSE(other_.stand_in_line("offered", holder));
  ASSERT_TRUE(other_.release("offered", first));
  server_.command({"PEXPIRE", lease("offered"), "60000"});  // on a slow machine too
  auto const offered_fence = other_.find("offered")->fence;
  other_.take("broken", owner);
  ASSERT_EQ(other_.break_lease("broken", "stop it"), BreakResult::asked);
  other_.take("ended", holder, 1ms);
  ASSERT_TRUE(wait_until([&] { return !other_.find("ended"); }));
  server_.command({"RPUSH", lease("stranger's"), "x"});
  proxy_.forget();

  auto& free = callers_.acquire("free", owner);
  auto& busy = callers_.acquire("busy", owner);
  auto& own = callers_.acquire("own", owner);
  auto& offered = callers_.acquire("offered", holder);
  auto& broken = callers_.acquire("broken", owner);
  auto& ended = callers_.acquire("ended", owner);
  auto& strangers = callers_.acquire("stranger's", owner);
  auto& last = callers_.acquire("resting", owner);
  callers_.run_turn();
  EXPECT_EQ(calls(redis::scripts::acquire_many), 1);
  EXPECT_EQ(other_.find("free")->fence, fence_of(free));
  ASSERT_TRUE(busy.answer && !*busy.answer);
  EXPECT_EQ(busy.answer->error().holder, holder);
  EXPECT_EQ(busy.answer->error().fence, busy_fence);
  EXPECT_GT(busy.answer->error().expires_in, 20s);
  EXPECT_EQ(busy.answer->error().place, 0U);
  EXPECT_EQ(fence_of(own), own_fence) << "asking again is harmless";
  EXPECT_EQ(fence_of(offered), offered_fence);
  EXPECT_FALSE(other_.find("offered")->offered) << "confirmed";
  ASSERT_TRUE(broken.answer && !*broken.answer) << "not to be had again before it is free";
  EXPECT_EQ(other_.find("ended")->fence, fence_of(ended));
  ASSERT_TRUE(strangers.error);
  EXPECT_EQ(strangers.error->code(), ErrorCode::internal);
  EXPECT_EQ(other_.find("resting")->fence, fence_of(last));
}

TEST_F(Batches, EachReleaseHasItsOwnAnswer) {
  callers_.know({"held", "another's", "nobody's", "waited for", "in line", "ended", "last"});
  auto const owner = callers_.owner();
  auto const another = other_.owner();
  auto const waiter = other_.owner();
  other_.take("held", owner);
  other_.take("another's", another);
  other_.take("waited for", owner);
  ASSERT_FALSE(other_.stand_in_line("waited for", waiter));
  other_.take("in line", another);
  ASSERT_FALSE(other_.stand_in_line("in line", owner));
  other_.take("ended", owner, 1ms);
  ASSERT_TRUE(wait_until([&] { return !other_.find("ended"); }));
  other_.take("last", owner);
  proxy_.forget();

  auto& held = callers_.release("held", owner);
  auto& anothers = callers_.release("another's", owner);
  auto& nobodys = callers_.release("nobody's", owner);
  auto& waited_for = callers_.release("waited for", owner);
  auto& in_line = callers_.release("in line", owner);
  auto& ended = callers_.release("ended", owner);
  auto& last = callers_.release("last", owner);
  callers_.run_turn();
  EXPECT_EQ(calls(redis::scripts::release_many), 1);
  expect_freed(held);
  EXPECT_FALSE(is_there("held"));
  expect_lost(anothers, LossReason::taken);
  EXPECT_EQ(other_.find("another's")->owner, another);
  expect_lost(nobodys, LossReason::taken);
  expect_freed(waited_for);
  EXPECT_EQ(other_.find("waited for")->owner, waiter) << "it is the next one's";
  expect_freed(in_line);
  EXPECT_EQ(other_.find("in line")->waiting, 0U);
  expect_lost(ended, LossReason::expired);
  EXPECT_FALSE(is_there("ended"));
  expect_freed(last);
  EXPECT_FALSE(is_there("last"));
}

TEST_F(Batches, ARestAfterAnExpiryIsKept) {
  auto const owner = callers_.owner();
  LeaseRequest request({Name("x")}, owner, 1ms);
  request.delay = 20s;
  ASSERT_TRUE(run(other_.engine().leases().acquire(request, other_.deadline())));
  ASSERT_TRUE(wait_until([&] { return other_.find("x")->expires_in == 0ms; }));
  callers_.know({"y", "z"});
  auto& x = callers_.acquire("x", callers_.owner());
  callers_.acquire("y", owner);
  callers_.acquire("z", owner);
  callers_.run_turn();
  EXPECT_TRUE(x.answer && !*x.answer) << "it rests";
  callers_.release("y", owner);
  auto& late = callers_.release("x", owner);
  callers_.run_turn();
  expect_lost(late, LossReason::expired);
}

TEST_F(Batches, OneNameKeepsTheOrderOfItsCallers) {
  callers_.know({"x", "y", "z"});
  auto const before = callers_.owner();
  auto const after = callers_.owner();
  callers_.acquire("x", before);
  callers_.acquire("y", before);
  callers_.run_turn();
  auto& x_freed = callers_.release("x", before);
  auto& x = callers_.acquire("x", after);
  auto& y = callers_.acquire("y", after);
  auto& y_freed = callers_.release("y", before);
  auto& z = callers_.acquire("z", before);
  auto& z_again = callers_.acquire("z", after);
  auto& z_freed = callers_.release("z", before);
  callers_.run_turn();
  expect_freed(x_freed);
  (void)fence_of(x);
  EXPECT_TRUE(y.answer && !*y.answer) << "it was not free yet";
  expect_freed(y_freed);
  (void)fence_of(z);
  EXPECT_TRUE(z_again.answer && !*z_again.answer);
  expect_freed(z_freed);
}

/// Cut before any byte, in the middle of the command, and anywhere in the reply.
TEST_F(Batches, ABreakInTheMiddleTellsEachTheTruth) {
  auto const all = names(20);
  struct Cut {
    Way way;
    std::uint64_t bytes;
  };
  for (Cut const cut : {Cut{Way::to_server, 0}, Cut{Way::to_server, 700}, Cut{Way::to_client, 0},
                        Cut{Way::to_client, 2}, Cut{Way::to_client, 100}}) {
    proxy_.pass();
    callers_.know(all);
    auto const owner = callers_.owner();
    proxy_.cut_after(cut.way, cut.bytes);
    std::vector<Taken*> taken;
    for (auto const& name : all) taken.push_back(&callers_.acquire(name, owner));
    callers_.run_turn();
    for (std::size_t i = 0; i < all.size(); ++i) {
      ASSERT_TRUE(taken[i]->error) << "nobody noticed";
      EXPECT_TRUE(taken[i]->error->retryable());
      if (taken[i]->error->outcome() == Outcome::not_applied) {
        EXPECT_FALSE(is_there(all[i]));
      }
      EXPECT_EQ(is_there(all[i]), cut.way == Way::to_client);
    }
    proxy_.pass();
    server_.command({"FLUSHALL"});
  }
}

TEST_F(Batches, TheFirstDeadlineThatPassesInSilenceEndsTheConnection) {
  callers_.know({"x", "y", "z"});
  auto const owner = callers_.owner();
  proxy_.hold(Way::to_client);
  auto& x = callers_.acquire("x", owner, 20s);
  auto& y = callers_.acquire("y", owner, 50ms);
  auto& z = callers_.acquire("z", owner, 20s);
  callers_.turn();
  // A server that is silent for so long is left: they are told at once, and the truth.
  ASSERT_TRUE(callers_.ended());
  EXPECT_EQ(y.error->code(), ErrorCode::network_timeout);
  for (auto const* const each : {&x, &y, &z}) {
    ASSERT_TRUE(each->error);
    EXPECT_EQ(each->error->outcome(), Outcome::unknown);
  }
}

/// Another answer came meanwhile, so the connection is kept, and the late answer is dropped.
TEST_F(Batches, EachHasItsOwnDeadline) {
  callers_.know({"w", "x", "y", "z"});
  auto const owner = callers_.owner();
  proxy_.delay(Way::to_client, 600ms);
  auto& w = callers_.acquire("w", owner, 20s);
  callers_.turn();
  std::this_thread::sleep_for(300ms);  // its answer comes after the next calls were sent
  auto& x = callers_.acquire("x", owner, 20s);
  auto& y = callers_.acquire("y", owner, 450ms);
  auto& z = callers_.acquire("z", owner, 20s);
  callers_.run_turn();
  (void)fence_of(w);
  (void)fence_of(x);
  (void)fence_of(z);
  ASSERT_TRUE(y.error) << "the answer was not late";
  EXPECT_EQ(y.error->code(), ErrorCode::network_timeout);
  EXPECT_EQ(y.error->outcome(), Outcome::unknown);
  EXPECT_TRUE(is_there("y")) << "it happened all the same";
}

TEST_F(Batches, AServerThatForgotTheScriptsLearnsThemAgain) {
  auto const all = names(5);
  callers_.know(all);
  for (int round = 0; round < 3; ++round) {
    auto const owner = callers_.owner();
    if (round < 2) server_.command({"SCRIPT", "FLUSH"});
    proxy_.forget();
    for (int turn = 0; turn < 2; ++turn) {
      std::vector<Taken*> taken;
      std::vector<Freed*> freed;
      for (auto const& name : all) taken.push_back(&callers_.acquire(name, owner));
      callers_.run_turn();
      for (auto const* const each : taken) (void)fence_of(*each);
      for (auto const& name : all) freed.push_back(&callers_.release(name, owner));
      callers_.run_turn();
      for (auto const* const each : freed) expect_freed(*each);
    }
    if (round == 2) {
      EXPECT_EQ(all_calls(), 4) << "it knows them";
    }
  }
}

TEST_F(Batches, OutOfMemoryNobodyGetsAnything) {
  auto const all = names(5);
  callers_.know(all);
  auto const owner = callers_.owner();
  auto const held = callers_.owner();
  for (auto const& name : {"name-0", "name-1"}) callers_.acquire(name, held);
  callers_.run_turn();
  server_.command({"CONFIG", "SET", "maxmemory", "1"});
  auto& x = callers_.acquire("name-2", owner);
  auto& y = callers_.acquire("name-3", owner);
  auto& busy = callers_.acquire("name-1", owner);
  callers_.run_turn();
  for (auto const* const each : {&x, &y}) {
    ASSERT_TRUE(each->error);
    EXPECT_EQ(each->error->code(), ErrorCode::rate_limited);
    EXPECT_EQ(each->error->outcome(), Outcome::not_applied);
  }
  EXPECT_TRUE(busy.answer && !*busy.answer);
  EXPECT_FALSE(is_there("name-2"));
  EXPECT_FALSE(is_there("name-3"));
  auto& zero = callers_.release("name-0", held);
  auto& one = callers_.release("name-1", held);
  callers_.run_turn();
  expect_freed(zero);
  expect_freed(one);
  server_.command({"CONFIG", "SET", "maxmemory", "0"});
}

/// An error for one, in the middle of the script, is nobody else's.
TEST_F(Batches, AStrangersKeyInTheMiddleIsNoTroubleForOthers) {
  auto const all = names(6);
  callers_.know(all);
  auto const owner = callers_.owner();
  auto const counter = keys_.counter(redis::shard_of("name-2"));
  auto const list = keys_.names(redis::shard_of("name-4"));
  server_.command({"SET", counter, "no hash"});
  server_.command({"SET", list, "no list"});
  std::vector<Taken*> taken;
  for (auto const& name : all) taken.push_back(&callers_.acquire(name, owner));
  callers_.run_turn();
  for (std::size_t i = 0; i < all.size(); ++i) {
    SCOPED_TRACE(all[i]);
    bool const spoilt = redis::shard_of(all[i]) == redis::shard_of("name-2") ||
                        redis::shard_of(all[i]) == redis::shard_of("name-4");
    if (!spoilt) (void)fence_of(*taken[i]);
    EXPECT_EQ(taken[i]->error.has_value(), spoilt);
  }
  EXPECT_FALSE(is_there("name-2"));
  std::vector<Freed*> freed;
  for (auto const& name : all) freed.push_back(&callers_.release(name, owner));
  callers_.run_turn();
  for (std::size_t const i : {0, 1, 3, 5}) {
    if (!freed[i]->error) expect_freed(*freed[i]);
  }
}

TEST(BatchAnswers, OfAnotherShapeAreErrorsNotCrashes) {
  std::mutex mutex;
  std::string next;
  ScriptedServer const server([&](ScriptedServer::Words const& words) -> std::string {
    std::scoped_lock const lock(mutex);
    if (words.at(1) == redis::scripts::release_many.sha) return next;
    return ":1\r\n";
  });
  for (auto const* const bytes :
       {"+OK\r\n", "$-1\r\n", "*0\r\n", "*1\r\n:1\r\n", "*3\r\n:1\r\n:1\r\n:1\r\n",
        "*2\r\n+x\r\n*0\r\n", "-ERR the moon\r\n", "-READONLY no\r\n", "*2\r\n:1\r\n"}) {
    SCOPED_TRACE(bytes);
    Callers callers(server.url());
    {
      std::scoped_lock const lock(mutex);
      next = bytes;
    }
    auto const owner = callers.owner();
    callers.release("first", owner);
    callers.run_turn();
    auto& x = callers.release("x", owner, 300ms);
    auto& y = callers.release("y", owner, 300ms);
    callers.run_turn();
    EXPECT_TRUE(x.error);
    EXPECT_TRUE(y.error);
  }
}

}  // namespace
}  // namespace holt::test
