// SPDX-License-Identifier: Apache-2.0
#include "sim/foreman.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace holt::sim {

void Foreman::begins(SimEnv& env, std::shared_ptr<HeldTask> held) {
  auto* const job = ledger_.find(held->task().id);
  if (job == nullptr) return ledger_.violated("nobody gave what a handler has");
  ++job->starts;
  if (job->starts > job->max_attempts + job->returns + 1) {
    ledger_.violated(fmt::format("a task has its attempts, and one: {} was started {} times of {}",
                                 job->id.text(), job->starts, job->max_attempts));
  }
  runs_.push_back({&env, std::move(held), job, {}, {}});
  look_at(runs_.back());
}

void Foreman::ends(SimEnv const& env, HeldTask const& held, TaskOutcome outcome) {
  auto const gone = std::erase_if(runs_, [&](Run const& run) { return run.held.get() == &held; });
  if (gone == 0) return;
  auto* const job = ledger_.find(held.task().id);
  if (outcome == TaskOutcome::again) ++job->returns;
  handed_in_[env.node()].emplace(Handed(held.task().id, held.claim().fence()), false);
}

void Foreman::late(SimEnv const& env, LateFinish const& finish) {
  auto& handed = handed_in_[env.node()];
  auto const found = handed.find({finish.id, finish.fence});
  if (found == handed.end()) return;
  found->second = true;
  if (ledger_.find(finish.id)->accepted.contains(finish.fence)) {
    ledger_.violated("nobody is told that what was taken came too late: " + finish.id.text());
  }
}

void Foreman::leaves(SimEnv const& env) {
  std::erase_if(runs_, [&](Run const& run) { return run.env == &env; });
  handed_in_.erase(env.node());
}

void Foreman::after_event() {
  for (auto& run : runs_) look_at(run);
}

void Foreman::look_at(Run& run) {
  auto const& claim = run.held->claim();
  if (!claim.held(run.env->now())) return check_told(run);
  auto const until = claim.until();
  bool const same = until == run.trusted && run.job->fence == claim.fence();
  if (run.ended) ledger_.violated("what was lost is never held again: " + run.job->id.text());
  if (same) return;
  run.trusted = until;
  ledger_.trusted(*run.job, claim.owner(), claim.fence(), run.env->true_time(until));
}

/// Only time in which its node ran counts.
void Foreman::check_told(Run& run) {
  if (!run.ended) run.ended = world_.now();
  if (run.held->stop().stop_requested()) return;
  auto const node = run.env->node();
  if (world_.state(node) != World::State::running) return;
  auto const since = std::max(*run.ended, world_.running_since(node));
  if (world_.now() - since <= tell_within + options_.faults.lateness * 4) return;
  ledger_.violated(
      fmt::format("who has lost a task is told: {} of {}", run.job->id.text(), world_.name(node)));
}

void Foreman::check_heard(SimEnv const& env) {
  for (auto const& [handed, late] : handed_in_[env.node()]) {
    bool const taken = ledger_.find(handed.first)->accepted.contains(handed.second);
    if (taken || late) continue;
    ledger_.violated("who hands in is heard, or told: " + handed.first.text());
  }
}

}  // namespace holt::sim
