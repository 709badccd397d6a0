// SPDX-License-Identifier: Apache-2.0
#pragma once
// The smallest lazy coroutine that can await another one: what the toolchain tests run their
// shapes on, so that they compile in a second and blame nobody but the compiler.
// A test's main() is `return run(shape());`, where shape() answers true if all went right.

#include <coroutine>
#include <cstdio>
#include <exception>
#include <optional>
#include <string>
#include <utility>

template <class T>
class Task {
 public:
  struct promise_type;
  using Handle = std::coroutine_handle<promise_type>;

  struct Final {
    bool await_ready() noexcept { return false; }
    std::coroutine_handle<> await_suspend(Handle done) noexcept { return done.promise().next; }
    void await_resume() noexcept {}
  };

  struct promise_type {
    std::optional<T> value;
    std::coroutine_handle<> next = std::noop_coroutine();

    Task get_return_object() { return Task(Handle::from_promise(*this)); }
    std::suspend_always initial_suspend() noexcept { return {}; }
    Final final_suspend() noexcept { return {}; }
    void return_value(T result) { value.emplace(std::move(result)); }
    void unhandled_exception() { std::terminate(); }
  };

  explicit Task(Handle handle) : handle_(handle) {}
  Task(Task&& other) noexcept : handle_(std::exchange(other.handle_, {})) {}
  Task& operator=(Task&&) = delete;
  ~Task() {
    if (handle_) handle_.destroy();
  }

  bool await_ready() { return false; }
  std::coroutine_handle<> await_suspend(std::coroutine_handle<> waiting) {
    handle_.promise().next = waiting;
    return handle_;
  }
  T await_resume() { return std::move(*handle_.promise().value); }

  T start() {
    handle_.resume();
    return std::move(*handle_.promise().value);
  }

 private:
  Handle handle_;
};

/// A text too long to be stored inside std::string, so that freeing it twice is noticed.
inline std::string long_text() { return "a text that is far too long for the small buffer"; }

inline Task<int> number(int value) { co_return value; }
inline Task<bool> is(bool value) { co_return value; }

inline int run(Task<bool> shape) {
  bool const right = shape.start();
  if (!right) std::puts("wrong result");
  return right ? 0 : 1;
}
