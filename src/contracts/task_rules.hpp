// SPDX-License-Identifier: Apache-2.0
#pragma once
// What every engine refuses of tasks before any I/O: each throws InvalidArgument with what would be
// right.

#include "base/queue_name.hpp"
#include "contracts/input_rules.hpp"
#include "contracts/task_store.hpp"

#include <holt/error.hpp>
#include <holt/name.hpp>
#include <holt/task.hpp>

#include <charconv>
#include <cstdint>
#include <limits>
#include <set>
#include <string>
#include <string_view>

namespace holt {

namespace task_rules {

inline constexpr Nanos shortest_ttl = std::chrono::seconds(1);
inline constexpr Nanos longest_ttl = std::chrono::hours(24);
inline constexpr Nanos longest_span = std::chrono::hours(24) * 366 * 10;
inline constexpr std::size_t series_bytes = 48;
inline constexpr std::size_t worker_bytes = 128;

inline void at_most(std::string_view what, std::size_t size, std::size_t most) {
  if (size <= most) return;
  throw InvalidArgument(std::string(what) + " of " + std::to_string(size) +
                        " bytes is too long: use at most " + std::to_string(most));
}

inline void within(std::string_view what, std::uint64_t value, std::uint64_t least,
                   std::uint64_t most) {
  if (value >= least && value <= most) return;
  throw InvalidArgument(std::to_string(value) + " is not possible for " + std::string(what) +
                        ": use " + std::to_string(least) + " to " + std::to_string(most));
}

inline void span(std::string_view what, Nanos value) {
  if (value < Nanos(0)) throw InvalidArgument(std::string(what) + " must not be negative");
  if (value > longest_span) throw InvalidArgument(std::string(what) + " is above ten years");
}

inline void name(std::string_view what, std::string const& text, std::size_t most) {
  if (text.empty()) {
    throw InvalidArgument(std::string(what) + " is empty: use 1 to " + std::to_string(most) +
                          " bytes");
  }
  at_most(what, text.size(), most);
  auto const parsed = Name::parse(text);
  if (!parsed) throw InvalidArgument(std::string(what) + ": " + parsed.error());
  if (parsed->text() == text) return;
  throw InvalidArgument(std::string(what) + " must be in Unicode's normal form NFC");
}

}  // namespace task_rules

inline void check_queue(std::string_view queue) {
  if (!is_queue_name(queue)) throw InvalidArgument(std::string(queue_name_rule));
}

inline void check_kind(std::string const& kind) {
  task_rules::name("a kind", kind, task_limits::kind_bytes);
}

inline void check_task_id(TaskId const& id) {
  check_queue(id.queue());
  if (id.number() == 0) throw InvalidArgument("a task's number is above zero");
}

inline void check_task(NewTask const& task) {
  check_kind(task.kind);
  task_rules::at_most("a payload", task.payload.size(), task_limits::payload_bytes);
  task_rules::at_most("metadata", task.metadata.size(), task_limits::metadata_bytes);
  if (task.priority < task_limits::most_urgent || task.priority > task_limits::least_urgent) {
    throw InvalidArgument("a priority of " + std::to_string(task.priority) +
                          " is not possible: use 1 (most urgent) to 10");
  }
  task_rules::within("max attempts", task.max_attempts, 1, task_limits::attempts);
  task_rules::span("a delay", task.delay);
  task_rules::span("a timeout", task.timeout);
  task_rules::span("a time to keep", task.keep);
  if (task.not_before < std::chrono::system_clock::time_point{}) {
    throw InvalidArgument("a task's time must not lie before 1970");
  }
  if (!task.unique.empty()) {
    task_rules::name("a unique key", task.unique, task_limits::unique_bytes);
  }
  task_rules::span("a unique key's period", task.unique_period);
  bool const period = !task.unique.empty() && task.unique_while == Unique::period;
  if (period != (task.unique_period > Nanos(0))) {
    throw InvalidArgument("a unique key for a period needs the period, and no other has one");
  }
}

inline void check_add(AddRequest const& request) {
  check_queue(request.queue);
  task_rules::within("tasks in one call", request.tasks.size(), 1, TaskStore::max_add);
  task_rules::at_most("a series of requests", request.request.series.size(),
                      task_rules::series_bytes);
  task_rules::within("a request's number", request.request.number, 0,
                     std::numeric_limits<std::int64_t>::max());
  std::size_t bytes = 0;
  for (auto const& task : request.tasks) {
    check_task(task);
    bytes += task.payload.size() + task.metadata.size();
  }
  task_rules::at_most("payloads in one call", bytes, TaskStore::max_add_bytes);
}

inline void check_claim_ttl(Nanos ttl) {
  if (ttl >= task_rules::shortest_ttl && ttl <= task_rules::longest_ttl) return;
  throw InvalidArgument("a claim's ttl lies between 1 s and 24 h");
}

inline void check_finish(TaskFinish const& finish, std::string_view queue) {
  check_task_id(finish.task);
  if (finish.task.queue() != queue) {
    throw InvalidArgument("a task of the queue " + finish.task.queue() +
                          " cannot be handed in to the queue " + std::string(queue));
  }
  if (finish.owner.empty()) throw InvalidArgument("a finished task needs its claim's owner");
  task_rules::span("a delay", finish.delay);
  bool const done = finish.outcome == TaskOutcome::completed;
  task_rules::at_most(done ? "a result" : "an error", finish.text.size(),
                      done ? task_limits::result_bytes : task_limits::error_bytes);
}

inline void check_claim(ClaimRequest const& request) {
  check_queue(request.queue);
  if (request.owner.empty()) throw InvalidArgument("a claim needs an owner");
  check_claim_ttl(request.ttl);
  task_rules::within("tasks in one claim", request.want, 0, TaskStore::max_claim);
  task_rules::within("kinds in one claim", request.kinds.size(), 0, TaskStore::max_kinds);
  for (auto const& kind : request.kinds) check_kind(kind);
  task_rules::span("a time to idle", request.idle_for);
  task_rules::at_most("a worker's name", request.worker.size(), task_rules::worker_bytes);
  task_rules::within("tasks handed in", request.finishes.size(), 0, TaskStore::max_claim);
  task_rules::within("claims given back", request.give_back.size(), 0, TaskStore::max_claim);
  std::set<std::uint64_t> seen;
  for (auto const& finish : request.finishes) {
    check_finish(finish, request.queue);
    if (seen.insert(finish.task.number()).second) continue;
    throw InvalidArgument("the task " + finish.task.text() + " is handed in twice");
  }
}

inline void check_renewals(std::vector<ClaimRenewal> const& renewals) {
  task_rules::within("renewals in one call", renewals.size(), 1, TaskStore::max_renewals);
  for (auto const& renewal : renewals) {
    check_queue(renewal.queue);
    if (renewal.owner.empty()) throw InvalidArgument("a renewal needs the claim's owner");
    check_claim_ttl(renewal.ttl);
    task_rules::within("notes of progress", renewal.progress.size(), 0, TaskStore::max_claim);
    for (auto const& note : renewal.progress) {
      task_rules::at_most("progress", note.text.size(), task_limits::progress_bytes);
    }
  }
}

/// Where a page of a listing starts: behind this number. Cursors are numbers as text.
[[nodiscard]] inline std::uint64_t check_task_page(std::string_view queue, TaskFilter const& filter,
                                                   std::string_view cursor, std::uint32_t limit) {
  check_queue(queue);
  if (!filter.kind.empty()) check_kind(filter.kind);
  check_page_size(limit);
  std::uint64_t after = 0;
  auto const* const begin = cursor.data();
  auto const* const end = begin + cursor.size();
  auto const [rest, error] = std::from_chars(begin, end, after);
  if (cursor.empty() || (error == std::errc() && rest == end)) return after;
  throw InvalidArgument("a cursor of a listing of tasks is what the page before answered as next");
}

}  // namespace holt
