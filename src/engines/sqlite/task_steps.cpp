// SPDX-License-Identifier: Apache-2.0
#include "engines/sqlite/task_steps.hpp"

#include "engines/sqlite/task_find.hpp"
#include "engines/sqlite/task_settle.hpp"
#include "engines/sqlite/task_wake.hpp"
#include "sqlite_sql.hpp"

#include <algorithm>
#include <map>
#include <utility>

namespace holt::sqlite {
namespace {

std::unexpected<Lost> lost(LossReason reason) { return std::unexpected(Lost{reason, {}}); }

}  // namespace

void TaskRenewStep::decide(TaskRows& rows) {
  result_.clear();
  for (auto const& renewal : renewals_) result_.push_back(renew(rows, renewal));
}

std::expected<RenewedClaim, Lost> TaskRenewStep::renew(TaskRows& rows,
                                                       ClaimRenewal const& renewal) {
  if (!rows.find_queue(renewal.queue)) return lost(LossReason::taken);
  bool look_closer = !renewal.progress.empty();
  {
    Query row(rows.store(), sql::task_claim_head, renewal.owner.text(), rows.queue());
    bool const mine = row.next() && row.integer(2) > 0 &&
                      row.integer(0) == static_cast<std::int64_t>(renewal.fence.value());
    if (!mine) return lost(LossReason::taken);
    if (row.integer(1) <= rows.now_ns()) return lost(LossReason::expired);
    look_closer = look_closer || row.integer(3) > 0;
  }
  Query(rows.store(), sql::task_claim_renew, renewal.owner.text(),
        rows.now_ns() + renewal.ttl.count())
      .run();
  return look_closer ? look_into(rows, renewal) : RenewedClaim();
}

/// Stores the progress, and tells which tasks are to stop.
RenewedClaim TaskRenewStep::look_into(TaskRows& rows, ClaimRenewal const& renewal) {
  RenewedClaim renewed;
  auto claim = rows.claim(renewal.owner.text());
  if (!claim) return renewed;
  for (auto const& note : renewal.progress) {
    bool const here = note.task.queue() == renewal.queue;
    auto const found = std::ranges::find(claim->tasks, note.task.number(), number_of);
    if (!here || found == claim->tasks.end()) {
      renewed.refused.push_back(note.task);
      continue;
    }
    auto record = TaskRecord::unpack(*found);
    record.progress = note.text;
    *found = record.pack();
  }
  if (!renewal.progress.empty()) rows.keep(*claim);
  for (auto const& task : claim->tasks) {
    if (is_to_stop(task)) renewed.cancelled.emplace_back(renewal.queue, number_of(task));
  }
  return renewed;
}

void TaskCancelStep::decide(TaskRows& rows) {
  result_ = Cancellation::not_found;
  if (!rows.find_queue(id_.queue())) return;
  auto const lanes = rows.lanes();
  if (cancel_waiting(rows, lanes)) {
    result_ = Cancellation::cancelled;
    return;
  }
  TaskFinder finder(rows, lanes);
  if (auto running = finder.running(id_.number())) {
    ask_to_stop(rows, running->claim, running->index);
    result_ = Cancellation::asked;
  } else if (finder.ended(id_.number())) {
    result_ = Cancellation::finished;
  }
}

bool TaskCancelStep::cancel_waiting(TaskRows& rows, std::vector<Lane> const& lanes) {
  TaskFinder finder(rows, lanes);
  TaskSettler settler(rows);
  if (auto task = finder.ready(id_.number())) {
    Query(rows.store(), sql::task_ready_drop, task->lane, task->priority, task->number).run();
    settler.cancel(std::move(*task));
  } else if (auto waiting = finder.waiting(id_.number())) {
    auto& task_later = waiting->task;
    Query(rows.store(), sql::task_wait_drop, task_later.lane, waiting->run_at_ms, task_later.number)
        .run();
    settler.cancel(std::move(task_later));
  } else {
    return false;
  }
  settler.store();
  for (auto const& [inbox, number] : settler.tells()) tell(inbox, topic::task_ended, id_.text());
  return true;
}

void TaskCancelStep::ask_to_stop(TaskRows& rows, ClaimRow& claim, std::size_t index) {
  auto const owner = Owner::parse(claim.owner);
  if (owner) tell(owner->inbox(), topic::task_check, claim.owner);
  if (is_to_stop(claim.tasks[index])) return;
  auto record = TaskRecord::unpack(claim.tasks[index]);
  record.cancel = true;
  claim.tasks[index] = record.pack();
  rows.keep(claim);
}

void TaskWakeStep::decide(TaskRows& rows) {
  if (!rows.find_queue(queue_)) return;
  TaskWaker waker(rows, {});
  std::map<std::string, std::uint64_t> work;
  for (auto const& lane : rows.lanes()) {
    Query row(rows.store(), sql::task_ready_count, lane.id, 1);
    if (row.next() && row.integer(0) > 0) work[lane.kind] = 1;
  }
  std::size_t woken = 0;
  while (woken < count_) {
    auto const inboxes = waker.wake(work);
    if (inboxes.empty()) return;
    for (auto const& inbox : inboxes) tell(inbox, topic::work, queue_);
    woken += inboxes.size();
  }
}

}  // namespace holt::sqlite
