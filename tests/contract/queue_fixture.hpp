// SPDX-License-Identifier: Apache-2.0
#pragma once
// The fixture of the suites of queues and workers, through the public API: clients of one store,
// and a diary of what handlers did.

#include "contract/engine_test.hpp"

#include <holt/holt.hpp>

#include <algorithm>
#include <condition_variable>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

namespace holt::test {

/// What handlers write down, in order. Any thread.
class Notes {
 public:
  void write(std::string words) {
    std::scoped_lock const lock(mutex_);
    entries_.push_back(std::move(words));
    changed_.notify_all();
  }
  bool has(std::string const& words) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, 30s, [&] { return std::ranges::count(entries_, words) > 0; });
  }
  bool reaches(std::size_t count) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, 60s, [&] { return entries_.size() >= count; });
  }
  std::vector<std::string> all() {
    std::scoped_lock const lock(mutex_);
    return entries_;
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<std::string> entries_;
};

/// A door that handlers wait at, half a minute at the most.
class Door {
 public:
  void open() {
    std::scoped_lock const lock(mutex_);
    open_ = true;
    changed_.notify_all();
  }
  bool pass() {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, 30s, [&] { return open_; });
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool open_ = false;
};

/// Waits until the handler is asked to stop.
inline bool asked_to_stop(Job const& job) {
  return comes_true([&] { return job.stop().stop_requested(); });
}

class QueueTest : public EngineTest {
 protected:
  static constexpr std::string_view mail = "mail";

  Holt open_client() {
    OpenOptions options;
    options.instance = "default";
    options.timeout = 20s;
    return open(store_->url(), std::move(options));
  }
  /// A worker that does "job" by this handler. Retries come at once.
  Worker worker(Holt& holt, Worker::Handler handler, WorkerOptions options = {}) {
    options.queue = mail;
    if (options.retry.delays.empty()) options.retry.delays = at_once;
    auto made = holt.worker(options);
    made.handle("job", std::move(handler));
    return made;
  }
  /// The task when it has ended.
  TaskInfo end_of(TaskId const& id) {
    auto const ended = queue_.wait(id, 30s);
    EXPECT_TRUE(ended) << id.text() << " has not ended";
    return ended ? *ended : TaskInfo{};
  }
  TaskState state(TaskId const& id) {
    auto const found = queue_.find(id);
    EXPECT_TRUE(found) << id.text();
    return found ? found->state : TaskState::pending;
  }
  bool becomes(TaskId const& id, TaskState wanted) {
    return comes_true([&] { return state(id) == wanted; });
  }

  static inline std::vector<std::chrono::milliseconds> const at_once{0ms};
  Holt holt_ = open_client();
  Queue queue_ = holt_.queue(mail);
  Notes notes_;
};

}  // namespace holt::test
