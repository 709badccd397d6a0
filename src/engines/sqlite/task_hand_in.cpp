// SPDX-License-Identifier: Apache-2.0
#include "engines/sqlite/task_hand_in.hpp"

#include "sqlite_sql.hpp"

#include <algorithm>
#include <utility>

namespace holt::sqlite {
namespace {

// Of one step: it must not keep others waiting.
constexpr std::size_t most_claims = 32;
constexpr std::size_t enough_tasks = 1000;

}  // namespace

/// Null: there is no such claim.
TaskHandIn::OpenClaim* TaskHandIn::open(Owner const& owner) {
  auto const known = claims_.find(owner.text());
  if (known != claims_.end()) return &known->second;
  auto row = rows_.claim(owner.text());
  if (!row) return nullptr;
  auto& claim = claims_[owner.text()];
  claim.row = std::move(*row);
  claim.places.reserve(claim.row.tasks.size());
  for (std::size_t i = 0; i < claim.row.tasks.size(); ++i) {
    claim.places.emplace(number_of(claim.row.tasks[i]), i);
  }
  return &claim;
}

std::expected<TaskState, Lost> TaskHandIn::hand_in(TaskFinish const& finish) {
  std::unexpected const lost(Lost{LossReason::taken, {}});
  auto* const claim = open(finish.owner);
  if (claim == nullptr || claim->row.fence != finish.fence.value()) return lost;
  auto const place = claim->places.extract(finish.task.number());
  if (!place) return lost;
  auto const task = std::exchange(claim->row.tasks[place.mapped()], {});
  ++claim->gone;
  return settler_.hand_in(claim->row, TaskRecord::unpack(task), finish);
}

void TaskHandIn::give_back(Owner const& owner) {
  auto* const claim = open(owner);
  if (claim == nullptr) return;
  for (auto& task : claim->row.tasks) {
    if (task.empty()) continue;
    settler_.untouched(claim->row, TaskRecord::unpack(task));
    task.clear();
    ++claim->gone;
  }
  claim->places.clear();
}

void TaskHandIn::store(OpenClaim& claim) {
  if (claim.gone == 0) return;
  std::erase_if(claim.row.tasks, [](auto const& task) { return task.empty(); });
  rows_.keep(claim.row);
}

void TaskHandIn::store(Owner const& answered) {
  bool forgotten = answered.empty();
  for (auto& [owner, claim] : claims_) {
    bool const last = claim.gone > 0 && claim.gone == claim.row.tasks.size();
    if (owner == answered.text() && last) claim.row.answered = forgotten = true;
    store(claim);
  }
  if (forgotten) return;
  auto const dropped =
      Query(rows_.store(), sql::task_claim_forget, answered.text(), rows_.queue()).run();
  if (dropped > 0) return;
  Query(rows_.store(), sql::task_claim_answered, answered.text(), rows_.queue()).run();
}

bool TaskHandIn::take_back() {
  std::vector<std::string> over;
  {
    Query row(rows_.store(), sql::task_claim_over, rows_.queue(), rows_.now_ns(), most_claims);
    while (row.next()) over.emplace_back(row.text(0));
  }
  std::size_t taken = 0;
  for (auto const& owner : over) {
    if (taken >= enough_tasks) return true;
    auto claim = rows_.claim(owner);
    if (!claim) continue;
    taken += claim->tasks.size();
    for (auto const& task : std::exchange(claim->tasks, {})) {
      settler_.take_back(*claim, TaskRecord::unpack(task));
    }
    rows_.keep(*claim);
  }
  return over.size() == most_claims;
}

}  // namespace holt::sqlite
