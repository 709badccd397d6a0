// SPDX-License-Identifier: Apache-2.0
#include "engines/sqlite/task_exchange.hpp"

#include "engines/sqlite/packed.hpp"
#include "engines/sqlite/task_info.hpp"
#include "sqlite_sql.hpp"

#include <algorithm>
#include <chrono>
#include <map>
#include <utility>

namespace holt::sqlite {
namespace {

using std::chrono::milliseconds;

constexpr Nanos at_once = milliseconds(1);
constexpr Nanos usual_pause = std::chrono::minutes(1);
constexpr std::uint64_t refused = 0xff;  // instead of a state

std::string pack(std::vector<std::expected<TaskState, Lost>> const& finishes) {
  std::string bytes;
  Packer to(bytes);
  for (auto const& one : finishes) to.number(one ? static_cast<std::uint64_t>(*one) : refused);
  return bytes;
}

std::vector<std::expected<TaskState, Lost>> unpack(std::string_view bytes) {
  std::vector<std::expected<TaskState, Lost>> finishes;
  for (Unpacker from(bytes); !from.done();) {
    auto const state = from.number();
    if (state == refused) {
      finishes.emplace_back(std::unexpected(Lost{LossReason::taken, {}}));
    } else {
      finishes.emplace_back(static_cast<TaskState>(state));
    }
  }
  return finishes;
}

std::vector<Lane> only(std::vector<Lane> lanes, std::vector<std::string> const& kinds) {
  if (kinds.empty()) return lanes;
  std::erase_if(
      lanes, [&](Lane const& lane) { return std::ranges::find(kinds, lane.kind) == kinds.end(); });
  return lanes;
}

}  // namespace

void TaskExchangeStep::decide(TaskRows& rows) {
  result_ = {};
  rows.use_queue(request_.queue);
  auto const lanes = rows.lanes();
  lanes_ = only(lanes, request_.kinds);
  if (auto before = rows.claim(request_.owner.text())) {
    lanes_ = lanes;
    answer_again(rows, *before);
    return;
  }
  TaskSettler settler(rows);
  bool const more_over = hand_in(rows, settler);
  auto taken = take_tasks(rows, lanes_, request_);
  settler.store();
  if (!taken.records.empty()) result_.fence = Fence(rows.draw_fence());
  remember(rows, taken.packed);
  give(rows, taken.records);
  TaskWaker waker(rows, request_.owner.inbox());
  idle(rows, waker, taken.more || more_over);
  signal(settler, waker, lanes);
}

/// Nothing is done but that the claim gets a fresh ttl. One that has ended stays so, and its tasks
/// are nobody's to start.
void TaskExchangeStep::answer_again(TaskRows& rows, ClaimRow& claim) {
  result_.finishes = unpack(claim.answers);
  if (claim.until_ns <= rows.now_ns()) claim.tasks.clear();
  if (!claim.tasks.empty()) {
    Query(rows.store(), sql::task_claim_renew, claim.owner, rows.now_ns() + request_.ttl.count())
        .run();
  }
  std::vector<TaskRecord> records;
  records.reserve(claim.tasks.size());
  for (auto const& task : claim.tasks) records.push_back(TaskRecord::unpack(task));
  if (!records.empty()) result_.fence = Fence(claim.fence);
  give(rows, records);
  if (result_.tasks.size() < request_.want) result_.ask_again = ask_again(rows, false);
}

/// True: there is more to be taken back.
bool TaskExchangeStep::hand_in(TaskRows& rows, TaskSettler& settler) {
  TaskHandIn claims(rows, settler);
  result_.finishes.reserve(request_.finishes.size());
  for (auto const& finish : request_.finishes) result_.finishes.push_back(claims.hand_in(finish));
  for (auto const& owner : request_.give_back) claims.give_back(owner);
  claims.store(request_.answered);
  return claims.take_back();
}

void TaskExchangeStep::give(TaskRows& rows, std::vector<TaskRecord>& records) {
  result_.tasks.reserve(records.size());
  for (auto& record : records) {
    result_.tasks.push_back(task_of(rows, record, request_.queue, lanes_));
  }
}

void TaskExchangeStep::remember(TaskRows& rows, std::vector<std::string> const& packed) const {
  auto const forget = rows.now_ns() + Nanos(TaskStore::memory).count();
  auto const until = packed.empty() ? forget : rows.now_ns() + request_.ttl.count();
  auto const answers = pack(result_.finishes);
  auto const tasks = join(packed);
  Query(rows.store(), sql::task_claim_put, request_.owner.text(), rows.queue(),
        result_.fence.value(), until, forget, rows.wall_ms(), packed.size(), request_.worker,
        Blob{answers}, Blob{tasks})
      .run();
}

void TaskExchangeStep::idle(TaskRows& rows, TaskWaker& waker, bool more) {
  result_.others_idle = waker.others_idle(request_.kinds);
  if (request_.want == 0) return;
  bool const is_short = result_.tasks.size() < request_.want;
  if (is_short) result_.ask_again = ask_again(rows, more);
  if (is_short && !more && request_.idle_for > Nanos(0)) {
    waker.mark(request_.kinds, request_.want - result_.tasks.size(),
               rows.now_ns() + request_.idle_for.count());
  } else {
    waker.unmark(request_.kinds);
  }
}

Nanos TaskExchangeStep::ask_again(TaskRows& rows, bool more) const {
  if (more) return at_once;
  auto pause = request_.idle_for > Nanos(0) ? request_.idle_for : usual_pause;
  auto const due = next_due_in_ms(rows, lanes_);
  if (due >= 0) pause = std::min<Nanos>(pause, milliseconds(due));
  Query row(rows.store(), sql::task_claim_next, rows.queue(), request_.owner.text());
  if (row.next()) pause = std::min(pause, Nanos(row.integer(0) - rows.now_ns()));
  return std::max(pause, at_once);
}

/// What came back and was not claimed here is work for others.
void TaskExchangeStep::signal(TaskSettler const& settler, TaskWaker& waker,
                              std::vector<Lane> const& lanes) {
  for (auto const& [inbox, number] : settler.tells()) {
    tell(inbox, topic::task_ended, TaskId(request_.queue, number).text());
  }
  if (settler.came_back().empty() || waker.nobody_idles()) return;
  std::map<std::string, std::uint64_t> work;
  for (auto const& lane : lanes) {
    auto const found = settler.came_back().find(lane.id);
    if (found != settler.came_back().end()) work[lane.kind] = found->second;
  }
  for (auto const& task : result_.tasks) {
    auto const found = work.find(task.kind);
    if (found != work.end() && found->second > 0) --found->second;
  }
  for (auto const& inbox : waker.wake(std::move(work))) tell(inbox, topic::work, request_.queue);
}

}  // namespace holt::sqlite
