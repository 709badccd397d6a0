// SPDX-License-Identifier: Apache-2.0
// The worker's exchanges with the store: what goes there, and what comes back.
#include "base/random_text.hpp"
#include "primitives/backoff.hpp"
#include "primitives/task_pace.hpp"
#include "primitives/trust.hpp"
#include "primitives/worker.hpp"

#include <holt/error.hpp>

#include <algorithm>
#include <unordered_set>

namespace holt {
namespace {

constexpr int exchanges_at_once = 2;
/// An end waits so long for others to go with it, unless there is a reason to ask sooner.
constexpr std::chrono::milliseconds wait_for_company{5};
constexpr std::size_t many_ends = 500;
constexpr std::size_t most_bytes = 8UL << 20U;
/// An exchange without an answer is repeated as long as the store surely remembers it.
constexpr Nanos give_up_after = TaskStore::memory / 2;
constexpr std::chrono::milliseconds runners_again{100};
constexpr std::chrono::seconds time_to_take_back{1};

constexpr RetryOptions away{.delay = std::chrono::milliseconds(20),
                            .max_delay = std::chrono::milliseconds(1000)};

}  // namespace

/// What has ended on the bench is to be handed in.
void TaskWorker::collect() {
  auto ends = bench_->take_ended();
  if (!ends.empty() && to_hand_in_.empty()) hand_in_at_ = env_.now() + wait_for_company;
  for (auto& end : ends) {
    auto const claim = claims_.find(end.held->claim().number());
    if (claim != claims_.end() && --claim->second.left == 0) claims_.erase(claim);
    if (end.outcome != TaskOutcome::untouched) crowded_ = false;
    to_hand_in_.push_back(std::move(end));
  }
}

/// None after some went back, until a handler is through: the step that gives them back would only
/// claim them again.
std::uint32_t TaskWorker::ahead() const {
  if (crowded_) return 0;
  return pace::tasks_ahead(bench_->typical(), plan_.concurrency, plan_.ttl, plan_.prefetch);
}

bool TaskWorker::hand_in_due(Instant now) const {
  if (!give_back_.empty()) return true;
  if (to_hand_in_.empty()) return false;
  return stopping_ || now >= hand_in_at_ || to_hand_in_.size() >= many_ends ||
         bench_->load().ready <= ahead() / 2;
}

void TaskWorker::ask(Instant now) {
  while (in_flight_ < exchanges_at_once) {
    bool const hand_in = hand_in_due(now);
    bool const rested = now >= idle_until_ || woken_;
    std::uint32_t want = 0;
    if (!stopping_ && (hand_in || rested)) {
      auto load = bench_->load();
      load.asked = asked_;
      want = pace::to_ask(load, ahead(), bench_->typical().has_value());
    }
    if (want == 0 && !hand_in) return;
    if (want > 0) woken_ = false;
    ++in_flight_;
    asked_ += want;
    nursery_.spawn(exchange(make_exchange(want)));
  }
}

std::shared_ptr<TaskWorker::Exchange> TaskWorker::make_exchange(std::uint32_t want) {
  Owner const owner(tools_.signals.inbox(), random_token([this] { return env_.random(); }));
  auto made = std::make_shared<Exchange>(ClaimRequest(plan_.queue, owner, want, plan_.ttl));
  auto& request = made->request;
  request.kinds = kinds_;
  request.idle_for = plan_.poll;
  request.worker = plan_.worker;
  made->seen = last_fence_;
  if (want > 0) {
    if (next_.empty()) {
      next_ = Owner(tools_.signals.inbox(), random_token([this] { return env_.random(); }));
      before_next_ = last_fence_;
    }
    request.next = next_;
  }
  if (!answered_.empty()) {
    request.answered = std::move(answered_.front());
    answered_.pop_front();
  }
  while (!give_back_.empty() && request.give_back.size() < TaskStore::max_claim) {
    request.give_back.push_back(std::move(give_back_.front()));
    give_back_.pop_front();
  }
  pack_ends(*made);
  return made;
}

/// A task that we had twice, under two claims, is handed in twice, one after the other.
void TaskWorker::pack_ends(Exchange& exchange) {
  std::unordered_set<std::uint64_t> numbers;
  std::size_t bytes = 0;
  while (!to_hand_in_.empty() && exchange.ends.size() < TaskStore::max_claim &&
         bytes < most_bytes) {
    auto& end = to_hand_in_.front();
    auto const& id = end.held->task().id;
    if (!numbers.insert(id.number()).second) break;
    auto const& claim = end.held->claim();
    auto& finish =
        exchange.request.finishes.emplace_back(id, claim.owner(), claim.fence(), end.outcome);
    bytes += end.text.size();
    finish.delay = end.delay;
    finish.text = std::move(end.text);
    exchange.ends.push_back(std::move(end));
    to_hand_in_.pop_front();
  }
  hand_in_at_ = env_.now() + wait_for_company;
}

asio::awaitable<void> TaskWorker::exchange(std::shared_ptr<Exchange> ours) {
  co_await ask_until_answered(ours);
  --in_flight_;
  asked_ -= ours->request.want;
  if (ours->answer) {
    settle(*ours);
  } else {
    abandon(*ours);
  }
  wake_.set();
}

/// The same owner each time: what was done before is not done again, but told. A claim whose answer
/// came too late to be trusted is asked for again too, which gives it a fresh deadline.
asio::awaitable<void> TaskWorker::ask_until_answered(std::shared_ptr<Exchange> ours) {
  auto const give_up = env_.now() + give_up_after;
  auto const patience =
      ours->request.want > 0 ? std::min(plan_.patience, plan_.ttl / 2) : plan_.patience;
  for (std::uint32_t tries = 1;; ++tries) {
    ours->started = env_.now();
    std::string failure = "the answer came too late to be trusted";
    try {
      Claimed answer = co_await tools_.tasks.claim(ours->request, ours->started + patience);
      ours->started = std::min(ours->started, answer.since);
      bool const trusted = env_.now() < trust::deadline(ours->started, plan_.ttl);
      if (trusted || answer.tasks.empty()) ours->answer = std::move(answer);
    } catch (EngineError const& error) {
      failure = error.what();
    }
    auto const now = env_.now();
    if (ours->answer || now >= give_up || (stopping_ && now >= over_at_)) co_return;
    if (tries == 1) report(LogLevel::warn, "error", ours->request.owner, {}, failure);
    co_await pause(backoff::pause(away, tries, env_.random()));
  }
}

asio::awaitable<void> TaskWorker::pause(Nanos pause) {
  auto const ours = pauses_.emplace(pauses_.end(), env_);
  [[maybe_unused]] bool const woken = co_await ours->wait_until(env_.now() + pause);
  pauses_.erase(ours);
}

void TaskWorker::settle(Exchange& done) {
  auto const& answer = *done.answer;
  auto const want = done.request.want;
  answered_.push_back(done.request.owner);
  settle_ends(done);
  if (want > 0) {
    auto const pause = pace::ask_pause(answer.ask_again, env_.random());
    idle_until_ = answer.tasks.size() < want ? env_.now() + pause : Instant();
  }
  bool const others_idle = answer.others_idle;
  hands_over_ = hands_over_ || (answer.hands_over && done.request.next == next_);
  if (!answer.tasks.empty()) take_on(done);
  if (others_idle) give_back_for_others();
}

void TaskWorker::settle_ends(Exchange const& done) {
  for (std::size_t i = 0; i < done.ends.size(); ++i) {
    auto const& end = done.ends[i];
    if (done.answer->finishes.at(i) || end.outcome == TaskOutcome::untouched) continue;
    auto const& claim = end.held->claim();
    auto const& id = end.held->task().id;
    report(LogLevel::warn, "late", claim.owner(), claim.fence(),
           "task " + std::to_string(id.number()) +
               ": its claim had ended, so this end does not count");
    late_({id, claim.fence()});
  }
}

/// Nobody knows what became of it: what it may have claimed goes back, and what it handed in is
/// handed in again.
void TaskWorker::abandon(Exchange& failed) {
  if (failed.request.want > 0) give_back_.push_back(failed.request.owner);
  if (failed.request.want > 0 && failed.request.next == next_) hands_over_ = true;
  for (std::size_t i = failed.ends.size(); i-- > 0;) {
    failed.ends[i].text = std::move(failed.request.finishes[i].text);
    to_hand_in_.push_front(std::move(failed.ends[i]));
  }
}

/// We stop: nothing more is to be handed over to us, and what was goes back. Nobody waits for that:
/// only tasks of this very client are handed over, and if it ends they stay with the store.
void TaskWorker::take_back_next() {
  if (!std::exchange(hands_over_, false)) return;
  nursery_.spawn(take_back(std::exchange(next_, Owner())));
}

asio::awaitable<void> TaskWorker::take_back(Owner next) {
  Owner const owner(tools_.signals.inbox(), random_token([this] { return env_.random(); }));
  ClaimRequest request(plan_.queue, owner, 0, plan_.ttl);
  request.worker = plan_.worker;
  request.give_back.push_back(std::move(next));
  try {
    [[maybe_unused]] Claimed const answer =
        co_await tools_.tasks.claim(request, env_.now() + time_to_take_back);
  } catch (EngineError const& error) {
    // The mark ends by itself, after `poll`.
    report(LogLevel::warn, "error", owner, {}, error.what());
  }
}

/// New tasks are ours: they are laid out, or go back at once if we are about to stop. Two exchanges
/// may both answer what was handed over: it is taken once.
void TaskWorker::take_on(Exchange& done) {
  auto& answer = *done.answer;
  bool const handed = !answer.owner.empty();
  if (handed && answer.owner != next_) return;
  auto const owner = handed ? std::exchange(next_, Owner()) : done.request.owner;
  if (handed) hands_over_ = false;
  if (answer.fence <= (handed ? before_next_ : done.seen)) {
    report(LogLevel::error, "fence_regression", owner, answer.fence,
           "the store gave a fence that is not above the last one");
    give_back_.push_back(owner);
    return;
  }
  last_fence_ = std::max(last_fence_, answer.fence);
  if (stopping_) {
    give_back_.push_back(owner);
    return;
  }
  Claim claim;
  claim.held = std::make_shared<HeldClaim>(next_claim_++, owner, answer.fence);
  claim.held->trust(trust::deadline(done.started, plan_.ttl));
  claim.left = answer.tasks.size();
  claim.renew_at = done.started + trust::renew_every(plan_.ttl);
  claim.give_back_at = done.started + pace::hold_at_most(plan_.ttl);
  claim.tasks.reserve(answer.tasks.size());
  for (auto& task : answer.tasks) {
    claim.tasks.push_back(std::make_shared<HeldTask>(env_, std::move(task), claim.held, wake_));
  }
  auto const& kept = claims_.emplace(claim.held->number(), std::move(claim)).first->second;
  look_at_ = std::min(look_at_, kept.give_back_at);
  start_runners(bench_->lay_out(kept.tasks));
}

void TaskWorker::start_runners(std::uint32_t count) {
  runners_at_ = Instant::max();
  for (std::uint32_t i = 0; i < count; ++i) {
    if (start_runner_()) continue;
    bench_->runners_missing(count - i);
    runners_at_ = env_.now() + runners_again;
    report(LogLevel::warn, "error", {}, {}, "no thread can be started for a handler");
    return;
  }
}

}  // namespace holt
