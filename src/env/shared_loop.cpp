// SPDX-License-Identifier: Apache-2.0
#include "env/shared_loop.hpp"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <chrono>
#include <limits>
#include <utility>

namespace holt {
namespace {
/// So long nobody runs the loop when a caller has left. Longer than a lock is held that is taken
/// often, shorter than anybody minds waiting for what is not a call.
constexpr std::chrono::milliseconds absence{5};

/// Sleepers on one word that are told apart by bits: all that are meant wake up by one call.
/// std::atomic can wake one or all.
void sleep_on(std::atomic<std::uint32_t>& word, std::uint32_t seen, std::uint32_t bit) {
  ::syscall(SYS_futex, &word, FUTEX_WAIT_BITSET_PRIVATE, seen, nullptr, nullptr, bit);
}

void wake_on(std::atomic<std::uint32_t>& word, std::uint32_t bits) {
  ::syscall(SYS_futex, &word, FUTEX_WAKE_BITSET_PRIVATE, std::numeric_limits<int>::max(), nullptr,
            nullptr, bits);
}

}  // namespace

SharedLoop::Guest::Guest(SharedLoop& loop) : host(loop) {
  std::scoped_lock const lock(host.mutex_);
  bit = 1U << (++host.visits_ % 32);
  host.guests_.push_back(this);
  runs = host.runner_ == Runner::nobody && host.alone() == this;
  if (runs) host.runner_ = Runner::guest;
}

SharedLoop::Guest::~Guest() {
  if (done && !runs) return;  // finish() has seen it off
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
  while (!guest.done.load(std::memory_order_acquire)) {
    if (!guest.runs) {
      wait_for_wake(guest);
      continue;
    }
    io_.run_one();
    Lock lock(mutex_);
    wake_finished(lock);
  }
}

void SharedLoop::wait_for_wake(Guest const& guest) {
  auto const seen = wakes_.load();
  if (guest.done || guest.runs) return;
  sleep_on(wakes_, seen, guest.bit);
}

/// At home. Who runs the loop wakes the guest when this turn is over.
void SharedLoop::finish(Guest& guest) {
  std::scoped_lock const lock(mutex_);
  if (!guest.runs) {
    finished_ |= guest.bit;
    std::erase(guests_, &guest);
  }
  guest.done.store(true, std::memory_order_release);
}

void SharedLoop::wake_finished(Lock& lock) {
  auto const bits = std::exchange(finished_, 0);
  if (bits == 0) return;
  lock.unlock();
  wake(bits);
  lock.lock();
}

void SharedLoop::wake(std::uint32_t bits) {
  ++wakes_;
  wake_on(wakes_, bits);
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
    wake_finished(lock);
  }
}

bool SharedLoop::pass_to_guest(Lock& lock) {
  if (alone() == nullptr) return false;
  // What it brought along is done before: the guest has to wake up first.
  lock.unlock();
  io_.poll();
  lock.lock();
  wake_finished(lock);
  auto* const guest = alone();
  if (guest == nullptr || guest->done) return false;
  pass_to(*guest);
  return true;
}

void SharedLoop::pass_to(Guest& guest) {
  runner_ = Runner::guest;
  guest.runs = true;
  wake(guest.bit);
}

}  // namespace holt
