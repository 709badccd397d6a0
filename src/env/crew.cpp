// SPDX-License-Identifier: Apache-2.0
#include "env/crew.hpp"

#include "env/worker_thread.hpp"

#include <chrono>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <system_error>
#include <utility>

namespace holt {

struct Crew::State {
  explicit State(std::size_t limit) : most(limit) {}

  std::size_t const most;
  std::mutex mutex;
  std::condition_variable changed;
  std::deque<Task> tasks;
  std::size_t threads = 0;
  std::size_t idle = 0;
  bool ending = false;
};

namespace {

constexpr std::chrono::seconds idle_time{10};

template <class State>
void serve(std::shared_ptr<State> const& state) {
  std::unique_lock lock(state->mutex);
  while (true) {
    if (state->tasks.empty()) {
      if (state->ending) break;
      ++state->idle;
      auto const woken = state->changed.wait_for(lock, idle_time);
      --state->idle;
      if (woken == std::cv_status::timeout && state->tasks.empty()) break;
      continue;
    }
    auto task = std::move(state->tasks.front());
    state->tasks.pop_front();
    lock.unlock();
    task();
    task = nullptr;
    lock.lock();
  }
  --state->threads;
}

}  // namespace

Crew::Crew(std::size_t most) : state_(std::make_shared<State>(most)) {}

Crew::~Crew() {
  std::scoped_lock const lock(state_->mutex);
  state_->ending = true;
  state_->changed.notify_all();
}

bool Crew::run(Task task) {
  std::scoped_lock const lock(state_->mutex);
  state_->tasks.push_back(std::move(task));
  if (state_->idle >= state_->tasks.size() || state_->threads == state_->most) {
    state_->changed.notify_one();
    return true;
  }
  // Started with the mutex held: who is alone must know whether its task has a thread.
  try {
    WorkerThread::start_unowned("holt-handler", [state = state_] { serve(state); });
    ++state_->threads;
  } catch (std::system_error const&) {
    if (state_->threads > 0) return true;
    state_->tasks.pop_back();
    return false;
  }
  return true;
}

}  // namespace holt
