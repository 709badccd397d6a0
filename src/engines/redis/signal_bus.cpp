// SPDX-License-Identifier: Apache-2.0
#include "engines/redis/signal_bus.hpp"

#include "contracts/signal_handlers.hpp"
#include "engines/redis/errors.hpp"
#include "engines/redis/scripting.hpp"

#include <boost/asio/async_result.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <fmt/format.h>

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <utility>
#include <vector>

namespace holt::redis {
namespace {

constexpr std::chrono::seconds patience{5};      // for one message, and for subscribing
constexpr std::chrono::milliseconds pause{200};  // before subscribing again

bool is_inbox(std::string_view text) {
  constexpr std::size_t longest = 64;
  return !text.empty() && text.size() <= longest && std::ranges::all_of(text, [](char c) {
    return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '-';
  });
}

}  // namespace

struct RedisSignalBus::State : std::enable_shared_from_this<State> {
  struct Waiter {
    std::move_only_function<void(std::exception_ptr)> done;
    std::uint64_t id = 0;
  };

  State(Env& of, Place const& place, Servers& by, Keys const& with)
      : env(of),
        servers(by),
        keys(with),
        inbox(fmt::format("{}-{:016x}", ::getpid(), of.random())),
        channels{keys.inbox_channel() + inbox, keys.everybody_channel()},
        subscriber(of, any(place)) {}

  /// Any node of a cluster hears what is published on any other.
  static Place any(Place place) {
    place.any_role = !place.cluster.empty();
    return place;
  }
  void follow();

  void start();
  asio::awaitable<void> subscribe();
  void lost();
  void wake_waiters(std::exception_ptr const& error);
  void heard(ReplyView const& message);
  asio::awaitable<void> send(std::string channel, std::string message);

  Env& env;
  Servers& servers;
  Keys const& keys;
  std::string const inbox;
  std::vector<std::string> const channels;
  Connection subscriber;

