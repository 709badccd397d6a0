// SPDX-License-Identifier: Apache-2.0
#include "primitives/watcher.hpp"

#include <holt/error.hpp>

#include <algorithm>
#include <iterator>
#include <utility>

namespace holt {
namespace {

constexpr std::uint32_t page_size = 1000;
constexpr std::chrono::seconds without_hints{1};
constexpr std::chrono::milliseconds shortest_rest{20};
constexpr std::chrono::milliseconds rest_while_away{500};
constexpr int rest_per_look = 5;

}  // namespace

Watcher::Watcher(Env& env, Engine& engine, std::string prefix, Names which)
    : env_(env),
      engine_(engine),
      prefix_(std::move(prefix)),
      which_(which),
      hint_(env),
      stopped_(env),
      changes_(engine.watch([hint = hint_]() mutable { hint.set(); })) {}

asio::awaitable<std::vector<LeaseEvent>> Watcher::next(Instant give_up, Nanos patience,
                                                       std::stop_token stop) {
  if (!std::exchange(looked_, true)) {
    auto present = co_await look(patience);
    co_return present;
  }
  std::stop_callback const on_stop(stop, [this] {
    stopped_.set();
    hint_.set();
  });
  while (!stop.stop_requested() && env_.now() < give_up) {
    auto const until = std::min(give_up, next_look());
    bool const hinted = co_await hint_.wait_until(until);
    if (stop.stop_requested() || (!hinted && until == give_up)) break;
    if (env_.now() < rests_until_) {
      co_await stopped_.wait_until(std::min(give_up, rests_until_));
      if (stop.stop_requested()) break;
    }
    auto events = co_await look_again(patience);
    if (!events.empty()) co_return events;
  }
  co_return std::vector<LeaseEvent>();
}

asio::awaitable<std::vector<LeaseInfo>> Watcher::read(Nanos patience) {
  std::vector<LeaseInfo> leases;
  if (which_ == Names::only_this) {
    auto found = co_await engine_.leases().find(Name(prefix_), env_.now() + patience);
    if (found) leases.push_back(std::move(*found));
    co_return leases;
  }
  std::string cursor;
  do {
    auto page = co_await engine_.leases().list(prefix_, cursor, page_size, env_.now() + patience);
    std::ranges::move(page.leases, std::back_inserter(leases));
    cursor = std::move(page.next);
  } while (!cursor.empty());
  co_return leases;
}

asio::awaitable<std::vector<LeaseEvent>> Watcher::look(Nanos patience) {
  auto const started = env_.now();
  auto leases = co_await read(patience);
  looked_at_ = env_.now();
  rests_until_ =
      looked_at_ + std::max<Nanos>(shortest_rest, rest_per_look * (looked_at_ - started));
  co_return view_.update(std::move(leases), started, looked_at_, env_.wall());
}

/// Answers nothing while the store is away.
asio::awaitable<std::vector<LeaseEvent>> Watcher::look_again(Nanos patience) {
  auto const started = env_.now();
  std::vector<LeaseEvent> events;
  std::optional<EngineError> error;
  try {
    events = co_await look(patience);
  } catch (EngineError const& thrown) {
    error = thrown;
  }
  if (!error) {
    away_since_.reset();
    co_return events;
  }
  if (!away_since_) away_since_ = started;
  if (!error->retryable() || env_.now() - *away_since_ >= longest_absence) throw *error;
  rests_until_ = env_.now() + rest_while_away;
  hint_.set();
  co_return events;
}

Instant Watcher::next_look() const {
  auto const slow = changes_ ? Instant::max() : looked_at_ + without_hints;
  return std::min(slow, view_.next_end().value_or(Instant::max()));
}

}  // namespace holt
