// SPDX-License-Identifier: Apache-2.0
#include "engines/redis/task_adds.hpp"

#include "base/comeback.hpp"
#include "contracts/task_rules.hpp"
#include "engines/redis/errors.hpp"
#include "engines/redis/lease_steps.hpp"
#include "engines/redis/task_record.hpp"
#include "redis_scripts.hpp"

#include <boost/asio/async_result.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/deferred.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace holt::redis {
namespace {

using std::chrono::milliseconds;

constexpr std::size_t shared_bytes = std::size_t{256} << 10U;
constexpr std::size_t most_tasks_to_share = 16;
// Who shares a call shares its deadline, which is the first of theirs.
constexpr std::chrono::seconds deadlines_apart{1};
/// About what such a call takes.
constexpr std::chrono::microseconds comeback_takes{150};
/// To set a timer for each wait would cost a sixth of what the callers and their call do.
constexpr std::chrono::microseconds comeback_look{500};

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

/// Whether two tasks that follow each other are of one run.
bool same_run(NewTask const& a, NewTask const& b) {
  if (packable(a) || packable(b)) return packable(a) && packable(b) && same_pack(a, b);
  return a.kind == b.kind && spec_of(a) == spec_of(b);
}

std::size_t bytes_of(AddRequest const& request) {
  std::size_t bytes = 0;
  for (auto const& task : request.tasks) bytes += task.payload.size() + task.metadata.size();
  return bytes;
}

/// What a series has before its first '.'. Who makes many puts a time there.
std::string_view start_of(RequestId const& id) {
  return std::string_view(id.series).substr(0, id.series.find('.'));
}

/// The rest of it, as its numbers are written behind.
std::string rest_of(RequestId const& id) {
  auto const start = start_of(id).size();
  return start == id.series.size() ? std::string() : id.series.substr(start + 1) + ".";
}

/// Numbers that Lua can count on from: others are in no group with their neighbours.
bool countable(std::uint64_t number) { return number < 1ULL << 52U; }

/// "first;index=number": consecutive numbers, but for those whose key another task has. Of who
/// comes so far behind the first caller.
std::vector<Added> added_of(AddRequest const& request, std::string_view answer,
                            std::size_t behind) {
  auto const& queue = request.queue;
  if (answer == "!") {
    throw failed(
        ErrorCode::rate_limited, Outcome::not_applied, scripts::task_add.name,
        fmt::format("the queue {} has its {} kinds of tasks", queue, task_limits::kinds_per_queue),
        "put what differs from task to task into the payload, or use another queue");
  }
  auto const end = std::min(answer.find(';'), answer.size());
  auto const first = number_in(answer.substr(0, end)) + behind;
  std::vector<Added> all(request.tasks.size());
  for (std::size_t i = 0; i < all.size(); ++i) all[i].id = TaskId(queue, first + i);
  for (auto rest = answer.substr(end); !rest.empty();) {
    auto const next = std::min(rest.find(';', 1), rest.size());
    auto const equals = rest.find('=');
    auto const index = number_in(rest.substr(1, equals - 1));
    if (index >= all.size()) not_ours(scripts::task_add.name, queue);
    all[index].id = TaskId(queue, number_in(rest.substr(equals + 1, next - equals - 1)));
    all[index].duplicate = true;
    rest.remove_prefix(next);
  }
  return all;
}

}  // namespace

void AddWords::add(AddRequest const& request) {
  auto const& tasks = request.tasks;
  auto const& id = request.request;
  tasks_ += tasks.size();
  if (joins_group(request)) {
    group_.push_back(&request);
    return;
  }
  end_group();
  if (!id.empty()) request_starts_.push_back(start_of(id));
  bool const plain = !id.empty() && tasks.size() == 1 && packable(tasks.front());
  if (plain && id.fresh) {
    group_.push_back(&request);
    return;
  }
  groups_.push_back(1);
  if (plain) {
    add_again(request);
    return;
  }
  auto const at = words_.size();
  words_.emplace_back();
  words_.push_back(id.empty() ? std::string() : rest_of(id) + std::to_string(id.number));
  std::size_t runs = 0;
  for (auto rest = Tasks(tasks); !rest.empty(); ++runs) {
    auto const end = std::ranges::find_if_not(
        rest, [&](NewTask const& task) { return same_run(rest.front(), task); });
    auto const run = rest.first(static_cast<std::size_t>(end - rest.begin()));
    packable(run.front()) ? add_pack_run(run) : add_run(run);
    rest = rest.subspan(run.size());
  }
  words_[at] = fmt::format("{} {}", tasks.size(), runs);
}

/// Whether it follows those of the group, with a task like theirs.
bool AddWords::joins_group(AddRequest const& request) const {
  if (group_.empty() || group_.size() == callers_per_call || request.tasks.size() != 1)
    return false;
  auto const& first = *group_.front();
  auto const& task = request.tasks.front();
  return request.request.fresh && countable(request.request.number) &&
         request.request.number == first.request.number + group_.size() &&
         request.request.series == first.request.series && packable(task) &&
         same_pack(first.tasks.front(), task);
}

