// SPDX-License-Identifier: Apache-2.0
#include "primitives/rounds.hpp"

#include <algorithm>

namespace holt {
namespace {
/// How soon one that may not be polled is looked at again.
constexpr std::chrono::milliseconds pass_over{50};
}  // namespace

void Rounds::add(std::shared_ptr<Duty> duty) { put(env_.now(), std::move(duty)); }

void Rounds::remove(Duty const& duty) {
  std::scoped_lock const lock(mutex_);
  std::erase_if(due_, [&](auto const& due) { return due.second.get() == &duty; });
}

void Rounds::put(Instant when, std::shared_ptr<Duty> duty) {
  std::scoped_lock const lock(mutex_);
  due_.emplace(when, std::move(duty));
  if (!waiting_.empty()) waiting_.front().set();
}

void Rounds::done(std::shared_ptr<Duty> const& duty, Instant started) {
  duty->work_ends();
  if (!duty->ended()) put(std::max(env_.now(), started + every_), duty);
}

void Rounds::end() {
  std::scoped_lock const lock(mutex_);
  ended_ = true;
  due_.clear();
  for (auto& event : waiting_) event.set();
}

void Rounds::begin() {
  std::scoped_lock const lock(mutex_);
  ended_ = false;
}

bool Rounds::over() {
  std::scoped_lock const lock(mutex_);
  return ended_;
}

/// The work begins before anybody can see the duty idle: it is counted, and then looked at again.
std::optional<PollTurn> Rounds::take(Instant now) {
  std::scoped_lock const lock(mutex_);
  while (!due_.empty() && due_.begin()->first <= now) {
    auto const duty = due_.begin()->second;
    due_.erase(due_.begin());
    if (duty->ended()) continue;
    duty->work_begins();
    if (duty->may_poll()) {
      // Whoever waits beside us sees to the next one.
      if (!waiting_.empty()) waiting_.front().set();
      return PollTurn(duty, now);
    }
    duty->work_ends();
    if (!duty->ended()) due_.emplace(now + pass_over, duty);
  }
  return std::nullopt;
}

Instant Rounds::next_look(Instant give_up) {
  std::scoped_lock const lock(mutex_);
  return due_.empty() ? give_up : std::min(give_up, due_.begin()->first);
}

asio::awaitable<std::optional<PollTurn>> Rounds::next(Instant give_up, std::stop_token stop) {
  Event wake(env_);
  Waiting::iterator place;
  {
    std::scoped_lock const lock(mutex_);
    place = waiting_.insert(waiting_.end(), wake);
  }
  std::stop_callback const on_stop(stop, [wake]() mutable { wake.set(); });
  std::optional<PollTurn> turn;
  while (!turn && !stop.stop_requested() && !over()) {
    auto const now = env_.now();
    turn = take(now);
    if (turn || now >= give_up) break;
    [[maybe_unused]] bool const woken = co_await wake.wait_until(next_look(give_up));
  }
  {
    std::scoped_lock const lock(mutex_);
    waiting_.erase(place);
    // A hint that we got and do not use is for the next.
    if (!waiting_.empty()) waiting_.front().set();
  }
  co_return turn;
}

}  // namespace holt
