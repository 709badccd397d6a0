// SPDX-License-Identifier: Apache-2.0
#include "env/loop_queue.hpp"

#include <boost/asio/post.hpp>

namespace holt {
namespace {

/// So many rounds are done in a row; then it is the turn of what the loop waits for, or of the
/// caller who only came along.
constexpr int most_rounds = 16;

// Where this thread works just now, and where it is bringing something.
thread_local LoopQueue const* works_at = nullptr;
thread_local LoopQueue const* brings_to = nullptr;

}  // namespace

LoopQueue::Bringing::Bringing(LoopQueue& queue) : queue_(queue) { brings_to = &queue; }

LoopQueue::Bringing::~Bringing() {
  brings_to = nullptr;
  {
    std::scoped_lock const lock(queue_.mutex_);
    if (queue_.busy_ || queue_.tasks_.empty()) return;
    queue_.busy_ = true;
  }
  queue_.work_through();
}

bool LoopQueue::is_here() const noexcept { return works_at == this; }

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
      if (brings_to != this) call_loop();
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
  auto const* const before = std::exchange(works_at, this);
  std::vector<Task> round;
  for (int i = 0;; ++i) {
    {
      std::scoped_lock const lock(mutex_);
      if (tasks_.empty() || i == most_rounds) {
        busy_ = false;
        if (!tasks_.empty()) call_loop();
        break;
      }
      round.swap(tasks_);
    }
    for (auto& task : round) std::exchange(task, nullptr)();
    round.clear();
  }
  works_at = before;
}

void LoopQueue::close() {
  std::scoped_lock const lock(mutex_);
  closed_ = true;
  for (auto& task : std::exchange(tasks_, {})) asio::post(loop_, std::move(task));
}

}  // namespace holt
