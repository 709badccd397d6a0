// SPDX-License-Identifier: Apache-2.0
#include "env/user_thread.hpp"

#include "env/worker_thread.hpp"

#include <condition_variable>
#include <deque>
#include <mutex>
#include <utility>

namespace holt {

struct UserThread::State {
  std::mutex mutex;
  std::condition_variable changed;
  std::deque<Task> tasks;
  std::size_t serving = 0;  ///< which thread takes tasks; older ones leave when they can
  bool alive = false;       ///< that thread exists
  bool busy = false;        ///< and runs a task
  bool ending = false;
};

namespace {
constexpr std::chrono::seconds idle_time{10};

void run_ignoring_errors(UserThread::Task task) {
  try {
    task();
  } catch (...) {  // the user's error in the user's callback: not ours to judge
    return;
  }
}

template <class State>
void serve(std::shared_ptr<State> const& state, std::size_t self) {
  std::unique_lock lock(state->mutex);
  while (state->serving == self) {
    if (state->tasks.empty()) {
      if (state->ending) break;
      auto const woken = state->changed.wait_for(lock, idle_time);
      if (woken == std::cv_status::timeout && state->tasks.empty()) break;
      continue;
    }
    auto task = std::move(state->tasks.front());
    state->tasks.pop_front();
    state->busy = true;
    lock.unlock();
    run_ignoring_errors(std::move(task));
    task = nullptr;
    lock.lock();
    if (state->serving == self) state->busy = false;
  }
  if (state->serving == self) state->alive = false;
}

}  // namespace

UserThread::UserThread() : state_(std::make_shared<State>()) {}

UserThread::~UserThread() {
  std::scoped_lock const lock(state_->mutex);
  state_->ending = true;
  state_->changed.notify_all();
}

bool UserThread::run(Task task) {
  std::unique_lock lock(state_->mutex);
  state_->tasks.push_back(std::move(task));
  if (state_->alive) {
    state_->changed.notify_all();
    return state_->busy || state_->tasks.size() > 1;
  }
  state_->alive = true;
  state_->busy = false;
  auto const self = ++state_->serving;
  lock.unlock();
  WorkerThread::start_unowned("holt-user", [state = state_, self] { serve(state, self); });
  return false;
}

void UserThread::relieve() {
  std::unique_lock lock(state_->mutex);
  if (state_->tasks.empty() || !state_->busy) return;
  auto const self = ++state_->serving;
  state_->busy = false;
  lock.unlock();
  WorkerThread::start_unowned("holt-user", [state = state_, self] { serve(state, self); });
}

}  // namespace holt
