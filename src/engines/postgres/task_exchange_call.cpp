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
enum Column {
  fence,
  numbers,
  same_lane,
  same_priority,
  same_max_attempts,
  payloads,
  tasks,
  bodies,
  answers,
  ask_again,
  others_idle,
  lanes,
  kinds,
  at,
  owner
};

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

Kinds kinds_in(Answer const& answer, int row) {
  Kinds found;
  auto const ids = integers_of(answer.text(row, Column::lanes));
  auto const names = elements_of(answer.text(row, Column::kinds));
  for (std::size_t i = 0; i < ids.size(); ++i) found.emplace(ids[i], text_of(names.at(i)));
  return found;
}

Bodies bodies_in(Answer const& answer, int row) {
  Bodies found;
  for (auto const& element : elements_of(answer.text(row, Column::bodies))) {
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

/// Tasks that differ in numbers and payloads only.
void add_alike(Answer const& answer, int row, std::string const& queue, Kinds const& kinds,
               ExchangeResult& result) {
  auto const ids = elements_of(answer.text(row, Column::numbers));
  auto const contents = elements_of(answer.text(row, Column::payloads));
  auto const of_lane = answer.integer(row, Column::same_lane);
  Task task;
  task.kind = kinds.at(of_lane);
  task.priority = static_cast<std::int32_t>(answer.integer(row, Column::same_priority));
  task.attempt = 1;
  task.max_attempts = static_cast<std::uint32_t>(answer.integer(row, Column::same_max_attempts));
  auto& found = result.claimed.tasks;
  found.reserve(ids.size());
  for (std::size_t i = 0; i < ids.size(); ++i) {
    auto& one = found.emplace_back(task);
    one.id = TaskId(queue, static_cast<std::uint64_t>(integer_of(ids[i])));
    one.payload = text_of(contents.at(i));
  }
  result.seen.numbers[{static_cast<std::int32_t>(of_lane), task.priority}] = integer_of(ids.back());
}

void add_different(Answer const& answer, int row, std::string const& queue, Kinds const& kinds,
                   ExchangeResult& result) {
  auto const contents = bodies_in(answer, row);
  auto& found = result.claimed.tasks;
  for (auto const& element : elements_of(answer.text(row, Column::tasks))) {
    auto const fields = columns_of(text_of(element));
    found.push_back(task_of(fields, queue, kinds, contents));
    if (flag_of(fields.at(suspect))) continue;
    auto& mark = result.seen.numbers[{static_cast<std::int32_t>(integer_of(fields.at(lane))),
                                      found.back().priority}];
    mark = std::max(mark, integer_of(fields.at(number)));
  }
  std::ranges::sort(found, {},
                    [](Task const& task) { return std::pair(task.priority, task.id.number()); });
}

/// What is handed in, of all exchanges: claims, and their tasks.
class Finishes {
 public:
  void add(ExchangeCall const& call) {
    TaskFinish const* before = nullptr;
    claims_of_.push_back(0);
    for (auto const at : call.order()) {
      auto const& finish = call.request().finishes[at];
      if (before == nullptr || before->owner != finish.owner || before->fence != finish.fence) {
        owners_.push_back(finish.owner.text());
        fences_.push_back(static_cast<std::int64_t>(finish.fence.value()));
        counts_.push_back(0);
        ++claims_of_.back();
      }
      before = &finish;
      ++counts_.back();
      numbers_.push_back(static_cast<std::int64_t>(finish.task.number()));
      outcomes_.push_back(static_cast<std::int32_t>(finish.outcome));
      delays_.push_back(to_us(finish.delay));
      texts_.push_back(finish.text);
      plain_ = plain_ && finish.outcome == TaskOutcome::completed && finish.text.empty();
    }
  }

  void add_to(Parameters& parameters) const {
    parameters.add(claims_of_).add(owners_).add(fences_).add(counts_).add(numbers_);
    if (plain_) {
      parameters.add_null().add_null().add_null();
    } else {
      parameters.add(outcomes_).add(delays_).add_bytes(texts_);
    }
  }

 private:
  std::vector<std::int32_t> claims_of_;  ///< each exchange
  std::vector<std::string> owners_;
  std::vector<std::int64_t> fences_;
  std::vector<std::int32_t> counts_;
  std::vector<std::int64_t> numbers_;
  std::vector<std::int32_t> outcomes_;
  std::vector<std::int64_t> delays_;
  std::vector<std::string_view> texts_;
  bool plain_ = true;
};

class Marks {
 public:
  void add(TaskMarks const& marks) {
    counts_.push_back(static_cast<std::int32_t>(marks.numbers.size()));
    for (auto const& [place, number] : marks.numbers) {
      lanes_.push_back(place.first);
      priorities_.push_back(place.second);
      numbers_.push_back(number);
    }
  }
  void add_to(Parameters& parameters) const {
    parameters.add(counts_).add(lanes_).add(priorities_).add(numbers_);
  }

 private:
  std::vector<std::int32_t> counts_;
  std::vector<std::int32_t> lanes_;
  std::vector<std::int32_t> priorities_;
  std::vector<std::int64_t> numbers_;
};

/// Texts of which each exchange has some.
class Texts {
 public:
  void add(std::vector<std::string> const& some) {
    counts_.push_back(static_cast<std::int32_t>(some.size()));
    all_.insert(all_.end(), some.begin(), some.end());
  }
  void add(std::vector<Owner> const& some) {
    counts_.push_back(static_cast<std::int32_t>(some.size()));
    for (auto const& owner : some) all_.push_back(owner.text());
  }
  void add_to(Parameters& parameters) const { parameters.add(counts_).add(all_); }

 private:
  std::vector<std::int32_t> counts_;
  std::vector<std::string> all_;
};

/// An entry per exchange, made of it.
template <class Make>
auto each(std::vector<SharedExchange> const& calls, Make make) {
  std::vector<decltype(make(*calls.front()))> made;
  made.reserve(calls.size());
  for (auto const& call : calls) made.push_back(make(*call));
  return made;
}

}  // namespace

ExchangeCall::ExchangeCall(ClaimRequest request, Hearing hearing, TaskMarks marks)
    : request_(std::move(request)),
      hearing_(hearing),
      marks_(std::move(marks)),
      order_(request_.finishes.size()) {
  std::ranges::sort(request_.give_back);
  std::iota(order_.begin(), order_.end(), std::size_t{0});
  std::ranges::sort(order_, {}, [this](std::size_t at) {
    auto const& finish = request_.finishes[at];
    return std::tuple(std::string_view(finish.owner.text()), finish.fence, finish.task.number());
  });
}

Parameters exchange_parameters(std::string const& instance, std::int32_t patience_ms,
                               std::vector<SharedExchange> const& calls) {
  using Call = ExchangeCall;
  Parameters parameters;
  parameters.add(instance).add(patience_ms);
  parameters.add(each(calls, [](Call const& call) { return call.request().queue; }));
  parameters.add(each(calls, [](Call const& call) { return call.request().owner.text(); }));
  parameters.add(
      each(calls, [](Call const& call) { return static_cast<std::int32_t>(call.request().want); }));
  parameters.add(each(calls, [](Call const& call) { return to_us(call.request().ttl); }));
  parameters.add(each(
      calls, [](Call const& call) { return static_cast<std::int64_t>(call.request().max_bytes); }));
  parameters.add(each(calls, [](Call const& call) { return to_us(call.request().idle_for); }));
  parameters.add(each(calls, [](Call const& call) { return call.hearing().hears; }));
  parameters.add(each(calls, [](Call const& call) { return call.hearing().present; }));
  parameters.add(each(calls, [](Call const& call) { return call.request().worker; }));
  parameters.add(each(calls, [](Call const& call) { return call.request().answered.text(); }));
  parameters.add(each(calls, [](Call const& call) { return call.request().next.text(); }));
  parameters.add(each(calls, [](Call const& call) { return call.marks().since_us; }));
  Texts kinds;
  Texts back;
  Finishes finishes;
  Marks marks;
  for (auto const& call : calls) {
    kinds.add(call->request().kinds);
    back.add(call->request().give_back);
    finishes.add(*call);
    marks.add(call->marks());
  }
  kinds.add_to(parameters);
  back.add_to(parameters);
  finishes.add_to(parameters);
  marks.add_to(parameters);
  return parameters;
}

std::vector<std::expected<TaskState, Lost>> ExchangeCall::finishes_in(Answer const& answer,
                                                                      int row) const {
  std::vector<std::expected<TaskState, Lost>> finishes(order_.size(), TaskState::completed);
  auto const states = integers_of(answer.text(row, Column::answers));
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

ExchangeResult ExchangeCall::result_in(Answer const& answer, int row) const {
  ExchangeResult result;
  auto& claimed = result.claimed;
  claimed.fence = Fence(static_cast<std::uint64_t>(answer.integer(row, Column::fence)));
  auto const known = kinds_in(answer, row);
  if (answer.integer(row, Column::same_lane) != 0) {
    add_alike(answer, row, request_.queue, known, result);
  } else {
    add_different(answer, row, request_.queue, known, result);
  }
  result.seen.since_us = answer.integer(row, Column::at);
  claimed.finishes = finishes_in(answer, row);
  claimed.ask_again = microseconds(answer.integer(row, Column::ask_again));
  claimed.others_idle = answer.flag(row, Column::others_idle);
  if (!answer.is_null(row, Column::owner)) claimed.owner = request_.next;
  claimed.hands_over = !request_.next.empty() && hearing_.hears && request_.want > 0;
  return result;
}

}  // namespace holt::postgres
