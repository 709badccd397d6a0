// SPDX-License-Identifier: Apache-2.0
#include "sim/task_ledger.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace holt::sim {

TaskLedger::Visit::Visit(TaskLedger& ledger, std::vector<Job*> jobs, bool claims)
    : ledger_(ledger), jobs_(std::move(jobs)), claims_(claims), started_(ledger.world_.now()) {
  for (auto* const job : jobs_) ++job->visits;
  if (claims_) ++ledger_.claims_under_way_;
}

TaskLedger::Visit::~Visit() {
  for (auto* const job : jobs_) --job->visits;
  if (claims_) --ledger_.claims_under_way_;
  if (answered_) return;
  for (auto* const job : jobs_) job->unsure = true;
  if (!claims_) return;
  for (auto& [id, job] : ledger_.jobs_) job.unsure = true;
}

void TaskLedger::Visit::answered() { answered_ = true; }

TaskLedger::Job* TaskLedger::find(TaskId const& id) {
  auto const found = jobs_.find(id);
  return found == jobs_.end() ? nullptr : &found->second;
}

bool TaskLedger::surely_claimed(Job const& job, int own_visits) const {
  if (job.waiting || job.unsure || job.end || job.visits > own_visits) return false;
  auto const batch = batches_.find(job.owner.text());
  // An exchange that came late, when it was forgotten, is another one under its owner's name.
  return batch != batches_.end() && batch->second.fence == job.fence && !batch->second.let_go &&
         world_.now() < batch->second.not_before;
}

bool TaskLedger::surely_waiting(Job const& job, int own_visits) const {
  return job.waiting && !job.unsure && !job.end && job.visits <= own_visits;
}

// Adding. -----------------------------------------------------------------------------------------

std::unique_ptr<TaskLedger::Visit> TaskLedger::adding(AddRequest const& request) {
  for (auto const& task : request.tasks) orders_.emplace(task.payload, task);
  return std::make_unique<Visit>(*this, std::vector<Job*>(), false);
}

/// A claim may be answered before the add that it follows.
TaskLedger::Job& TaskLedger::know(TaskId const& id, std::string const& payload) {
  auto const [place, is_new] = jobs_.try_emplace(id);
  auto& job = place->second;
  if (!is_new) return job;
  job.id = id;
  job.known = world_.now();
  auto const [known, first] = by_payload_.try_emplace(payload, id);
  if (!first) {
    violated(fmt::format("a task is added once: {} and {}", known->second.text(), id.text()));
  }
  if (never_added_.contains(payload)) {
    violated(fmt::format("what was not added is not there: {}", id.text()));
  }
  auto const order = orders_.find(payload);
  if (order == orders_.end()) {
    violated(fmt::format("nobody added {}", id.text()));
    return job;
  }
  job.key = order->second.unique;
  job.scope = order->second.unique_while;
  job.max_attempts = order->second.max_attempts;
  return job;
}

void TaskLedger::never_added(std::string const& payload) {
  never_added_.insert(payload);
  if (by_payload_.contains(payload)) violated("who is told that nothing was added can believe it");
}

void TaskLedger::added(AddRequest const& request, std::vector<Added> const& answer, Nanos started) {
  auto const [known, first] = requests_.try_emplace(request.request, answer);
  for (std::size_t i = 0; i < answer.size(); ++i) {
    auto const& task = request.tasks[i];
    auto const& [id, duplicate] = answer[i];
    if (!first && (known->second[i].id != id || known->second[i].duplicate != duplicate)) {
      violated("asked again, the same answer: " + id.text());
    }
    if (duplicate) {
      auto const* const holder = find(id);
      if (first && (holder == nullptr || holder->key != task.unique)) {
        violated("a duplicate is of a task with its key: " + id.text());
      }
      never_added_.insert(task.payload);
      continue;
    }
    auto& job = know(id, task.payload);
    if (!first) continue;
    if (!job.claimed) job.due = started + task.delay;
    job.key_until = started + task.unique_period;
    if (!job.key.empty()) check_key(job);
  }
}

/// Nobody else can have its key.
void TaskLedger::check_key(Job const& job) {
  for (auto const& [id, other] : jobs_) {
    if (&other == &job || other.key != job.key) continue;
    bool taken = surely_claimed(other, 0) || surely_waiting(other, 0);
    if (other.scope == Unique::period) taken = world_.now() < other.key_until;
    if (other.scope == Unique::waiting) {
      taken = surely_waiting(other, 0) && !other.claimed && claims_under_way_ == 0;
    }
    if (!taken) continue;
    violated(fmt::format("a unique key is of one task: {} and {} have {} ({})", id.text(),
                         job.id.text(), job.key, to_string(other.scope)));
  }
}

// Claiming and handing in. ------------------------------------------------------------------------

