// SPDX-License-Identifier: Apache-2.0
// The worker's loop, and how it comes and goes.
#include "primitives/worker.hpp"

#include "base/check.hpp"
#include "primitives/task_pace.hpp"

#include <algorithm>

namespace holt {
namespace {
/// Handlers that are asked to stop have so long to return.
constexpr std::chrono::seconds last_grace{1};
/// So many ends are worth an exchange of their own.
constexpr std::size_t many_ends = 500;
}  // namespace

TaskWorker::TaskWorker(WorkTools tools, WorkPlan plan, StartRunner start_runner, OnLate late)
    : tools_(tools),
      env_(tools.env),
      plan_(std::move(plan)),
      start_runner_(std::move(start_runner)),
      late_(std::move(late)),
      wake_(env_),
      ended_(env_),
      bench_(std::make_shared<Workbench>(plan_.concurrency, wake_)),
      nursery_(env_, tools_.executor) {
  // Signals may come on a thread of the engine.
  auto& signals = tools_.signals;
  auto const work = [this](Signal const& signal) {
    if (signal.text != plan_.queue) return;
    woken_ = true;
    wake_.set();
  };
  auto const checked = [this](Signal const& signal) {
    nursery_.spawn(handle([this, owner = signal.text] { check(owner); }));
  };
  subscriptions_.push_back(signals.subscribe(std::string(topic::work), work));
  subscriptions_.push_back(signals.subscribe(std::string(topic::task_check), checked));
}

asio::awaitable<void> TaskWorker::handle(std::function<void()> work) {
  work();
  co_return;
}

void TaskWorker::start(std::vector<std::string> kinds) {
  tools_.signals.listen();  // may throw: here, not where begin() has no caller
  kinds_ = std::move(kinds);
  again_ = running_ && stopping_;
  if (!running_) begin();
}

void TaskWorker::begin() {
  running_ = true;
  stopping_ = false;
  told_to_stop_ = false;
  crowded_ = false;
  idle_until_ = look_at_ = Instant();
  nursery_.spawn(run());
}

asio::awaitable<bool> TaskWorker::stop(Nanos patience) {
  again_ = false;
  begin_stop(patience);
  while (running_ && stopping_) {
    [[maybe_unused]] bool const woken = co_await ended_.wait_until(Instant::max());
  }
  co_return complete_;
}

void TaskWorker::begin_stop(Nanos patience) {
  if (!running_) return;
  auto const until = env_.now() + patience;
  stop_handlers_at_ = stopping_ ? std::min(stop_handlers_at_, until) : until;
  over_at_ = stop_handlers_at_ + last_grace;
  stopping_ = true;
  give_back_all();
  for (auto& pause : pauses_) pause.set();
  wake_.set();
}

asio::awaitable<void> TaskWorker::close() {
  for (auto const subscription : subscriptions_) tools_.signals.unsubscribe(subscription);
  bool const closed = co_await nursery_.close(Instant::max());
  HOLT_CHECK(closed);
}

asio::awaitable<void> TaskWorker::run() {
  while (true) {
    auto const now = env_.now();
    collect();
    if (stopping_ && now >= stop_handlers_at_) stop_handlers();
    look_after(now);
    start_renewal(now);
    if (now >= runners_at_) start_runners(bench_->lay_out({}));
    if (stopping_) take_back_next();
    ask(now);
    if (stopping_ && finished(now)) break;
    auto const alarm = next_alarm(now);
    [[maybe_unused]] bool const woken = co_await wake_.wait_until(alarm);
  }
  complete_ = bench_->load().busy == 0 && to_hand_in_.empty() && in_flight_ == 0;
  running_ = false;
  if (std::exchange(again_, false)) begin();
  ended_.set();
}

bool TaskWorker::finished(Instant now) const {
  if (now >= over_at_) return true;
  return bench_->load().busy == 0 && bench_->ended() == 0 && to_hand_in_.empty() &&
         give_back_.empty() && in_flight_ == 0;
}

/// When the loop has to look again, and what wakes it before: nothing that only an answer of the
/// store can help.
Instant TaskWorker::next_alarm(Instant now) {
  bool const can_ask = in_flight_ < 2;
  auto alarm = std::min(look_at_, runners_at_);
  if (stopping_) alarm = std::min(alarm, told_to_stop_ ? over_at_ : stop_handlers_at_);
  if (can_ask && !stopping_ && idle_until_ > now) alarm = std::min(alarm, idle_until_);
  if (can_ask && !to_hand_in_.empty()) alarm = std::min(alarm, hand_in_at_);
  Workbench::Alarm wishes;
  wishes.look_at = look_at_;
  if (can_ask) {
    wishes.few = static_cast<std::ptrdiff_t>(ahead() / 2);
    wishes.many = many_ends;
    wishes.first = to_hand_in_.empty();
  }
  bench_->set_alarm(wishes);
  return alarm;
}

void TaskWorker::report(LogLevel level, std::string_view event, Owner const& owner, Fence fence,
                        std::string_view reason) const {
  tools_.log.report(level, event, Name(plan_.queue), owner, fence, reason);
}

}  // namespace holt
