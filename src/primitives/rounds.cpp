// SPDX-License-Identifier: Apache-2.0
#include "primitives/rounds.hpp"

#include <boost/asio/post.hpp>

#include <algorithm>

namespace holt {
namespace {
/// How soon one that may not be polled is looked at again.
constexpr std::chrono::milliseconds pass_over{50};
}  // namespace

void Rounds::add(std::shared_ptr<Duty> duty) { put(env_.now(), std::move(duty)); }

void Rounds::remove(Duty const& duty) {
  std::erase_if(due_, [&](auto const& due) { return due.second.get() == &duty; });
}

void Rounds::put(Instant when, std::shared_ptr<Duty> duty) {
  due_.emplace(when, std::move(duty));
  if (!waiting_.empty()) waiting_.front().set();
}

void Rounds::done(std::shared_ptr<Duty> const& duty, Instant started) {
  duty->work_ends();
  asio::post(env_.executor(), [self = shared_from_this(), duty, started] {
    if (!self->ended_ && !duty->ended()) {
      self->put(std::max(self->env_.now(), started + self->every_), duty);
    }
  });
}

void Rounds::end() {
  ended_ = true;
  due_.clear();
  for (auto& event : waiting_) event.set();
}

void Rounds::begin() { ended_ = false; }

std::optional<PollTurn> Rounds::take(Instant now) {
  while (!due_.empty() && due_.begin()->first <= now) {
    auto const duty = due_.begin()->second;
    due_.erase(due_.begin());
    if (duty->ended()) continue;
    if (!duty->may_poll()) {
      due_.emplace(now + pass_over, duty);
      continue;
    }
    duty->work_begins();
    return PollTurn(duty, now);
  }
  return std::nullopt;
}

Instant Rounds::next_look(Instant give_up) const {
  return due_.empty() ? give_up : std::min(give_up, due_.begin()->first);
}

asio::awaitable<std::optional<PollTurn>> Rounds::next(Instant give_up, std::stop_token stop) {
  Event wake(env_);
  auto const place = waiting_.insert(waiting_.end(), wake);
  std::stop_callback const on_stop(stop, [wake]() mutable { wake.set(); });
  std::optional<PollTurn> turn;
  while (!turn && !stop.stop_requested() && !ended_) {
    auto const now = env_.now();
    turn = take(now);
    if (turn || now >= give_up) break;
    [[maybe_unused]] bool const woken = co_await wake.wait_until(next_look(give_up));
  }
  waiting_.erase(place);
  // Whoever waits beside us sees to the next one.
  if (!waiting_.empty()) waiting_.front().set();
  co_return turn;
}

}  // namespace holt
