// SPDX-License-Identifier: Apache-2.0
#include "cli/bench_callers.hpp"

#include <holt/clock.hpp>
#include <holt/error.hpp>
#include <holt/lease.hpp>
#include <holt/lock.hpp>
#include <holt/name.hpp>
#include <holt/open.hpp>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <exception>
#include <mutex>
#include <stop_token>
#include <string>
#include <string_view>
#include <utility>

namespace holt::cli {
namespace {

/// Then the store is out of order, and asking it on and on would not mend it.
constexpr std::uint64_t most_failures = 100;

}  // namespace

BenchCallers::BenchCallers(Holt holt, BenchPlan plan)
    : holt_(std::move(holt)), plan_(std::move(plan)), running_(plan_.callers) {
  threads_.reserve(plan_.callers);
  try {
    for (std::uint32_t i = 1; i <= plan_.callers; ++i) {
      Name const name(plan_.prefix + (plan_.shared ? "shared" : std::to_string(i)));
      threads_.emplace_back([this, name] { run(name); });
    }
  } catch (...) {
    stop();
    begin_.count_down();
    throw;
  }
  start_ = BootClock::now();
  last_pair_ = start_;
  begin_.count_down();
}

BenchCallers::~BenchCallers() { join(); }

void BenchCallers::join() {
  stop();
  threads_.clear();
}

bool BenchCallers::wait(std::chrono::nanoseconds time, std::stop_token stop) {
  std::unique_lock lock(mutex_);
  return ended_.wait_for(lock, std::move(stop), time, [this] { return running_ == 0; });
}

std::chrono::nanoseconds BenchCallers::took() const {
  std::scoped_lock const lock(mutex_);
  return (running_ == 0 ? last_pair_ : BootClock::now()) - start_;
}

std::uint64_t BenchCallers::failures() const {
  std::scoped_lock const lock(mutex_);
  return failures_;
}

std::string BenchCallers::first_failure() const {
  std::scoped_lock const lock(mutex_);
  return first_failure_;
}

void BenchCallers::run(Name const& name) noexcept {
  begin_.wait();
  auto last_pair = start_;
  while (!stop_.stop_requested() && begun_++ < plan_.pairs) {
    try {
      if (!do_pair(name)) break;
    } catch (std::exception const& error) {  // of the store: EngineError
      fail(error.what());
    }
    last_pair = BootClock::now();
  }
  end(last_pair);
}

bool BenchCallers::do_pair(Name const& name) {
  auto const asked = BootClock::now();
  auto lock = plan_.shared
                  ? holt_.lock(name, {.ttl = plan_.ttl, .wait = wait_forever}, stop_.get_token())
                  : holt_.try_lock(name, {.ttl = plan_.ttl});
  auto const granted = BootClock::now();
  if (!lock) {
    if (lock.error().why == Busy::Why::cancelled) return false;
    fail("somebody else has " + name.text());
    return true;
  }
  acquire_.add(granted - asked);
  if (plan_.shared) note_handover(asked, granted);
  auto const leaving = BootClock::now();
  if (plan_.shared) let_go_ = leaving.time_since_epoch().count();
  auto const released = lock->release();
  if (released) {
    release_.add(BootClock::now() - leaving);
  } else {
    fail("it was lost before it was released: " + std::string(to_string(released.error().reason)));
  }
  return true;
}

/// Called by the holder alone. Who asked when the name was free already was handed nothing over.
void BenchCallers::note_handover(Instant asked, Instant granted) noexcept {
  Instant const let_go{BootClock::duration(let_go_.exchange(0))};
  if (let_go != Instant() && asked <= let_go) handover_.add(granted - let_go);
}

void BenchCallers::fail(std::string_view what) {
  bool too_many = false;
  {
    std::scoped_lock const lock(mutex_);
    if (failures_++ == 0) first_failure_ = what;
    too_many = failures_ >= most_failures;
  }
  if (too_many) stop();
}

void BenchCallers::end(Instant last_pair) noexcept {
  std::scoped_lock const lock(mutex_);
  last_pair_ = std::max(last_pair_, last_pair);
  if (--running_ == 0) ended_.notify_all();
}

}  // namespace holt::cli
