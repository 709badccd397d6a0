// SPDX-License-Identifier: Apache-2.0
#include "engines/redis/task_adds.hpp"

#include "contracts/task_rules.hpp"
#include "engines/redis/errors.hpp"
#include "engines/redis/lease_steps.hpp"
#include "engines/redis/task_record.hpp"
#include "redis_scripts.hpp"

#include <boost/asio/async_result.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace holt::redis {
namespace {

using std::chrono::milliseconds;

// So that a shared call does not keep the server, nor the callers, for long.
constexpr std::size_t callers_per_call = 64;
constexpr std::size_t shared_bytes = std::size_t{256} << 10U;
constexpr std::size_t most_tasks_to_share = 16;
// Who shares a call shares its deadline, which is the first of theirs.
constexpr std::chrono::seconds deadlines_apart{1};

std::int64_t ms_of(std::chrono::system_clock::time_point time) {
  return std::chrono::ceil<milliseconds>(time.time_since_epoch()).count();
}

/// What tasks of one run have in common, beside the kind.
std::string spec_of(NewTask const& task) {
  bool const aside = task.payload.size() > payload_in_record;
  return fmt::format("{} {} {} {} {} {}", task.priority - 1, script_ms(task.delay),
                     ms_of(task.not_before), unique_letter(task), script_ms(task.unique_period),
                     aside ? 1 : 0);
}

/// "first;index=number": consecutive numbers, but for those whose key another task has.
std::vector<Added> added_of(std::string const& queue, std::size_t count, std::string_view answer) {
  if (answer == "!") {
    throw failed(
        ErrorCode::rate_limited, Outcome::not_applied, scripts::task_add.name,
        fmt::format("the queue {} has its {} kinds of tasks", queue, task_limits::kinds_per_queue),
        "put what differs from task to task into the payload, or use another queue");
  }
  auto const end = std::min(answer.find(';'), answer.size());
  auto const first = number_in(answer.substr(0, end));
  std::vector<Added> all(count);
  for (std::size_t i = 0; i < count; ++i) all[i].id = TaskId(queue, first + i);
  for (auto rest = answer.substr(end); !rest.empty();) {
    auto const next = std::min(rest.find(';', 1), rest.size());
    auto const equals = rest.find('=');
    auto const index = number_in(rest.substr(1, equals - 1));
    if (index >= count) not_ours(scripts::task_add.name, queue);
    all[index].id = TaskId(queue, number_in(rest.substr(equals + 1, next - equals - 1)));
    all[index].duplicate = true;
    rest.remove_prefix(next);
  }
  return all;
}

}  // namespace

AddWords::AddWords(AddRequest const& request, std::int64_t wall_ms)
    : request_(request.request), tasks_(request.tasks.size()) {
  words_.reserve(4 + tasks_);
  words_.emplace_back();
  std::size_t runs = 0;
  std::size_t in_run = 0;
  std::size_t count_at = 0;
  std::string spec;
  std::string const* kind = nullptr;
  for (auto const& task : request.tasks) {
    auto own = spec_of(task);
    if (kind == nullptr || *kind != task.kind || spec != own) {
      ++runs;
      kind = &task.kind;
      spec = std::move(own);
      words_.push_back(task.kind);
      words_.push_back(spec);
      count_at = words_.size();
      words_.emplace_back();
      in_run = 0;
    }
    words_[count_at] = std::to_string(++in_run);
    words_.push_back(record_of(task, wall_ms));
    if (!task.unique.empty()) words_.push_back(task.unique);
    if (task.payload.size() > payload_in_record) words_.push_back(task.payload);
    bytes_ += task.payload.size() + task.metadata.size();
  }
  words_[0] = fmt::format("{} {} {}", tasks_, runs, request_.empty() ? 0 : 1);
}

struct TaskAdds::State : std::enable_shared_from_this<State> {
  using Answer = std::expected<std::string, std::exception_ptr>;
  struct Caller {
    AddWords const* words;  ///< stays until `done` was called
    Instant deadline;
    std::move_only_function<void(Answer)> done;
  };

  State(Env& of, QueueCalls& with) : env(of), calls(with) {}

  /// Callers of one queue who share their calls.
  struct Line {
    std::vector<Caller> waiting;
    std::size_t in_flight = 0;  ///< calls
    Instant deadline;           ///< by which those in flight have ended
  };

  void join(std::string const& queue, Caller caller);
  void send_all(std::string const& queue);
  void landed(std::string const& queue);
  asio::awaitable<void> send(std::string queue, std::vector<Caller> callers);
  [[nodiscard]] ScriptCall call_of(std::string const& queue, std::vector<Caller> const& callers,
                                   std::string const& identity) const;

  Env& env;
  QueueCalls& calls;
  std::map<std::string, Line> lines;  ///< by queue, while somebody is in it
};