std::unique_ptr<TaskLedger::Visit> TaskLedger::claiming(ClaimRequest const& request) {
  std::vector<Job*> named;
  for (auto const& finish : request.finishes) {
    if (auto* const job = find(finish.task)) named.push_back(job);
  }
  for (auto const& owner : request.give_back) batches_[owner.text()].let_go = true;
  if (!request.answered.empty()) batches_[request.answered.text()].forgotten = true;
  return std::make_unique<Visit>(*this, std::move(named), true);
}

void TaskLedger::claimed(ClaimRequest const& request, Claimed const& answer, Nanos started) {
  auto const [place, first] = batches_.try_emplace(request.owner.text());
  auto& batch = place->second;
  bool const known = !first && (batch.not_after > Nanos{} || !batch.finishes.empty());
  if (known) check_repeat(request, answer, batch);
  bool const again = known && (answer.tasks.empty() || answer.fence == batch.fence);
  if (!again) {
    for (std::size_t i = 0; i < answer.finishes.size(); ++i) {
      hand_in(request.finishes[i], answer.finishes[i], started);
    }
    batch.finishes = answer.finishes;
    batch.not_before = batch.not_after = started;
    batch.fence = answer.fence;
  }
  if (answer.tasks.empty()) return;
  if (!again && !fences_.try_emplace(answer.fence, request.owner.text()).second) {
    violated(fmt::format("a fence is of one claim: {}", answer.fence.value()));
  }
  for (auto const& task : answer.tasks) {
    give(know(task.id, task.payload), task, request, answer.fence);
  }
  if (again && started >= batch.not_after) return;  // what has ended does not come back
  batch.not_before = std::max(batch.not_before, started + request.ttl);
  batch.not_after = std::max(batch.not_after, world_.now() + request.ttl);
}

/// As long as its answer is not known to have arrived.
void TaskLedger::check_repeat(ClaimRequest const& request, Claimed const& answer,
                              Batch const& batch) {
  if (batch.forgotten) return;
  bool const same =
      std::ranges::equal(answer.finishes, batch.finishes, [](auto const& one, auto const& other) {
        return one.has_value() == other.has_value() && (!one || *one == *other);
      });
  if (!same) violated("asked again, the same answer: " + request.owner.text());
}

void TaskLedger::give(Job& job, Task const& task, ClaimRequest const& request, Fence fence) {
  auto const what = fmt::format("{} with fence {}", job.id.text(), fence.value());
  if (job.owner == request.owner && job.fence == fence) return;  // told again
  if (job.end) violated("what has ended is not given: " + what);
  if (fence <= job.fence) {
    violated(fmt::format("fences grow: {} after {}", what, job.fence.value()));
  }
  // Whoever handed it in is to be heard before this one.
  if (surely_claimed(job, 1)) violated("nobody else is given what is claimed: " + what);
  // Run times are in milliseconds.
  if (world_.now() + std::chrono::milliseconds(1) <= job.due) {
    violated("nobody is given what is not due: " + what);
  }
  if (task.attempt > task.max_attempts || task.attempt <= job.failures) {
    violated(fmt::format("attempts are counted: {} is at {} of {} after {} failures", what,
                         task.attempt, task.max_attempts, job.failures));
  }
  job.owner = request.owner;
  job.fence = fence;
  job.waiting = job.unsure = false;
  job.claimed = true;
}

void TaskLedger::hand_in(TaskFinish const& finish, std::expected<TaskState, Lost> const& answer,
                         Nanos started) {
  auto* const job = find(finish.task);
  if (job == nullptr) return violated("nobody hands in what was never given");
  bool const current = job->owner == finish.owner && job->fence == finish.fence;
  auto const what = fmt::format("{} with fence {}", job->id.text(), finish.fence.value());
  if (answer && (!current || job->end || (job->waiting && !job->unsure))) {
    violated("only who has the claim hands in: " + what);
  }
  if (!answer && current && surely_claimed(*job, 1)) {
    violated("who has the claim is heard: " + what);
  }
  if (answer && current) accept(*job, finish, *answer, started);
}

void TaskLedger::accept(Job& job, TaskFinish const& finish, TaskState state, Nanos started) {
  using enum TaskState;
  job.accepted.insert(finish.fence);
  job.rejected = job.rejected || finish.outcome == TaskOutcome::rejected;
  bool const done = finish.outcome == TaskOutcome::completed;
  if (done != (state == completed) || (!done && job.cancel_asked && state != cancelled)) {
    violated(fmt::format("what is handed in counts: {} is {}", job.id.text(), to_string(state)));
  }
  if (state == completed || state == dead || state == cancelled) return end(job, state);
  job.waiting = true;
  job.unsure = false;
  if (finish.outcome == TaskOutcome::failed) ++job.failures;
  if (state == retrying) job.due = started + finish.delay;
}

void TaskLedger::end(Job& job, TaskState state) {
  if (job.end && *job.end != state) {
    violated(fmt::format("a task ends once: {} is {} after {}", job.id.text(), to_string(state),
                         to_string(*job.end)));
  }
  job.end = state;
}