/// It may have been the first of a group, or one behind that.
void AddWords::add_again(AddRequest const& request) {
  auto const& task = request.tasks.front();
  auto const number = request.request.number;
  auto const before = countable(number) ? std::min<std::uint64_t>(number, callers_per_call - 1) : 0;
  words_.push_back(fmt::format("?{}", before + 1));
  words_.push_back(task.kind);
  words_.push_back(pack_head(task, wall_ms_));
  words_.push_back(rest_of(request.request));
  words_.push_back(task.payload);
  for (std::uint64_t i = 0; i <= before; ++i) words_.push_back(std::to_string(number - i));
}

void AddWords::end_group() {
  if (group_.empty()) return;
  auto const& first = *group_.front();
  auto const& task = first.tasks.front();
  groups_.push_back(group_.size());
  words_.push_back(fmt::format("={}", group_.size()));
  words_.push_back(task.kind);
  words_.push_back(pack_head(task, wall_ms_));
  words_.push_back(rest_of(first.request));
  words_.push_back(std::to_string(first.request.number));
  std::string lengths;
  std::string payloads;
  for (auto const* const each : group_) {
    auto const& payload = each->tasks.front().payload;
    lengths.push_back(static_cast<char>(payload.size()));
    payloads.append(payload);
  }
  words_.push_back(std::move(lengths));
  words_.push_back(std::move(payloads));
  group_.clear();
}

void AddWords::add_pack_run(Tasks run) {
  words_.push_back(run.front().kind);
  words_.push_back(fmt::format("{}=", run.front().priority - 1));
  words_.push_back(std::to_string(run.size()));
  words_.push_back(pack_head(run.front(), wall_ms_));
  while (!run.empty()) {
    auto const pack = run.first(std::min(run.size(), most_in_pack));
    std::string lengths;
    std::string payloads;
    lengths.reserve(pack.size());
    payloads.reserve(pack.size() * (pack.front().payload.size() + 2));
    for (auto const& task : pack) {
      lengths.push_back(static_cast<char>(task.payload.size()));
      payloads.append(task.payload);
    }
    words_.push_back(std::move(lengths));
    words_.push_back(std::move(payloads));
    run = run.subspan(pack.size());
  }
}

void AddWords::add_run(Tasks run) {
  special_ = true;
  words_.push_back(run.front().kind);
  words_.push_back(spec_of(run.front()));
  words_.push_back(std::to_string(run.size()));
  for (auto const& task : run) {
    words_.push_back(record_of(task, wall_ms_));
    if (!task.unique.empty()) words_.push_back(task.unique);
    if (task.payload.size() > payload_in_record) words_.push_back(task.payload);
  }
}

struct TaskAdds::State : std::enable_shared_from_this<State> {
  using Answer = std::expected<std::vector<Added>, std::exception_ptr>;
  struct Caller {
    AddRequest const* request;  ///< stays until `done` was called
    Instant deadline;
    std::move_only_function<void(Answer)> done;
  };

  State(Env& of, QueueCalls& with) : env(of), calls(with) {}

  /// Callers of one queue who share their calls.
  struct Line {
    std::vector<Caller> waiting;
    std::size_t in_flight = 0;  ///< calls
    Instant deadline;           ///< by which those in flight have ended
    Comeback comeback;
    Instant waits_until;  ///< for those who may come back
  };

  void join(std::string const& queue, Caller caller);
  void send_all(std::string const& queue);
  void landed(std::string const& queue, std::size_t callers);
  void look_later();
  void end_late_comebacks();
  void end_comeback(std::string const& queue);
  void start(std::string const& queue, std::vector<Caller> callers, bool in_line);
  asio::awaitable<void> send(std::string queue, std::vector<Caller> callers, bool in_line);
  static void tell(std::span<Caller> group, std::string_view answer);
  [[nodiscard]] ScriptCall call_of(std::string const& queue, AddWords& words,
                                   std::string const& identity) const;

  Env& env;
  QueueCalls& calls;
  std::map<std::string, Line> lines;  ///< by queue, while somebody is in it
  bool looks = false;                 ///< a look for late comebacks is about to come
};

/// Waits until the end of this turn, or for the answer to the call before and those who come back
/// with it: what comes meanwhile goes in one call. Not longer than its own deadline allows.
void TaskAdds::State::join(std::string const& queue, Caller caller) {
  auto& line = lines[queue];
  bool const first = line.waiting.empty();
  bool const comes_back = line.comeback.awaits() && line.in_flight == 0;
  bool const waits = line.in_flight > 0 && caller.deadline >= line.deadline;
  line.waiting.push_back(std::move(caller));
  if (comes_back) {
    bool const over = line.comeback.all(line.waiting.size()) || env.now() >= line.waits_until;
    if (over) end_comeback(queue);
    return;
  }
  if (waits || (!first && line.in_flight == 0)) return;
  asio::post(env.executor(), [weak = weak_from_this(), queue] {
    if (auto const self = weak.lock()) self->send_all(queue);
  });
}

