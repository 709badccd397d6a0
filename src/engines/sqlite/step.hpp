// SPDX-License-Identifier: Apache-2.0
#pragma once
// Step: one atomic piece of work on the store, as Writer and Reader run it. It lives in the frame
// of the coroutine that waits for it, which cannot go away before the step has ended.

#include "contracts/env.hpp"
#include "engines/sqlite/connection.hpp"

#include <boost/asio/associated_executor.hpp>
#include <boost/asio/post.hpp>

#include <atomic>
#include <exception>
#include <functional>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

namespace holt::sqlite {

class Step {
 public:
  /// `operation` is for error texts and must have static storage.
  Step(std::string_view operation, Instant deadline) : operation_(operation), deadline_(deadline) {}
  Step(Step const&) = delete;
  Step& operator=(Step const&) = delete;

  /// The work. May run again after a rollback, so it starts by forgetting its results.
  virtual void run(Connection& store) = 0;

  [[nodiscard]] std::string_view operation() const noexcept { return operation_; }
  [[nodiscard]] Instant deadline() const noexcept { return deadline_; }
  [[nodiscard]] std::exception_ptr const& error() const noexcept { return error_; }
  [[nodiscard]] bool ended() const noexcept { return ended_; }

  /// How it failed; for who runs it.
  void fail(std::exception_ptr error) noexcept { error_ = std::move(error); }

  /// What wakes the coroutine that waits; unset when it runs the step itself.
  using Done = std::move_only_function<void()>;
  void when_done(Done done) { done_ = std::move(done); }

  /// The step has ended. If somebody waits for it, it may be gone when this returns.
  void finish() {
    ended_ = true;
    if (done_) std::exchange(done_, nullptr)();
    let_go_.store(true, std::memory_order_release);
  }

  /// For who waited and was resumed: the other thread may still be busy waking us, inside the loop
  /// that we run on, and that loop may be destroyed as soon as we end. A matter of nanoseconds.
  void wait_until_let_go() const noexcept {
    while (!let_go_.load(std::memory_order_acquire)) std::this_thread::yield();
  }

 protected:
  ~Step() = default;

 private:
  std::string_view operation_;
  Instant deadline_;
  std::exception_ptr error_;
  bool ended_ = false;
  std::atomic<bool> let_go_{false};
  Done done_;
};

using Batch = std::vector<Step*>;

/// A Done that resumes the waiting coroutine on its own executor.
template <class Handler>
Step::Done resume(Handler handler) {
  return [handler = std::move(handler)]() mutable {
    auto const executor = boost::asio::get_associated_executor(handler);
    boost::asio::post(executor, std::move(handler));
  };
}

/// Whether code that blocks may run on the thread of this executor: on all but the loops' own
/// (which is the only one in the simulator, where nothing blocks).
inline bool may_block_on(Env& env, asio::any_io_executor const& executor) {
  return executor != env.executor() || executor == env.blocking();
}

}  // namespace holt::sqlite