/// Waits until the end of this turn, or for the answer to the call before: what comes meanwhile
/// goes in one call. Not longer than its own deadline allows.
void TaskAdds::State::join(std::string const& queue, Caller caller) {
  auto& line = lines[queue];
  bool const first = line.waiting.empty();
  bool const waits = line.in_flight > 0 && caller.deadline >= line.deadline;
  line.waiting.push_back(std::move(caller));
  if (waits || (!first && line.in_flight == 0)) return;
  asio::post(env.executor(), [weak = weak_from_this(), queue] {
    if (auto const self = weak.lock()) self->send_all(queue);
  });
}

void TaskAdds::State::landed(std::string const& queue) {
  auto const found = lines.find(queue);
  auto& line = found->second;
  if (--line.in_flight > 0) return;
  if (line.waiting.empty()) {
    lines.erase(found);
  } else {
    send_all(queue);
  }
}

void TaskAdds::State::send_all(std::string const& queue) {
  auto const found = lines.find(queue);
  if (found == lines.end()) return;
  auto& line = found->second;
  auto all = std::exchange(line.waiting, {});
  while (!all.empty()) {
    std::vector<Caller> together;
    std::vector<Caller> others;
    std::size_t bytes = 0;
    for (auto& caller : all) {
      auto const size = caller.words->bytes();
      auto const& first = together.empty() ? caller : together.front();
      bool const fits = together.size() < callers_per_call &&
                        (together.empty() || bytes + size <= shared_bytes) &&
                        std::chrono::abs(caller.deadline - first.deadline) <= deadlines_apart;
      bytes += fits ? size : 0;
      (fits ? together : others).push_back(std::move(caller));
    }
    all = std::move(others);
    auto const until = std::ranges::max_element(together, {}, &Caller::deadline)->deadline;
    line.deadline = line.in_flight++ == 0 ? until : std::max(line.deadline, until);
    asio::co_spawn(env.executor(), send(queue, std::move(together)),
                   [self = shared_from_this(), queue](std::exception_ptr) { self->landed(queue); });
  }
}

ScriptCall TaskAdds::State::call_of(std::string const& queue, std::vector<Caller> const& callers,
                                    std::string const& identity) const {
  std::size_t requests = 0;
  std::size_t words = 5;
  std::size_t tasks = 0;
  for (auto const& caller : callers) {
    requests += caller.words->request().empty() ? 0 : 1;
    words += caller.words->words().size();
    tasks += caller.words->tasks();
  }
  ScriptCall call(scripts::task_add, QueueCalls::keys_of_add + requests, words);
  calls.add_keys(queue, QueueCalls::keys_of_add, call);
  for (auto const& caller : callers) {
    if (caller.words->request().empty()) continue;
    call.add(calls.request_key(queue, caller.words->request()));
  }
  call.add(calls.inbox_channel()).add(queue).add(identity).add(tasks).add(callers.size());
  for (auto const& caller : callers) {
    for (auto const& word : caller.words->words()) call.add(word);
  }
  return call;
}

asio::awaitable<void> TaskAdds::State::send(std::string queue, std::vector<Caller> callers) {
  auto const deadline = std::ranges::min_element(callers, {}, &Caller::deadline)->deadline;
  Reply reply;
  std::exception_ptr error;
  try {
    std::string const identity = co_await calls.identity(queue, scripts::task_add.name, deadline);
    ScriptCall const call = call_of(queue, callers, identity);
    reply = co_await calls.write(queue, call, drawing, deadline);
  } catch (...) {
    error = std::current_exception();
  }
  for (std::size_t i = 0; i < callers.size(); ++i) {
    if (error) {
      callers[i].done(std::unexpected(error));
    } else {
      callers[i].done(std::string((*reply)[i].text()));
    }
  }
  co_return;
}

TaskAdds::TaskAdds(Env& env, QueueCalls& calls) : state_(std::make_shared<State>(env, calls)) {}

asio::awaitable<std::vector<Added>> TaskAdds::add(AddRequest request, Instant deadline) {
  check_add(request);
  AddWords const words(request, ms_of(state_->env.wall()));
  auto initiate = [](auto handler, State* state, std::string const* queue, AddWords const* what,
                     Instant until) {
    State::Caller caller{what, until, std::move(handler)};
    if (what->tasks() <= most_tasks_to_share) {
      state->join(*queue, std::move(caller));
      return;
    }
    std::vector<State::Caller> alone;
    alone.push_back(std::move(caller));
    asio::co_spawn(state->env.executor(), state->send(*queue, std::move(alone)),
                   [self = state->shared_from_this()](std::exception_ptr) {});
  };
  State::Answer const answer =
      co_await asio::async_initiate<asio::use_awaitable_t<> const, void(State::Answer)>(
          initiate, asio::use_awaitable, state_.get(), &request.queue, &words, deadline);
  if (!answer) std::rethrow_exception(answer.error());
  co_return added_of(request.queue, words.tasks(), *answer);
}

}  // namespace holt::redis
