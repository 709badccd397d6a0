// SPDX-License-Identifier: Apache-2.0
#include "env/shared_loop.hpp"

#include <boost/asio/post.hpp>

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <limits>
#include <utility>

namespace holt {
namespace {
/// So long nobody runs the loop when a caller has left. Longer than a lock is held that is taken
/// often, shorter than anybody minds waiting for what is not a call.
constexpr std::chrono::milliseconds absence{5};
/// Who is here for longer waits for something else than an answer.
constexpr std::chrono::milliseconds long_wait{1};

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
  hurries =
      *host.attentions_ == 0 && (host.guests_.empty() || host.guests_.back()->waits_long(came));
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
  } else if (auto* const patient = host.first_in_long_wait()) {
    host.pass_to(*patient);
  } else if (!host.guests_.empty() || *host.attentions_ > 0) {
    host.want();
  } else if (host.asleep_) {
    host.thread_wake_.notify_one();
  }
}

bool SharedLoop::Guest::waits_long(Clock::time_point now) const { return now - came > long_wait; }

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
  queue_.close();
}

void SharedLoop::host(std::move_only_function<void(Task done)> start) {
  Guest guest(*this);
  bring(guest, start);
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

void SharedLoop::bring(Guest& guest, std::move_only_function<void(Task done)>& start) {
  auto const begin = [&] { start([this, &guest] { finish(guest); }); };
  if (!guest.hurries) {
    begin();
    return;
  }
  queue_.do_here(begin);
  Lock lock(mutex_);
  // It may have done what others brought as well.
  wake_finished(lock);
  // The thread sleeps at the loop and does not know that there is a guest to pass it to.
  if (runner_ == Runner::thread && alone() == &guest) wake_runner();
}

void SharedLoop::wait_for_wake(Guest const& guest) {
  auto const seen = wakes_.load();
  if (guest.done || guest.runs) return;
  sleep_on(wakes_, seen, guest.bit);
}

/// At home. Who works there wakes the guest when this turn is over; one that runs the loop may be
/// asleep at it.
void SharedLoop::finish(Guest& guest) {
  std::scoped_lock const lock(mutex_);
  bool const sleeps = guest.runs && !io_.get_executor().running_in_this_thread();
  if (!guest.runs) {
    finished_ |= guest.bit;
    std::erase(guests_, &guest);
  }
  guest.done.store(true, std::memory_order_release);
  if (sleeps) wake_runner();
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

void SharedLoop::wake_runner() {
  asio::post(io_, [] {});
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

/// Who came first, if all are here for long: in the midst of calls it would soon be the next one's
/// turn, and then the next one's.
SharedLoop::Guest* SharedLoop::first_in_long_wait() const {
  if (guests_.empty() || *attentions_ > 0) return nullptr;
  if (!guests_.back()->waits_long(Guest::Clock::now())) return nullptr;
  auto const first = std::ranges::find_if(guests_, [](Guest const* one) { return !one->done; });
  return first != guests_.end() ? *first : nullptr;
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
    // Not while others have business here: it is never passed on then.
    bool const look_again = !guests_.empty() && *attentions_ == 0;
    lock.unlock();
    auto const done = look_again ? io_.run_one_for(2 * long_wait) : io_.run_one();
    lock.lock();
    wake_finished(lock);
    auto* const patient = done == 0 ? first_in_long_wait() : nullptr;
    if (patient == nullptr || ending_) continue;
    pass_to(*patient);
    return;
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
