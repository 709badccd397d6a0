// SPDX-License-Identifier: Apache-2.0
#pragma once
// CallerLoops: runs a coroutine on the thread that asked for it and blocks that thread until it
// ends. No other thread is involved unless the coroutine waits for something, so a call on the
// embedded engine costs no thread hop. Loops are kept for the next caller, as many as there ever
// were callers at a time: making one is not free, and the thread that woke a caller may still be on
// its way out of the loop when the caller has gone.

#include "client/shortage.hpp"
#include "contracts/home.hpp"

#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>

#include <exception>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

namespace holt::client {

namespace asio = boost::asio;

class CallerLoops {
 public:
  /// Runs `work` to its end and answers its result, or throws what it throws. Any thread.
  template <class T>
  T run(asio::awaitable<T> work) {
    auto loop = borrow();
    std::optional<T> result;
    std::exception_ptr error;
    asio::co_spawn(*loop, store(std::move(work), &result),
                   [&error](std::exception_ptr thrown) { error = std::move(thrown); });
    loop->run();
    give_back(std::move(loop));
    if (error) std::rethrow_exception(error);
    return std::move(*result);
  }

  void run(asio::awaitable<void> work) {
    auto loop = borrow();
    std::exception_ptr error;
    asio::co_spawn(*loop, std::move(work),
                   [&error](std::exception_ptr thrown) { error = std::move(thrown); });
    loop->run();
    give_back(std::move(loop));
    if (error) std::rethrow_exception(error);
  }

 private:
  using Loop = std::unique_ptr<asio::io_context>;

  template <class T>
  static asio::awaitable<void> store(asio::awaitable<T> work, std::optional<T>* result) {
    T value = co_await std::move(work);
    result->emplace(std::move(value));
  }

  Loop borrow() {
    {
      std::scoped_lock const lock(mutex_);
      if (!idle_.empty()) {
        Loop loop = std::move(idle_.back());
        idle_.pop_back();
        loop->restart();
        return loop;
      }
    }
    return or_shortage("call", [] { return std::make_unique<asio::io_context>(1); });
  }

  void give_back(Loop loop) {
    std::scoped_lock const lock(mutex_);
    idle_.push_back(std::move(loop));
  }

  std::mutex mutex_;
  std::vector<Loop> idle_;
};

/// Runs `work` to its end at an engine's home, and answers or throws as above.
template <class T>
T run_at(Home& home, asio::awaitable<T> work) {
  std::optional<T> result;
  std::exception_ptr error;
  home.host([&](Home::Task done) {
    asio::co_spawn(home.home(), std::move(work),
                   [&, done = std::move(done)](std::exception_ptr thrown, T value) mutable {
                     error = std::move(thrown);
                     if (!error) result.emplace(std::move(value));
                     done();
                   });
  });
  if (error) std::rethrow_exception(error);
  return std::move(*result);
}

}  // namespace holt::client
