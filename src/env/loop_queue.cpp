// SPDX-License-Identifier: Apache-2.0
#include "env/loop_queue.hpp"

#include <boost/asio/post.hpp>

#include <algorithm>

namespace holt {
namespace {

/// So many rounds are done in a row; then it is the turn of what the loop waits for, or of the
/// caller who only came along.
constexpr int most_rounds = 16;

}  // namespace

LoopQueue::Bringing::Bringing(LoopQueue& queue) : queue_(queue) {
  std::scoped_lock const lock(queue_.mutex_);
  queue_.bringing_.push_back(std::this_thread::get_id());
}

LoopQueue::Bringing::~Bringing() {
  {
    std::scoped_lock const lock(queue_.mutex_);
    std::erase(queue_.bringing_, std::this_thread::get_id());
    if (queue_.busy_ || queue_.tasks_.empty()) return;
    queue_.busy_ = true;
  }
  queue_.work_through();
}

void LoopQueue::add(Task task, bool at_once) {
  {
    std::scoped_lock const lock(mutex_);
    if (closed_) {
      asio::post(loop_, std::move(task));
      return;
    }
    bool const now = at_once && !busy_ && loop_.get_executor().running_in_this_thread();
    tasks_.push_back(std::move(task));
    if (busy_) return;
    if (!now) {
      if (std::ranges::find(bringing_, std::this_thread::get_id()) == bringing_.end()) call_loop();
      return;
    }
    busy_ = true;
  }
  work_through();
}

/// With the mutex held.
void LoopQueue::call_loop() {
  if (std::exchange(called_, true)) return;
  asio::post(loop_, [this] { work(); });
}

/// At the loop.
void LoopQueue::work() {
  {
    std::scoped_lock const lock(mutex_);
    called_ = false;
    if (busy_ || tasks_.empty()) return;
    busy_ = true;
  }
  work_through();
}

/// Whoever set `busy_`.
void LoopQueue::work_through() noexcept {
  worker_ = std::this_thread::get_id();
  std::vector<Task> round;
  for (int i = 0;; ++i) {
    {
      std::scoped_lock const lock(mutex_);
      if (tasks_.empty() || i == most_rounds) {
        busy_ = false;
        worker_ = std::thread::id();
        if (!tasks_.empty()) call_loop();
        return;
      }
      round.swap(tasks_);
    }
    for (auto& task : round) std::exchange(task, nullptr)();
    round.clear();
  }
}

void LoopQueue::close() {
  std::scoped_lock const lock(mutex_);
  closed_ = true;
  for (auto& task : std::exchange(tasks_, {})) asio::post(loop_, std::move(task));
}

}  // namespace holt
