// SPDX-License-Identifier: Apache-2.0
#include "engines/sqlite/gate.hpp"

#include "engines/sqlite/place.hpp"
#include "env/worker_thread.hpp"

#include <sched.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <condition_variable>
#include <mutex>

namespace holt::sqlite {

/// Shared with the waiting thread, which may outlive the gate: nothing can wake it but the lock.
struct Gate::State {
  explicit State(int descriptor) : fd(descriptor) {}
  ~State() { ::close(fd); }
  State(State const&) = delete;
  State& operator=(State const&) = delete;

  int const fd;
  std::mutex mutex;
  std::condition_variable changed;
  bool has_thread = false;
  bool closing = false;
  bool asked = false;   // the thread is to take the lock, or waits for it
  bool wanted = false;  // somebody still waits for it
  bool taken = false;   // the thread has it for the one who waits
};

namespace {

// Longer than any deadline that matters, short enough for the arithmetic of clocks.
constexpr std::chrono::nanoseconds longest_wait = std::chrono::hours(1);

int flock_again(int fd, int how) {
  int result = 0;
  do {
    result = ::flock(fd, how);
  } while (result != 0 && errno == EINTR);
  return result;
}

/// Others hold the gate for some tens of microseconds: less than it takes to wake a thread, so it
/// is tried for a while before. By the clock, not by number: where many want the processor, every
/// yield may take a tenth of a second. False also when the kernel is out of locks: SQLite's own
/// decides.
bool blocked_for_a_while(int fd) {
  using Clock = std::chrono::steady_clock;
  constexpr std::chrono::microseconds a_while{300};
  auto const until = Clock::now() + a_while;
  do {
    if (flock_again(fd, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK) return false;
    ::sched_yield();
  } while (Clock::now() < until);
  return true;
}

template <class State>
void serve(std::shared_ptr<State> const& state) {
  std::unique_lock lock(state->mutex);
  for (;;) {
    state->changed.wait(lock, [&] { return state->closing || (state->asked && !state->taken); });
    if (state->closing) return;
    lock.unlock();
    flock_again(state->fd, LOCK_EX);
    lock.lock();
    if (state->wanted) {
      state->taken = true;
    } else {
      ::flock(state->fd, LOCK_UN);
      state->asked = false;
    }
    state->changed.notify_all();
  }
}

}  // namespace

Gate::Gate(std::string path, std::string const& store)
    : path_(std::move(path)), state_(std::make_shared<State>(open_beside(path_, store))) {}

Gate::~Gate() {
  std::scoped_lock const lock(state_->mutex);
  state_->closing = true;
  state_->wanted = false;
  state_->changed.notify_all();
}

bool Gate::lock(std::chrono::nanoseconds patience) {
  auto& state = *state_;
  std::unique_lock lock(state.mutex);
  if (!state.asked) {
    if (!blocked_for_a_while(state.fd)) return true;
    if (patience <= std::chrono::nanoseconds(0)) return false;
    if (!state.has_thread) {
      WorkerThread::start_unowned("holt-gate", [shared = state_] { serve(shared); });
      state.has_thread = true;
    }
    state.asked = true;
    state.changed.notify_all();
  }
  state.wanted = true;
  bool const taken =
      state.changed.wait_for(lock, std::min(patience, longest_wait), [&] { return state.taken; });
  state.wanted = false;
  if (!taken) return false;
  state.taken = false;
  state.asked = false;
  return true;
}

void Gate::unlock() noexcept { ::flock(state_->fd, LOCK_UN); }

}  // namespace holt::sqlite
