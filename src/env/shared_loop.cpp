// SPDX-License-Identifier: Apache-2.0
#include "env/shared_loop.hpp"

#include <chrono>
#include <utility>

namespace holt {
namespace {
/// So long nobody runs the loop when a caller has left. Longer than a lock is held that is taken
/// often, shorter than anybody minds waiting for what is not a call.
constexpr std::chrono::milliseconds absence{5};
}  // namespace

SharedLoop::Guest::Guest(SharedLoop& loop) : host(loop) {
  std::scoped_lock const lock(host.mutex_);
  ++host.visits_;
  host.guests_.push_back(this);
  runs = host.runner_ == Runner::nobody && host.alone() == this;
  if (runs) host.runner_ = Runner::guest;
}

SharedLoop::Guest::~Guest() {
  std::scoped_lock const lock(host.mutex_);
  std::erase(host.guests_, this);
  if (!runs) return;
  host.runner_ = Runner::nobody;
  if (auto* const next = host.alone()) {
    host.pass_to(*next);
  } else if (!host.guests_.empty() || *host.attentions_ > 0) {
    host.want();
  } else if (host.asleep_) {
    host.thread_wake_.notify_one();
  }
}

SharedLoop::SharedLoop() : work_(io_.get_executor()) {
  thread_.emplace("holt-io", [this] {
    Lock lock(mutex_);
    look_after(lock);
  });
}

SharedLoop::~SharedLoop() {
  {
    std::scoped_lock const lock(mutex_);
    ending_ = true;
    thread_wake_.notify_one();
  }
  io_.stop();
  thread_.reset();
}

void SharedLoop::host(std::move_only_function<void(Task done)> start) {
  Guest guest(*this);
  start([this, &guest] { finish(guest); });
  Lock lock(mutex_);
  while (!guest.done) {
    if (guest.runs) {
      lock.unlock();
      io_.run_one();
      lock.lock();
    } else {
      guest.wake.wait(lock);
    }
  }
}

/// At home. The guest may be gone once the mutex is free.
void SharedLoop::finish(Guest& guest) {
  std::scoped_lock const lock(mutex_);
  guest.done = true;
  guest.wake.notify_one();
}

/// Whoever has it may outlive the loop.
std::shared_ptr<void> SharedLoop::attention() {
  ++*attentions_;
  std::shared_ptr<void> token(attentions_.get(), [count = attentions_](void*) { --*count; });
  std::scoped_lock const lock(mutex_);
  if (runner_ == Runner::nobody) want();
  return token;
}

void SharedLoop::want() {
  wanted_ = true;
  thread_wake_.notify_one();
}

/// The only guest, if nobody else has business here.
SharedLoop::Guest* SharedLoop::alone() const {
  return guests_.size() == 1 && *attentions_ == 0 ? guests_.front() : nullptr;
}

/// The thread's life. While callers come and go it looks now and then whether they still do; who
/// stays long says so when it leaves.
void SharedLoop::look_after(Lock& lock) {
  auto seen = visits_;
  while (!ending_) {
    if (runner_ == Runner::nobody && (wanted_ || visits_ == seen)) {
      run_until_a_guest_can(lock);
    } else if (runner_ == Runner::guest && visits_ == seen) {
      asleep_ = true;
      thread_wake_.wait(lock);
      asleep_ = false;
      seen = visits_ - 1;
    } else {
      seen = visits_;
      thread_wake_.wait_for(lock, absence);
    }
  }
}

void SharedLoop::run_until_a_guest_can(Lock& lock) {
  wanted_ = false;
  runner_ = Runner::thread;
  while (!ending_ && !pass_to_guest(lock)) {
    lock.unlock();
    io_.run_one();
    lock.lock();
  }
}

bool SharedLoop::pass_to_guest(Lock& lock) {
  if (alone() == nullptr) return false;
  // What it brought along is done before: the guest has to wake up first.
  lock.unlock();
  io_.poll();
  lock.lock();
  auto* const guest = alone();
  if (guest == nullptr || guest->done) return false;
  pass_to(*guest);
  return true;
}

void SharedLoop::pass_to(Guest& guest) {
  runner_ = Runner::guest;
  guest.runs = true;
  guest.wake.notify_one();
}

}  // namespace holt