void TaskAdds::State::landed(std::string const& queue, std::size_t callers) {
  auto const found = lines.find(queue);
  auto& line = found->second;
  if (--line.in_flight > 0) return;
  if (line.comeback.begin(callers, line.waiting.size())) {
    line.waits_until = env.now() + comeback_takes;
    look_later();
  } else if (line.waiting.empty()) {
    lines.erase(found);
  } else {
    send_all(queue);
  }
}

/// Waits mostly end when all have come back. For those that do not, there is a look now and then.
void TaskAdds::State::look_later() {
  if (std::exchange(looks, true)) return;
  env.call_at(env.now() + comeback_look, [weak = weak_from_this()] {
    if (auto const self = weak.lock()) self->end_late_comebacks();
  });
}

void TaskAdds::State::end_late_comebacks() {
  looks = false;
  auto const now = env.now();
  std::vector<std::string> late;
  for (auto const& [queue, line] : lines) {
    if (!line.comeback.awaits()) continue;
    if (now >= line.waits_until) {
      late.push_back(queue);
    } else {
      look_later();
    }
  }
  for (auto const& queue : late) end_comeback(queue);
}

void TaskAdds::State::end_comeback(std::string const& queue) {
  auto const found = lines.find(queue);
  auto& line = found->second;
  line.comeback.end(line.waiting.size());
  if (line.waiting.empty() && line.in_flight == 0) {
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
      auto const size = bytes_of(*caller.request);
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
    start(queue, std::move(together), true);
  }
}

ScriptCall TaskAdds::State::call_of(std::string const& queue, AddWords& words,
                                    std::string const& identity) const {
  auto const& all_words = words.words();
  ScriptCall call(scripts::task_add, QueueCalls::keys_of_add + words.request_starts().size(),
                  6 + all_words.size());
  calls.add_keys(queue, QueueCalls::keys_of_add, call);
  for (auto const start : words.request_starts()) call.add(calls.requests_key(queue, start));
  call.add(calls.inbox_channel()).add(queue).add(identity);
  call.add(words.tasks()).add(words.groups().size()).add(words.special() ? 1 : 0);
  for (auto const& word : all_words) call.add(word);
  return call;
}

void TaskAdds::State::start(std::string const& queue, std::vector<Caller> callers, bool in_line) {
  asio::co_spawn(env.executor(), send(queue, std::move(callers), in_line),
                 [self = shared_from_this()](std::exception_ptr) {});
}

asio::awaitable<void> TaskAdds::State::send(std::string queue, std::vector<Caller> callers,
                                            bool in_line) {
  auto const deadline = std::ranges::min_element(callers, {}, &Caller::deadline)->deadline;
  AddWords words(ms_of(env.wall()));
  for (auto const& caller : callers) words.add(*caller.request);
  Reply reply;
  std::exception_ptr error;
  try {
    std::string const identity = co_await calls.identity(queue, scripts::task_add.name, deadline);
    ScriptCall const call = call_of(queue, words, identity);
    reply = co_await calls.write(queue, call, drawing, deadline);
  } catch (...) {
    error = std::current_exception();
  }
  // The next call goes out first: waking callers takes longer than the server needs for it.
  if (in_line) landed(queue, callers.size());
  co_await asio::post(asio::use_awaitable);
  if (error) {
    for (auto& caller : callers) caller.done(std::unexpected(error));
    co_return;
  }
  auto rest = std::span(callers);
  for (std::size_t i = 0; i < words.groups().size(); ++i) {
    auto const group = rest.first(words.groups()[i]);
    rest = rest.subspan(group.size());
    tell(group, (*reply)[i].text());
  }
}

/// What became of a group: one caller's tasks, or a task of each, whose numbers are in a row or
/// told one by one.
void TaskAdds::State::tell(std::span<Caller> group, std::string_view answer) {
  bool const in_a_row = !answer.contains(' ');
  for (std::size_t i = 0; i < group.size(); ++i) {
    auto const& request = *group[i].request;
    auto const end = std::min(answer.find(' '), answer.size());
    Answer told;
    try {
      told = added_of(request, answer.substr(0, end), in_a_row ? i : 0);
    } catch (...) {
      told = std::unexpected(std::current_exception());
    }
    if (!in_a_row) answer.remove_prefix(std::min(end + 1, answer.size()));
    group[i].done(std::move(told));
  }
}

TaskAdds::TaskAdds(Env& env, QueueCalls& calls) : state_(std::make_shared<State>(env, calls)) {}

asio::awaitable<std::vector<Added>> TaskAdds::add(AddRequest request, Instant deadline) {
  check_add(request);
  auto initiate = [](auto handler, State* state, AddRequest const* what, Instant until) {
    State::Caller caller{what, until, std::move(handler)};
    if (what->tasks.size() <= most_tasks_to_share) {
      state->join(what->queue, std::move(caller));
      return;
    }
    std::vector<State::Caller> alone;
    alone.push_back(std::move(caller));
    state->start(what->queue, std::move(alone), false);
  };
  State::Answer answer = co_await asio::async_initiate<asio::deferred_t const, void(State::Answer)>(
      initiate, asio::deferred, state_.get(), &request, deadline);
  if (!answer) std::rethrow_exception(answer.error());
  co_return std::move(*answer);
}

}  // namespace holt::redis
