// SPDX-License-Identifier: Apache-2.0
// What the worker holds: deadlines, timeouts, renewals, and what goes back.
#include "primitives/task_pace.hpp"
#include "primitives/trust.hpp"
#include "primitives/worker.hpp"

#include <holt/error.hpp>

#include <algorithm>

namespace holt {
namespace {
using Stage = HeldTask::Stage;
/// Progress is told no more often than that.
constexpr std::chrono::milliseconds notes_every{100};
}  // namespace

void TaskWorker::look_after(Instant now) {
  look_at_ = std::min(look_at_, bench_->take_next_due());
  if (now < look_at_) return;
  look_at_ = Instant::max();
  for (auto& [number, claim] : claims_) look_at_ = std::min(look_at_, look_at(claim, now));
}

/// Answers when to look again.
Instant TaskWorker::look_at(Claim& claim, Instant now) {
  if (!claim.lost && !claim.held->held(now)) lose(claim, LossReason::expired);
  auto next = claim.lost ? Instant::max() : claim.held->until();
  bool waiting = false;
  bool overdue = false;
  for (auto const& task : claim.tasks) {
    auto const stage = task->stage();
    waiting = waiting || stage == Stage::ready;
    if (stage != Stage::running) continue;
    if (task->due() > now) {
      next = std::min(next, task->due());
    } else {
      overdue = true;
      task->ask_to_stop();
    }
  }
  if (waiting && (overdue || now >= claim.give_back_at)) give_back(claim);
  if (waiting && now < claim.give_back_at) next = std::min(next, claim.give_back_at);
  if (renewable(claim, now) && claim.renew_at > now) next = std::min(next, claim.renew_at);
  return next;
}

/// A handler that is past its timeout and does not return is not waited for: when it alone is left,
/// the claim is left to end.
bool TaskWorker::renewable(Claim const& claim, Instant now) {
  if (claim.lost) return false;
  return std::ranges::any_of(claim.tasks, [&](auto const& task) {
    return task->stage() != Stage::done && task->due() > now;
  });
}

void TaskWorker::give_back(Claim& claim) {
  crowded_ = true;
  bench_->clear_away([&](HeldTask const& task) { return &task.claim() == claim.held.get(); });
  wake_.set();
}

void TaskWorker::give_back_all() {
  bench_->clear_away([](HeldTask const&) { return true; });
  wake_.set();
}

/// What idle handlers of ours are about to start stays here.
void TaskWorker::give_back_for_others() {
  auto const load = bench_->load();
  std::size_t const idle = load.handlers - load.busy;
  auto const spare = load.ready > idle ? load.ready - idle : 0;
  if (!pace::worth_giving_back(spare, bench_->typical(), plan_.concurrency)) return;
  crowded_ = true;
  bench_->clear_away(
      [kept = std::size_t(0), idle](HeldTask const&) mutable { return kept++ >= idle; });
  wake_.set();
}

/// Before anybody else can have its tasks: the local deadline is earlier than the store's. What a
/// runner took just before runs when the rest is cleared away, and nothing is started after that.
void TaskWorker::lose(Claim& claim, LossReason why) {
  claim.lost = true;
  claim.held->lose();
  give_back(claim);
  for (auto const& task : claim.tasks) {
    if (task->stage() == Stage::running) task->ask_to_stop();
  }
  report(LogLevel::warn, "lost", claim.held->owner(), claim.held->fence(), to_string(why));
}

void TaskWorker::lose_all_now() {
  for (auto& [number, claim] : claims_) {
    if (!claim.lost) lose(claim, LossReason::store_gone);
  }
}

void TaskWorker::stop_handlers() {
  if (std::exchange(told_to_stop_, true)) return;
  for (auto const& [number, claim] : claims_) {
    for (auto const& task : claim.tasks) {
      if (task->stage() == Stage::running) task->ask_to_stop();
    }
  }
}

/// When one is due, those that will be soon go with it: many claims cost few calls.
void TaskWorker::start_renewal(Instant now) {
  if (renewing_) return;
  Holds due;
  bool any = false;
  bool notes = false;
  for (auto const& [number, claim] : claims_) {
    if (due.size() == TaskStore::max_renewals) break;
    if (!renewable(claim, now)) continue;
    bool const noted = claim.held->noted();
    bool const tell = noted && now >= next_note_at_;
    if (noted && !tell) look_at_ = std::min(look_at_, next_note_at_);
    any = any || tell || claim.renew_at <= now;
    notes = notes || tell;
    if (tell || claim.renew_at <= now + plan_.ttl / 20) due.push_back(claim.held);
  }
  if (!any) return;
  if (notes) next_note_at_ = now + notes_every;
  renewing_ = true;
  nursery_.spawn(renew(std::move(due)));
}

asio::awaitable<void> TaskWorker::renew(Holds due) {
  auto const started = env_.now();
  auto deadline = started + plan_.ttl / 3;
  std::vector<ClaimRenewal> sent;
  for (auto const& held : due) {
    sent.push_back(renewal_of(*held));
    deadline = std::min(deadline, held->until());
  }
  std::vector<std::expected<RenewedClaim, Lost>> answers;
  std::string failure;
  try {
    answers = co_await tools_.tasks.renew(sent, deadline);
  } catch (EngineError const& error) {
    failure = error.what();
  }
  for (std::size_t i = 0; i < due.size(); ++i) {
    bool const told = failure.empty() && (answers[i] || answers[i].error().reason != LossReason());
    if (told) {
      settle(*due[i], started, answers[i]);
    } else {
      renew_later(*due[i], sent[i]);
    }
  }
  if (!failure.empty()) report(LogLevel::warn, "at_risk", due[0]->owner(), {}, failure);
  renewing_ = false;
  look_at_ = Instant();
  wake_.set();
}

/// With what its handlers have to tell.
ClaimRenewal TaskWorker::renewal_of(HeldClaim& held) {
  ClaimRenewal renewal(plan_.queue, held.owner(), held.fence(), plan_.ttl);
  auto const claim = claims_.find(held.number());
  if (claim == claims_.end() || !held.noted()) return renewal;
  held.notes_taken();
  for (auto const& task : claim->second.tasks) {
    if (auto note = task->take_note()) renewal.progress.emplace_back(task->task().id, *note);
  }
  return renewal;
}

/// What the store said of one claim. A success past the deadline is too late: a handler may have
/// seen held() false already, and it never turns true again.
void TaskWorker::settle(HeldClaim& held, Instant started,
                        std::expected<RenewedClaim, Lost> const& answer) {
  auto const found = claims_.find(held.number());
  if (found == claims_.end() || found->second.lost) return;
  auto& claim = found->second;
  if (!answer || !held.held(env_.now())) {
    lose(claim, answer ? LossReason::expired : answer.error().reason);
    return;
  }
  held.trust(trust::deadline(started, plan_.ttl));
  claim.renew_at = started + trust::renew_every(plan_.ttl);
  for (auto const& id : answer->cancelled) {
    auto const task =
        std::ranges::find(claim.tasks, id, [](auto const& it) { return it->task().id; });
    if (task == claim.tasks.end()) continue;
    bench_->clear_away([&](HeldTask const& other) { return &other == task->get(); });
    if ((*task)->stage() == Stage::running) (*task)->ask_to_stop();
  }
}

/// It could not be told: soon again, with its notes.
void TaskWorker::renew_later(HeldClaim const& held, ClaimRenewal const& sent) {
  auto const found = claims_.find(held.number());
  if (found == claims_.end()) return;
  auto& claim = found->second;
  auto const pause = trust::retry_after(plan_.ttl);
  auto const jitter = Nanos(env_.random() % static_cast<std::uint64_t>(pause.count()));
  claim.renew_at = env_.now() + pause / 2 + jitter;
  for (auto const& note : sent.progress) {
    auto const task =
        std::ranges::find(claim.tasks, note.task, [](auto const& it) { return it->task().id; });
    if (task != claim.tasks.end()) (*task)->put_back(note.text);
  }
}

/// Somebody wants a claim to be looked at.
void TaskWorker::check(std::string const& owner) {
  for (auto& [number, claim] : claims_) {
    if (claim.held->owner().text() != owner) continue;
    claim.renew_at = Instant();
    wake_.set();
  }
}

}  // namespace holt