void TaskLedger::renewed(ClaimRenewal const& renewal,
                         std::expected<RenewedClaim, Lost> const& answer, Nanos started) {
  auto& batch = batches_[renewal.owner.text()];
  auto const what = fmt::format("fence {}", renewal.fence.value());
  if (answer && (batch.fence != renewal.fence || started >= batch.not_after)) {
    violated("what has ended is not renewed: " + what);
  }
  if (answer) {
    batch.not_before = std::max(batch.not_before, started + renewal.ttl);
    batch.not_after = std::max(batch.not_after, world_.now() + renewal.ttl);
    return;
  }
  bool const there = std::ranges::any_of(jobs_, [&](auto const& job) {
    return job.second.owner == renewal.owner && job.second.fence == renewal.fence &&
           surely_claimed(job.second, 0);
  });
  if (there) violated("what lasts is renewed: " + what);
}

// Cancelling, and what is seen. -------------------------------------------------------------------

std::unique_ptr<TaskLedger::Visit> TaskLedger::cancelling(TaskId const& id) {
  auto* const job = find(id);
  return std::make_unique<Visit>(*this, job ? std::vector<Job*>{job} : std::vector<Job*>(), false);
}

void TaskLedger::cancelled(TaskId const& id, Cancellation answer) {
  auto* const job = find(id);
  if (job == nullptr || answer == Cancellation::not_found) {
    return violated("a task that is there is found: " + id.text());
  }
  bool const claimed = surely_claimed(*job, 1);
  bool const waiting = surely_waiting(*job, 1) && claims_under_way_ == 0;
  auto const told = fmt::format("a cancel is told the truth: {} {}", id.text(), to_string(answer));
  switch (answer) {
    case Cancellation::cancelled:
      if (claimed || job->end) violated(told);
      return end(*job, TaskState::cancelled);
    case Cancellation::asked:
      if (waiting || job->end) violated(told);
      job->cancel_asked = true;
      return;
    default:
      if (claimed || waiting) violated(told);
  }
}

void TaskLedger::seen(TaskInfo const& info) {
  using enum TaskState;
  auto* const job = find(info.id);
  if (job == nullptr || (info.state != completed && info.state != dead && info.state != cancelled))
    return;
  if (!job->end && info.state == completed && !job->unsure) {
    violated("what is completed was handed in: " + info.id.text());
  }
  if (info.state == dead && job->cancel_asked) {
    violated("a cancel ends in cancelled or comes too late: " + info.id.text());
  }
  if (info.state == dead && !job->rejected && info.attempt != info.max_attempts) {
    violated(fmt::format("what is dead had all its attempts: {} had {} of {}", info.id.text(),
                         info.attempt, info.max_attempts));
  }
  end(*job, info.state);
}

void TaskLedger::audit(std::vector<TaskInfo> const& all, Nanos started, bool adding) {
  std::map<TaskId, TaskState> there;
  settled_ = !adding;
  for (auto const& info : all) {
    if (!there.emplace(info.id, info.state).second) {
      violated("a task is in one state: " + info.id.text());
    }
    if (info.attempt > info.max_attempts) violated("attempts are counted: " + info.id.text());
    seen(info);
    using enum TaskState;
    bool const over = info.state == completed || info.state == dead || info.state == cancelled;
    settled_ = settled_ && over;
  }
  for (auto const& [id, job] : jobs_) {
    auto const found = there.find(id);
    if (found == there.end()) {
      if (job.known < started) violated("no task is lost: " + id.text());
      settled_ = false;
    } else if (job.end && *job.end != found->second && job.known < started) {
      violated(fmt::format("a task ends once: {} is {} after {}", id.text(),
                           to_string(found->second), to_string(*job.end)));
    }
  }
  // Answers that were lost in a power cut; all that was added has a payload of its own.
  if (there.size() > orders_.size()) violated("nobody added so many tasks");
}

void TaskLedger::trusted(Job const& job, Owner const& owner, Fence fence, Nanos until) {
  auto const what = fmt::format("{} with fence {}", job.id.text(), fence.value());
  if (job.fence > fence) {
    return violated("held() means that nobody else was given it: " + what);
  }
  auto const batch = batches_.find(owner.text());
  if (batch == batches_.end()) return violated("nobody gave " + what);
  if (batch->second.let_go || batch->second.fence != fence) return;
  if (until <= batch->second.not_before) return;
  violated(fmt::format("trust ends before the claim: {}, {} us too late", what,
                       (until - batch->second.not_before) / std::chrono::microseconds(1)));
}

bool TaskLedger::holds(std::string_view inbox) {
  return std::ranges::any_of(jobs_, [&](auto const& job) {
    return job.second.owner.inbox() == inbox && surely_claimed(job.second, 0);
  });
}

void TaskLedger::power_cut() {
  for (auto& [owner, batch] : batches_) {
    batch.not_before = std::min(batch.not_before, world_.now());
    batch.not_after = std::min(batch.not_after, world_.now());
  }
  for (auto& [id, job] : jobs_) job.unsure = true;
}

}  // namespace holt::sim
