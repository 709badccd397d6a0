// SPDX-License-Identifier: Apache-2.0
#include "engines/postgres/task_exchange_call.hpp"

#include "engines/postgres/binary.hpp"
#include "engines/postgres/span.hpp"

#include <algorithm>
#include <map>
#include <numeric>
#include <tuple>
#include <utility>

namespace holt::postgres {
namespace {

using std::chrono::ceil;
using std::chrono::microseconds;
using std::chrono::milliseconds;

/// Columns of the answer.
enum Column { fence, tasks, bodies, answers, ask_again, others_idle, lanes, kinds, at };

/// Columns of a task's row (migrations/005).
enum Field {
  number = 0,
  lane = 2,
  priority = 4,
  attempt = 5,
  max_attempts = 6,
  suspect = 8,
  timeout = 10,
  metadata = 14,
  payload = 17
};
/// And of a body's.
enum BodyField { body_number = 1, body_payload = 2 };

constexpr int lost = -1;

using Kinds = std::map<std::int64_t, std::string_view>;
using Bodies = std::map<std::int64_t, std::string_view>;

Kinds kinds_in(Answer const& answer) {
  Kinds found;
  auto const ids = integers_of(answer.text(0, Column::lanes));
  auto const names = elements_of(answer.text(0, Column::kinds));
  for (std::size_t i = 0; i < ids.size(); ++i) found.emplace(ids[i], text_of(names.at(i)));
  return found;
}

Bodies bodies_in(Answer const& answer) {
  Bodies found;
  for (auto const& element : elements_of(answer.text(0, Column::bodies))) {
    auto const fields = columns_of(text_of(element));
    found.emplace(integer_of(fields.at(body_number)), text_of(fields.at(body_payload)));
  }
  return found;
}

Task task_of(std::vector<BinaryValue> const& fields, std::string const& queue, Kinds const& kinds,
             Bodies const& bodies) {
  auto const id = integer_of(fields.at(number));
  Task task;
  task.id = TaskId(queue, static_cast<std::uint64_t>(id));
  task.kind = kinds.at(integer_of(fields.at(lane)));
  auto const body = fields.at(payload) ? bodies.end() : bodies.find(id);
  task.payload = body == bodies.end() ? text_of(fields.at(payload)) : body->second;
  task.metadata = text_of(fields.at(metadata));
  task.priority = static_cast<std::int32_t>(integer_of(fields.at(priority)));
  task.attempt = static_cast<std::uint32_t>(integer_of(fields.at(attempt))) + 1;
  task.max_attempts = static_cast<std::uint32_t>(integer_of(fields.at(max_attempts)));
  task.timeout = ceil<milliseconds>(microseconds(integer_of(fields.at(timeout))));
  return task;
}

/// Each once, in their order: who asks for the same kinds is the same to the server.
std::vector<std::string> normal(std::vector<std::string> kinds) {
  std::ranges::sort(kinds);
  auto const rest = std::ranges::unique(kinds);
  kinds.erase(rest.begin(), rest.end());
  return kinds;
}

std::vector<std::string> texts_of(std::vector<Owner> const& owners) {
  std::vector<std::string> texts;
  for (auto const& owner : owners) texts.push_back(owner.text());
  return texts;
}

}  // namespace

ExchangeCall::ExchangeCall(ClaimRequest request)
    : request_(std::move(request)), order_(request_.finishes.size()) {
  request_.kinds = normal(std::move(request_.kinds));
  std::ranges::sort(request_.give_back);
  std::iota(order_.begin(), order_.end(), std::size_t{0});
  std::ranges::sort(order_, {}, [this](std::size_t at) {
    auto const& finish = request_.finishes[at];
    return std::tuple(std::string_view(finish.owner.text()), finish.fence, finish.task.number());
  });
}

void ExchangeCall::add_finishes(Parameters& parameters) const {
  std::vector<std::string> owners;
  std::vector<std::int64_t> fences;
  std::vector<std::int32_t> counts;
  std::vector<std::int64_t> numbers;
  std::vector<std::int32_t> outcomes;
  std::vector<std::int64_t> delays;
  std::vector<std::string_view> texts;
  TaskFinish const* last = nullptr;
  bool plain = true;
  for (auto const at : order_) {
    auto const& finish = request_.finishes[at];
    if (last == nullptr || last->owner != finish.owner || last->fence != finish.fence) {
      owners.push_back(finish.owner.text());
      fences.push_back(static_cast<std::int64_t>(finish.fence.value()));
      counts.push_back(0);
    }
    last = &finish;
    ++counts.back();
    numbers.push_back(static_cast<std::int64_t>(finish.task.number()));
    outcomes.push_back(static_cast<std::int32_t>(finish.outcome));
    delays.push_back(to_us(finish.delay));
    texts.push_back(finish.text);
    plain = plain && finish.outcome == TaskOutcome::completed && finish.text.empty();
  }
  parameters.add(owners).add(fences).add(counts).add(numbers);
  if (plain) {
    parameters.add_null().add_null().add_null();
  } else {
    parameters.add(outcomes).add(delays).add_bytes(texts);
  }
}

Parameters ExchangeCall::parameters(std::string const& instance, std::int32_t patience_ms,
                                    TaskMarks const& marks, Hearing hearing) const {
  Parameters parameters;
  parameters.add(instance).add(patience_ms).add(request_.queue).add(request_.owner.text());
  parameters.add(static_cast<std::int32_t>(request_.want)).add(to_us(request_.ttl));
  parameters.add(request_.kinds).add(static_cast<std::int64_t>(request_.max_bytes));
  parameters.add(to_us(request_.idle_for)).add(hearing.hears).add(hearing.present);
  parameters.add(request_.worker).add(request_.answered.text()).add(texts_of(request_.give_back));
  add_finishes(parameters);
  std::vector<std::int32_t> lanes;
  std::vector<std::int32_t> priorities;
  std::vector<std::int64_t> numbers;
  for (auto const& [place, number] : marks.numbers) {
    lanes.push_back(place.first);
    priorities.push_back(place.second);
    numbers.push_back(number);
  }
  parameters.add(lanes).add(priorities).add(numbers).add(marks.since_us);
  return parameters;
}

std::vector<std::expected<TaskState, Lost>> ExchangeCall::finishes_in(Answer const& answer) const {
  std::vector<std::expected<TaskState, Lost>> finishes(order_.size(), TaskState::completed);
  auto const states = integers_of(answer.text(0, Column::answers));
  for (std::size_t i = 0; i < states.size(); ++i) {
    auto& finish = finishes.at(order_.at(i));
    if (states[i] == lost) {
      finish = std::unexpected(Lost{LossReason::taken, {}});
    } else {
      finish = static_cast<TaskState>(states[i]);
    }
  }
  return finishes;
}

Claimed ExchangeCall::claimed_in(Answer const& answer, TaskMarks& seen) const {
  Claimed claimed;
  claimed.fence = Fence(static_cast<std::uint64_t>(answer.integer(0, Column::fence)));
  auto const kinds = kinds_in(answer);
  auto const bodies = bodies_in(answer);
  for (auto const& element : elements_of(answer.text(0, Column::tasks))) {
    auto const fields = columns_of(text_of(element));
    claimed.tasks.push_back(task_of(fields, request_.queue, kinds, bodies));
    if (flag_of(fields.at(suspect))) continue;
    auto& mark = seen.numbers[{static_cast<std::int32_t>(integer_of(fields.at(lane))),
                               claimed.tasks.back().priority}];
    mark = std::max(mark, integer_of(fields.at(number)));
  }
  seen.since_us = answer.integer(0, Column::at);
  std::ranges::sort(claimed.tasks, {},
                    [](Task const& task) { return std::pair(task.priority, task.id.number()); });
  claimed.finishes = finishes_in(answer);
  claimed.ask_again = microseconds(answer.integer(0, Column::ask_again));
  claimed.others_idle = answer.flag(0, Column::others_idle);
  return claimed;
}

}  // namespace holt::postgres
