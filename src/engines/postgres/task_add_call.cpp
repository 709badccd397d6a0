// SPDX-License-Identifier: Apache-2.0
#include "engines/postgres/task_add_call.hpp"

#include "engines/postgres/binary.hpp"
#include "engines/postgres/errors.hpp"
#include "engines/postgres/span.hpp"

#include <algorithm>
#include <map>
#include <span>
#include <utility>

namespace holt::postgres {
namespace {

/// What migrations/005 keeps outside of the task's row.
constexpr std::size_t large_bytes = 1024;

/// One value of each task.
template <class Value>
class Column {
 public:
  explicit Column(Value usual) : usual_(usual) {}

  void put(Value value) {
    unusual_ = unusual_ || value != usual_;
    values_.push_back(std::move(value));
  }
  [[nodiscard]] bool is_usual() const { return !unusual_; }
  [[nodiscard]] std::vector<Value> const& values() const { return values_; }

 private:
  Value usual_;
  bool unusual_ = false;
  std::vector<Value> values_;
};

template <class Value>
void add(Parameters& parameters, Column<Value> const& column) {
  if (column.is_usual()) {
    parameters.add_null();
  } else {
    parameters.add(column.values());
  }
}

std::int64_t us_since_epoch(std::chrono::system_clock::time_point at) {
  return std::chrono::ceil<std::chrono::microseconds>(at.time_since_epoch()).count();
}

/// The tasks of all calls, value by value.
struct Columns {
  Column<std::int32_t> lane{1};
  std::vector<std::string_view> payload;
  std::vector<std::string_view> metadata;
  Column<std::int32_t> priority{5};
  Column<std::int64_t> delay{0};
  Column<std::int64_t> not_before{0};
  Column<std::int32_t> max_attempts{3};
  Column<std::int64_t> timeout{0};
  Column<std::int64_t> keep{to_us(NewTask::usual_keep)};
  Column<std::string> unique{{}};
  Column<std::int32_t> unique_while{static_cast<std::int32_t>(Unique::unfinished)};
  Column<std::int64_t> period{0};
  Column<std::string> tell{{}};

  void put(NewTask const& task, std::int32_t in_lane) {
    lane.put(in_lane);
    payload.push_back(task.payload);
    metadata.push_back(task.metadata);
    priority.put(task.priority);
    delay.put(to_us(task.delay));
    not_before.put(us_since_epoch(task.not_before));
    max_attempts.put(static_cast<std::int32_t>(task.max_attempts));
    timeout.put(to_us(task.timeout));
    keep.put(to_us(task.keep));
    unique.put(task.unique);
    unique_while.put(static_cast<std::int32_t>(task.unique_while));
    period.put(to_us(task.unique_period));
    tell.put(task.tell);
  }

  void add_to(Parameters& parameters) const {
    add(parameters, lane);
    parameters.add_bytes(payload);
    if (std::ranges::all_of(metadata, &std::string_view::empty)) {
      parameters.add_null();
    } else {
      parameters.add_bytes(metadata);
    }
    add(parameters, priority);
    add(parameters, delay);
    add(parameters, not_before);
    add(parameters, max_attempts);
    add(parameters, timeout);
    add(parameters, keep);
    add(parameters, unique);
    if (unique.is_usual()) {
      parameters.add_null();
    } else {
      parameters.add(unique_while.values());
    }
    add(parameters, period);
    add(parameters, tell);
  }
};

/// The columns that sql/task_add_usual.sql leaves out are as they are in a plain one.
bool is_usual(NewTask const& task) {
  static NewTask const plain("", "");
  return task.payload.size() <= large_bytes && task.metadata.empty() && task.unique.empty() &&
         task.tell.empty() && task.priority == plain.priority && task.delay == plain.delay &&
         task.not_before == plain.not_before && task.max_attempts == plain.max_attempts &&
         task.timeout == plain.timeout && task.keep == plain.keep;
}

/// Different pairs of queue and kind, in their order; each has its place, counted from 1.
using Lanes = std::map<std::pair<std::string_view, std::string_view>, std::int32_t>;

Lanes lanes_of(std::vector<AddRequest> const& requests) {
  Lanes lanes;
  for (auto const& request : requests) {
    for (auto const& task : request.tasks) lanes.try_emplace({request.queue, task.kind}, 0);
  }
  std::int32_t place = 0;
  for (auto& [names, number] : lanes) number = ++place;
  return lanes;
}

}  // namespace

Parameters add_parameters(std::string const& instance, std::int32_t patience_ms,
                          std::vector<AddRequest> const& requests) {
  std::vector<std::string> queues;
  Column<std::string> series{{}};
  std::vector<std::int64_t> asked;
  bool repeated = false;
  std::vector<std::int32_t> counts;
  auto const lanes = lanes_of(requests);
  Columns columns;
  for (auto const& request : requests) {
    queues.push_back(request.queue);
    series.put(request.request.series);
    asked.push_back(static_cast<std::int64_t>(request.request.number));
    repeated = repeated || !request.request.fresh;
    counts.push_back(static_cast<std::int32_t>(request.tasks.size()));
    for (auto const& task : request.tasks) {
      columns.put(task, lanes.find({request.queue, task.kind})->second);
    }
  }
  std::vector<std::string> lane_queues;
  std::vector<std::string> lane_kinds;
  for (auto const& [names, number] : lanes) {
    lane_queues.emplace_back(names.first);
    lane_kinds.emplace_back(names.second);
  }
  Parameters parameters;
  parameters.add(instance).add(patience_ms).add(queues);
  add(parameters, series);
  parameters.add(asked).add(repeated).add(counts).add(lane_queues).add(lane_kinds);
  columns.add_to(parameters);
  parameters.add(std::ranges::any_of(
      columns.payload, [](std::string_view payload) { return payload.size() > large_bytes; }));
  return parameters;
}

bool are_usual(std::vector<AddRequest> const& requests) {
  auto const& first = requests.front();
  auto const& kind = first.tasks.front().kind;
  return std::ranges::all_of(requests, [&](AddRequest const& request) {
    return request.queue == first.queue && request.request.series == first.request.series &&
           (request.request.fresh || request.request.empty()) &&
           std::ranges::all_of(request.tasks, [&](NewTask const& task) {
             return task.kind == kind && is_usual(task);
           });
  });
}

namespace {

/// Callers that came together, each with one task and the next number of their series; or one.
struct Crowd {
  std::span<AddRequest const> callers;

