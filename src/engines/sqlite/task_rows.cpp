// SPDX-License-Identifier: Apache-2.0
#include "engines/sqlite/task_rows.hpp"

#include "base/check.hpp"
#include "engines/sqlite/packed.hpp"
#include "sqlite_sql.hpp"

#include <algorithm>
#include <chrono>
#include <utility>

namespace holt::sqlite {
namespace {

ClaimRow claim_of(Query const& row) {
  ClaimRow claim;
  claim.owner = row.text(0);
  claim.fence = static_cast<std::uint64_t>(row.integer(1));
  claim.until_ns = row.integer(2);
  claim.forget_ns = row.integer(3);
  claim.claimed_ms = row.integer(4);
  claim.made = row.integer(5);
  claim.answered = row.integer(7) != 0;
  claim.worker = row.text(8);
  claim.answers = row.text(9);
  claim.tasks = split(row.text(10));
  return claim;
}

}  // namespace

std::string join(std::vector<std::string> const& records) {
  std::size_t size = 0;
  for (auto const& record : records) size += record.size() + 4;
  std::string joined;
  joined.reserve(size);
  Packer to(joined);
  for (auto const& record : records) to.text(record);
  return joined;
}

std::vector<std::string> split(std::string_view joined) {
  std::vector<std::string> records;
  for (Unpacker from(joined); !from.done();) records.emplace_back(from.text());
  return records;
}

TaskRows::TaskRows(Connection& store, Env& env, std::string_view instance)
    : store_(store),
      instance_(instance),
      now_ns_(env.now().time_since_epoch().count()),
      wall_us_(std::chrono::duration_cast<std::chrono::microseconds>(env.wall().time_since_epoch())
                   .count()) {}

bool TaskRows::find_queue(std::string_view name) {
  Query row(store_, sql::task_queue_find, instance_, name);
  if (!row.next()) return false;
  queue_ = row.integer(0);
  return true;
}

void TaskRows::use_queue(std::string_view name) {
  if (find_queue(name)) return;
  Query row(store_, sql::task_queue_make, instance_, name);
  HOLT_CHECK(row.next());
  queue_ = row.integer(0);
}

std::vector<Lane> TaskRows::lanes() {
  std::vector<Lane> lanes;
  Query row(store_, sql::task_lanes, queue_);
  while (row.next()) lanes.push_back({row.integer(0), std::string(row.text(1))});
  return lanes;
}

std::int64_t TaskRows::make_lane(std::string_view kind) {
  Query row(store_, sql::task_lane_make, queue_, kind);
  HOLT_CHECK(row.next());
  return row.integer(0);
}

std::uint64_t TaskRows::draw_numbers(std::uint64_t count) {
  Query row(store_, sql::task_draw, instance_, wall_us_, count, 0);
  HOLT_CHECK(row.next());
  return static_cast<std::uint64_t>(row.integer(0)) - count + 1;
}

std::uint64_t TaskRows::draw_fence() {
  Query row(store_, sql::task_draw, instance_, wall_us_, 0, 1);
  HOLT_CHECK(row.next());
  return static_cast<std::uint64_t>(row.integer(1));
}

void TaskRows::raise_counters() {
  constexpr std::int64_t jump = std::int64_t{1} << 32U;
  Query(store_, sql::task_draw, instance_, wall_us_, jump, jump).run();
}

void TaskRows::put_ready(TaskRecord const& task, std::string_view packed) {
  Query(store_, sql::task_ready_put, task.lane, task.priority, task.number, Blob{packed}).run();
}

void TaskRows::put_waiting(TaskRecord const& task, std::int64_t run_at_ms, bool tried) {
  auto const packed = task.pack();
  Query(store_, sql::task_wait_put, task.lane, run_at_ms, task.number, queue_, tried, Blob{packed})
      .run();
}

void TaskRows::put_body(std::uint64_t number, std::string_view payload) {
  Query(store_, sql::task_body_put, queue_, number, Blob{payload}).run();
}

void TaskRows::drop_body(std::uint64_t number) {
  Query(store_, sql::task_body_drop, queue_, number).run();
}

std::string TaskRows::payload_of(TaskRecord& task) {
  if (!task.apart) return std::move(task.payload);
  Query row(store_, sql::task_body_find, queue_, task.number);
  return row.next() ? std::string(row.text(0)) : std::string();
}

std::optional<ClaimRow> TaskRows::claim(std::string_view owner) {
  Query row(store_, sql::task_claim_find, owner, queue_);
  if (!row.next()) return std::nullopt;
  return claim_of(row);
}

std::vector<ClaimRow> TaskRows::claims() {
  std::vector<ClaimRow> claims;
  Query row(store_, sql::task_claim_list, queue_);
  while (row.next()) claims.push_back(claim_of(row));
  return claims;
}

/// One that has nothing left stays only to answer again.
void TaskRows::keep(ClaimRow const& claim) {
  bool const empty = claim.tasks.empty();
  if (empty && (claim.answered || claim.forget_ns <= now_ns_)) {
    Query(store_, sql::task_claim_drop, claim.owner).run();
    return;
  }
  auto const tasks = join(claim.tasks);
  Query(store_, sql::task_claim_change, claim.owner, empty ? claim.forget_ns : claim.until_ns,
        claim.tasks.size(), std::ranges::count_if(claim.tasks, is_to_stop), Blob{tasks})
      .run();
}

std::optional<std::uint64_t> TaskRows::take_key(std::string_view key, std::uint64_t number,
                                                std::optional<std::int64_t> until_ms) {
  {
    Query row(store_, sql::task_unique_find, queue_, key, wall_ms());
    if (row.next()) return static_cast<std::uint64_t>(row.integer(0));
  }
  Query(store_, sql::task_unique_put, queue_, key, number, until_ms).run();
  return std::nullopt;
}

void TaskRows::drop_key(std::string_view key, std::uint64_t number) {
  Query(store_, sql::task_unique_drop, queue_, key, number).run();
}

}  // namespace holt::sqlite
