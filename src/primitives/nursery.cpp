// SPDX-License-Identifier: Apache-2.0
#include "primitives/nursery.hpp"

#include "base/check.hpp"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/post.hpp>

#include <exception>
#include <mutex>
#include <utility>

namespace holt {

struct Nursery::State {
  explicit State(Env& env) : changed(env) {}
  std::mutex mutex;
  int children = 0;
  Event changed;

  bool empty() {
    std::scoped_lock const lock(mutex);
    return children == 0;
  }
};

Nursery::Nursery(Env& env) : Nursery(env, env.executor()) {}

Nursery::Nursery(Env& env, asio::any_io_executor executor)
    : executor_(std::move(executor)), state_(std::make_shared<State>(env)) {}

void Nursery::spawn(asio::awaitable<void> child) {
  {
    std::scoped_lock const lock(state_->mutex);
    ++state_->children;
  }
  auto done = [state = state_](std::exception_ptr error) {
    HOLT_CHECK(!error);
    {
      std::scoped_lock const lock(state->mutex);
      --state->children;
    }
    state->changed.set();
  };
  // co_spawn alone would run the child here and now if this is the executor's own thread.
  auto start = [executor = executor_, child = std::move(child), done = std::move(done)]() mutable {
    asio::co_spawn(executor, std::move(child), std::move(done));
  };
  asio::post(executor_, std::move(start));
}

asio::awaitable<bool> Nursery::close(Instant deadline) {
  auto const state = state_;
  while (!state->empty()) {
    bool const changed = co_await state->changed.wait_until(deadline);
    if (!changed) co_return state->empty();
  }
  co_return true;
}

}  // namespace holt
