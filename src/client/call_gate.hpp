// SPDX-License-Identifier: Apache-2.0
#pragma once
// CallGate: lets calls to the user's functions through until it is closed; then none is running and
// none starts. What they throw is dropped.

#include <condition_variable>
#include <mutex>
#include <set>
#include <thread>

namespace holt::client {

class CallGate {
 public:
  template <class Call>
  void pass(Call const& call) {
    {
      std::scoped_lock const lock(mutex_);
      if (closed_) return;
      inside_.insert(std::this_thread::get_id());
    }
    try {
      call();
    } catch (...) {  // NOLINT(bugprone-empty-catch): what a user's function throws harms nobody
    }
    std::scoped_lock const lock(mutex_);
    inside_.erase(inside_.find(std::this_thread::get_id()));
    left_.notify_all();
  }

  /// Waits for the calls under way, but for the one that it is called from.
  void close() {
    std::unique_lock lock(mutex_);
    closed_ = true;
    auto const ours = inside_.count(std::this_thread::get_id());
    left_.wait(lock, [&] { return inside_.size() <= ours; });
  }

 private:
  std::mutex mutex_;
  std::condition_variable left_;
  bool closed_ = false;
  std::multiset<std::thread::id> inside_;
};

}  // namespace holt::client