  SignalHandlers handlers;
  std::atomic<bool> wanted = false;
  std::atomic<bool> subscribed = false;
  // On the executor only.
  bool subscribing = false;
  bool pausing = false;  ///< about to subscribe again
  std::uint64_t next_waiter = 1;
  std::vector<Waiter> waiters;
};

void RedisSignalBus::State::start() {
  if (subscribing || subscribed) return;
  subscribing = true;
  asio::co_spawn(env.executor(), subscribe(), [self = shared_from_this()](std::exception_ptr) {});
}

asio::awaitable<void> RedisSignalBus::State::subscribe() {
  std::exception_ptr error;
  try {
    for (auto const& channel : channels) {
      [[maybe_unused]] Reply const reply = co_await run_command(
          subscriber, command("SUBSCRIBE", channel), Effect::reads, "listen", env.now() + patience);
    }
  } catch (EngineError const&) {
    error = std::current_exception();
  }
  subscribing = false;
  subscribed = !error;
  wake_waiters(error);
  if (error) {
    lost();
  } else {
    handlers.dispatch({std::string(topic::offer), ""});
  }
}

void RedisSignalBus::State::lost() {
  subscribed = false;
  if (std::exchange(pausing, true)) return;  // one of these is enough, however often it fails
  env.call_at(env.now() + pause, [weak = weak_from_this()] {
    auto const self = weak.lock();
    if (!self) return;
    self->pausing = false;
    self->start();
  });
}

void RedisSignalBus::State::wake_waiters(std::exception_ptr const& error) {
  auto woken = std::exchange(waiters, {});
  for (auto& waiter : woken) waiter.done(error);
}

/// {"message", channel, topic \n text}
void RedisSignalBus::State::heard(ReplyView const& message) {
  auto const text = message[2].text();
  auto const end = text.find('\n');
  if (end == std::string_view::npos) return;
  handlers.dispatch({std::string(text.substr(0, end)), std::string(text.substr(end + 1))});
}

asio::awaitable<void> RedisSignalBus::State::send(std::string channel, std::string message) {
  try {
    [[maybe_unused]] Reply const reply =
        co_await run_command(servers, channel, command("PUBLISH", channel, message), writing,
                             "signal", env.now() + patience);
  } catch (EngineError const&) {
    co_return;  // a signal may get lost
  }
}

/// Signals must be heard where they are sent.
void RedisSignalBus::State::follow() {
  auto const weak = weak_from_this();
  if (servers.are_cluster()) {
    subscriber.find_by([this] { return servers.cluster().any_node(); });
    servers.cluster().on_change([weak] {
      auto const state = weak.lock();
      if (!state || !state->subscriber.is_ready()) return;
      if (state->servers.cluster().has_master(state->subscriber.where())) return;
      state->subscriber.leave();
    });
    return;
  }
  // After a failover they are sent on another server.
  servers.one().on_connected([weak] {
    auto const state = weak.lock();
    if (!state || !state->subscriber.is_ready()) return;
    auto const& commands = state->servers.one();
    if (state->subscriber.server().identity == commands.server().identity) return;
    state->subscriber.leave();
  });
}

RedisSignalBus::RedisSignalBus(Env& env, Place const& place, Servers& servers, Keys const& keys)
    : state_(std::make_shared<State>(env, place, servers, keys)) {
  // The connection goes before the state that these point to.
  state_->follow();
  state_->subscriber.listen(
      [state = state_.get()](ReplyView const& message) { state->heard(message); },
      [state = state_.get()] { state->lost(); });
}

RedisSignalBus::~RedisSignalBus() { close(); }

void RedisSignalBus::close() { state_->subscriber.close(); }

std::string const& RedisSignalBus::inbox() const { return state_->inbox; }

void RedisSignalBus::listen() {
  if (state_->wanted.exchange(true)) return;
  asio::post(state_->env.executor(), [state = state_] { state->start(); });
}

bool RedisSignalBus::listening() const { return state_->subscribed; }

Delivery RedisSignalBus::send(std::string_view inbox, Signal const& signal) {
  if (!is_inbox(inbox)) return Delivery::dead;
  asio::co_spawn(state_->env.executor(),
                 state_->send(state_->keys.inbox_channel() + std::string(inbox),
                              signal.topic + '\n' + signal.text),
                 [state = state_](std::exception_ptr) {});
  return Delivery::unknown;
}

void RedisSignalBus::publish(Signal const& signal) {
  asio::co_spawn(state_->env.executor(),
                 state_->send(state_->keys.everybody_channel(), signal.topic + '\n' + signal.text),
                 [state = state_](std::exception_ptr) {});
}

SignalBus::Subscription RedisSignalBus::subscribe(std::string topic, Handler handler) {
  return state_->handlers.subscribe(std::move(topic), std::move(handler));
}

void RedisSignalBus::unsubscribe(Subscription subscription) {
  state_->handlers.unsubscribe(subscription);
}

asio::awaitable<void> RedisSignalBus::reachable(Instant deadline) {
  state_->wanted = true;
  if (state_->subscribed) co_return;
  auto initiate = [](auto handler, State* state, Instant until) {
    auto const id = state->next_waiter++;
    State::Waiter waiter;
    waiter.id = id;
    waiter.done = [handler = std::move(handler)](std::exception_ptr error) mutable {
      std::move(handler)(std::move(error));
    };
    state->waiters.push_back(std::move(waiter));
    state->env.call_at(until, [weak = state->weak_from_this(), id] {
      auto const self = weak.lock();
      if (!self) return;
      auto const found = std::ranges::find(self->waiters, id, &State::Waiter::id);
      if (found == self->waiters.end()) return;
      auto late = std::move(*found);
      self->waiters.erase(found);
      auto const trouble = self->subscriber.trouble();
      late.done(
          std::make_exception_ptr(failed(ErrorCode::network_timeout, Outcome::not_applied, "listen",
                                         "signals could not be subscribed in time" +
                                             (trouble.empty() ? trouble : ": " + trouble))));
    });
    state->start();
  };
  co_await asio::async_initiate<asio::use_awaitable_t<> const, void(std::exception_ptr)>(
      initiate, asio::use_awaitable, state_.get(), deadline);
}

}  // namespace holt::redis
