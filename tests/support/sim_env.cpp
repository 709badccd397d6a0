// SPDX-License-Identifier: Apache-2.0
#include "support/sim_env.hpp"

#include "base/check.hpp"

#include <algorithm>
#include <limits>
#include <utility>

namespace holt::sim {
namespace {
constexpr std::int64_t million = 1'000'000;
constexpr Nanos wall_at_start = std::chrono::hours(24 * 365 * 56);
}  // namespace

SimEnv::SimEnv(World& world, NodeId node, Skew skew, std::uint64_t seed, Nanos lateness)
    : world_(world),
      node_(node),
      skew_(skew),
      lateness_(lateness),
      wall_offset_(wall_at_start),
      random_(seed, world.name(node)),
      late_(seed, world.name(node) + " timers") {
  HOLT_CHECK(skew.offset > Nanos{});
}

std::chrono::system_clock::time_point SimEnv::wall() const {
  using Clock = std::chrono::system_clock;
  return Clock::time_point(
      std::chrono::duration_cast<Clock::duration>(wall_offset_ + world_.now()));
}

Instant SimEnv::at(Nanos true_time) const {
  return Instant(skew_.offset + true_time + true_time * skew_.drift_ppm / million);
}

Nanos SimEnv::true_time(Instant shown) const {
  auto const since = shown.time_since_epoch() - skew_.offset;
  // Far away (no deadline): nothing to compute, and nothing to overflow.
  if (since > std::chrono::hours(2)) return Nanos(std::numeric_limits<Nanos::rep>::max() / 2);
  if (since < Nanos{}) return Nanos{};
  auto guess = since - since * skew_.drift_ppm / (million + skew_.drift_ppm);
  while (at(guess) < shown) ++guess;
  while (guess > Nanos{} && at(guess - Nanos(1)) >= shown) --guess;
  return guess;
}

Env::TimerId SimEnv::call_at(Instant when, Task task) {
  auto const id = next_timer_++;
  timers_.emplace(id, std::move(task));
  auto due = std::max(true_time(when), world_.now());
  if (lateness_ > Nanos{}) due += late_.between(Nanos{}, lateness_);
  world_.schedule(node_, due, [this, id] { fire(id); });
  return id;
}

void SimEnv::fire(TimerId timer) {
  auto const found = timers_.find(timer);
  if (found == timers_.end()) return;
  auto task = std::move(found->second);
  timers_.erase(found);
  task();
}

void SimEnv::cancel(TimerId timer) {
  auto const found = timers_.find(timer);
  if (found == timers_.end()) return;
  auto const dropped = std::move(found->second);  // may own anything: destroyed outside the map
  timers_.erase(found);
}

void SimEnv::call_user(Task task) {
  auto const delay = lateness_ > Nanos{} ? late_.between(Nanos{}, lateness_) : Nanos{};
  user_busy_until_ = std::max(user_busy_until_, world_.now() + delay);
  user_calls_->push_back(std::move(task));
  world_.schedule(node_, user_busy_until_, [calls = user_calls_] {
    auto next = std::move(calls->front());
    calls->pop_front();
    next();
  });
}

}  // namespace holt::sim
