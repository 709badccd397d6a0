// SPDX-License-Identifier: Apache-2.0
#pragma once
// Callers whose calls start in one turn of the engine's loop, on a server behind a proxy that tells
// what was sent.

#include "engines/redis/engine.hpp"
#include "engines/redis/layout.hpp"
#include "redis/store_behind_proxy.hpp"
#include "redis_scripts.hpp"
#include "support/servers/redis_traffic.hpp"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/post.hpp>

#include <atomic>
#include <deque>
#include <functional>

namespace holt::test {

/// What a call came to: its answer, or why there is none.
template <class Answer>
struct End {
  std::optional<Answer> answer;
  std::optional<EngineError> error;
};
using Taken = End<std::expected<LeaseGrant, Busy>>;
using Freed = End<std::expected<void, Lost>>;
using AddedTasks = End<std::vector<Added>>;

/// An engine on our own loop, so that calls can be made in one turn of it.
class Callers {
 public:
  explicit Callers(std::string const& url) : engine_(redis::open(env_, {url, "default"})) {}

  [[nodiscard]] LeaseStore& leases() { return engine_->leases(); }
  [[nodiscard]] TaskStore& tasks() { return *engine_->tasks(); }
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
  AddedTasks& add(AddRequest request, Nanos patience = 5s) {
    return ask<std::vector<Added>>(added_, [this, request = std::move(request), patience] {
      return tasks().add(request, env_.now() + patience);
    });
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
  /// The first grant on a connection goes alone, and a server has to learn scripts.
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
  std::deque<AddedTasks> added_;
  std::vector<std::function<void()>> asked_;
  std::atomic<int> open_ = 0;
  std::unique_ptr<Engine> engine_;  // last: its loop runs as long as it
};

inline std::vector<std::string> names(int count) {
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

inline Fence fence_of(Taken const& taken) {
  EXPECT_TRUE(taken.answer && *taken.answer) << (taken.error ? taken.error->what() : "busy");
  return taken.answer && *taken.answer ? taken.answer->value().fences.at(0) : Fence();
}

inline void expect_freed(Freed const& freed) {
  EXPECT_TRUE(freed.answer && *freed.answer) << (freed.error ? freed.error->what() : "lost");
}

inline void expect_lost(Freed const& freed, LossReason reason) {
  ASSERT_TRUE(freed.answer) << freed.error->what();
  ASSERT_FALSE(*freed.answer);
  EXPECT_EQ(freed.answer->error().reason, reason);
}

}  // namespace holt::test
