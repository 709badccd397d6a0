// SPDX-License-Identifier: Apache-2.0
#pragma once
// ListenerGate: stands between us and a user's listener. The listener hears one event at a time, in
// order, however slow it is; what it throws is dropped; and once the gate is closed it is not
// running and never called again.

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>
#include <utility>

namespace holt::client {

template <class Event>
class ListenerGate {
 public:
  using Listener = std::function<void(Event const&)>;

  explicit ListenerGate(Listener listener) : listener_(std::move(listener)) {}

  /// Lets the listener hear it; if it is still busy with another event, whoever called it then goes
  /// on with this one. Any thread.
  void tell(Event const& event) {
    std::unique_lock lock(mutex_);
    waiting_.push_back(event);
    if (running_) return;
    running_ = true;
    thread_ = std::this_thread::get_id();
    while (!waiting_.empty() && !closed_) {
      auto const next = std::move(waiting_.front());
      waiting_.pop_front();
      lock.unlock();
      try {
        listener_(next);
      } catch (...) {  // NOLINT(bugprone-empty-catch): what a listener throws harms nobody
      }
      lock.lock();
    }
    running_ = false;
    ended_.notify_all();
  }

  /// Waits for a call under way, unless it is that call which closes it.
  void close() {
    std::unique_lock lock(mutex_);
    closed_ = true;
    if (thread_ == std::this_thread::get_id()) return;
    ended_.wait(lock, [this] { return !running_; });
  }

 private:
  Listener listener_;
  std::mutex mutex_;
  std::condition_variable ended_;
  std::deque<Event> waiting_;
  std::thread::id thread_;
  bool running_ = false;
  bool closed_ = false;
};

}  // namespace holt::client