  [[nodiscard]] RequestId const& first() const { return callers.front().request; }
  [[nodiscard]] std::size_t tasks() const {
    return callers.size() > 1 ? callers.size() : callers.front().tasks.size();
  }
  [[nodiscard]] bool takes(AddRequest const& next) const {
    return next.tasks.size() == 1 && callers.front().tasks.size() == 1 &&
           (first().empty() || next.request.number == first().number + callers.size());
  }
};

std::vector<Crowd> crowds_of(std::span<AddRequest const> requests) {
  std::vector<Crowd> crowds;
  while (!requests.empty()) {
    std::size_t count = 1;
    while (count < requests.size() && Crowd{requests.first(count)}.takes(requests[count])) ++count;
    crowds.push_back({requests.first(count)});
    requests = requests.subspan(count);
  }
  return crowds;
}

}  // namespace

Parameters usual_add_parameters(std::string const& instance, std::int32_t patience_ms,
                                std::vector<AddRequest> const& requests, std::string const& own) {
  std::vector<std::int64_t> asked;
  std::vector<std::int32_t> callers;
  std::vector<std::int32_t> firsts;
  std::vector<std::int32_t> counts;
  std::int32_t next = 1;
  for (auto const& crowd : crowds_of(requests)) {
    asked.push_back(static_cast<std::int64_t>(crowd.first().number));
    callers.push_back(static_cast<std::int32_t>(crowd.callers.size()));
    firsts.push_back(next);
    counts.push_back(static_cast<std::int32_t>(crowd.tasks()));
    next += counts.back();
  }
  std::vector<std::string_view> payloads;
  for (auto const& request : requests) {
    for (auto const& task : request.tasks) payloads.emplace_back(task.payload);
  }
  auto const& first = requests.front();
  Parameters parameters;
  parameters.add(instance).add(patience_ms).add(first.queue).add(first.tasks.front().kind);
  if (first.request.empty()) {
    parameters.add_null();
  } else {
    parameters.add(first.request.series);
  }
  parameters.add(asked).add(callers).add(firsts).add(counts).add_bytes(payloads).add(own);
  return parameters;
}

bool wakes_own(Answer const& answer) { return answer.rows() > 0 && answer.flag(0, 4); }

std::optional<Claimed> handed_over(Answer const& answer, AddRequest const& request) {
  if (answer.rows() == 0 || answer.is_null(0, 5)) return std::nullopt;
  auto owner = Owner::parse(answer.text(0, 5));
  if (!owner) return std::nullopt;
  auto const& added = request.tasks.front();
  Task task;
  task.id = TaskId(request.queue, static_cast<std::uint64_t>(answer.integer(0, 0)));
  task.kind = added.kind;
  task.payload = added.payload;
  Claimed claimed;
  claimed.owner = std::move(*owner);
  claimed.fence = Fence(static_cast<std::uint64_t>(answer.integer(0, 6)));
  claimed.tasks.push_back(std::move(task));
  claimed.ask_again = std::chrono::milliseconds(1);
  return claimed;
}

namespace {

/// Of one call.
std::vector<Added> added_in(Answer const& answer, int row, std::string const& queue) {
  auto const first = answer.integer(row, 0);
  auto const count = answer.integer(row, 1);
  auto const numbers = integers_of(answer.text(row, 2));
  auto const duplicates = elements_of(answer.text(row, 3));
  std::vector<Added> added;
  added.reserve(static_cast<std::size_t>(count));
  for (std::int64_t i = 0; i < count; ++i) {
    auto const at = static_cast<std::size_t>(i);
    auto const number = numbers.empty() ? first + i : numbers.at(at);
    added.push_back({TaskId(queue, static_cast<std::uint64_t>(number)),
                     at < duplicates.size() && flag_of(duplicates[at])});
  }
  return added;
}

}  // namespace

std::vector<std::vector<Added>> added_of(Answer const& answer,
                                         std::vector<AddRequest> const& requests) {
  std::vector<std::vector<Added>> results;
  results.reserve(requests.size());
  for (std::size_t i = 0; i < requests.size(); ++i) {
    results.push_back(added_in(answer, static_cast<int>(i), requests[i].queue));
  }
  return results;
}

std::vector<std::vector<Added>> usual_added_of(Answer const& answer,
                                               std::vector<AddRequest> const& requests) {
  std::vector<std::vector<Added>> results;
  results.reserve(requests.size());
  int row = 0;
  for (auto const& crowd : crowds_of(requests)) {
    auto added = added_in(answer, row++, requests.front().queue);
    if (crowd.callers.size() == 1) {
      results.push_back(std::move(added));
    } else {
      for (auto& one : added) results.push_back({std::move(one)});
    }
  }
  return results;
}

}  // namespace holt::postgres
