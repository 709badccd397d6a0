// SPDX-License-Identifier: Apache-2.0
#include "primitives/event.hpp"

#include "base/check.hpp"

#include <boost/asio/associated_executor.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <cstdint>
#include <functional>
#include <mutex>
#include <utility>

namespace holt {

struct Event::State {
  explicit State(Env& of) : env(of) {}

  Env& env;
  std::mutex mutex;
  bool set = false;
  std::uint64_t wait = 0;  ///< counts waits: the timer of an earlier one means nothing
  Env::TimerId timer = 0;
  std::move_only_function<void(bool)> resume;  ///< empty while nobody waits
};

namespace {

/// Makes what resumes the coroutine with an answer, on its own executor.
template <class Handler>
std::move_only_function<void(bool)> resumption(Handler handler) {
  return [handler = std::move(handler)](bool answer) mutable {
    auto const executor = asio::get_associated_executor(handler);
    asio::post(executor,
               [handler = std::move(handler), answer]() mutable { std::move(handler)(answer); });
  };
}

/// The deadline passed: wakes the wait it belongs to, if that still waits.
template <class State>
void time_out(std::weak_ptr<State> const& weak, std::uint64_t wait) {
  auto const state = weak.lock();
  if (!state) return;
  std::move_only_function<void(bool)> resume;
  {
    std::scoped_lock const lock(state->mutex);
    if (state->wait != wait || !state->resume) return;
    resume = std::exchange(state->resume, nullptr);
  }
  resume(false);
}

}  // namespace

Event::Event(Env& env) : state_(std::make_shared<State>(env)) {}

void Event::set() {
  std::move_only_function<void(bool)> resume;
  Env::TimerId timer = 0;
  {
    std::scoped_lock const lock(state_->mutex);
    if (!state_->resume) {
      state_->set = true;
      return;
    }
    resume = std::exchange(state_->resume, nullptr);
    timer = state_->timer;
  }
  state_->env.cancel(timer);
  resume(true);
}

asio::awaitable<bool> Event::wait_until(Instant when) {
  auto initiate = [](auto handler, std::shared_ptr<State> state, Instant until) {
    auto resume = resumption(std::move(handler));
    std::unique_lock lock(state->mutex);
    HOLT_CHECK(!state->resume);
    if (std::exchange(state->set, false)) {
      lock.unlock();
      resume(true);
      return;
    }
    auto const wait = ++state->wait;
    state->resume = std::move(resume);
    if (until == Instant::max()) return;
    state->timer =
        state->env.call_at(until, [weak = std::weak_ptr(state), wait] { time_out(weak, wait); });
  };
  return asio::async_initiate<asio::use_awaitable_t<> const, void(bool)>(
      initiate, asio::use_awaitable, state_, when);
}

}  // namespace holt
