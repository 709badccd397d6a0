// SPDX-License-Identifier: Apache-2.0
// Queues: the part of Core and of the public API.

#include <holt/queue.hpp>

#include "client/core.hpp"
#include "contracts/task_rules.hpp"
#include "primitives/task_calls.hpp"

#include <holt/open.hpp>

#include <utility>

namespace holt {
namespace client {
namespace {

NewTask new_task(std::string kind, std::string payload, TaskOptions const& options) {
  NewTask task(std::move(kind), std::move(payload));
  task.metadata = options.metadata;
  task.priority = options.priority;
  task.delay = options.delay;
  task.not_before = options.at;
  task.max_attempts = options.max_attempts;
  task.timeout = options.timeout;
  task.keep = options.keep;
  task.unique = options.unique;
  task.unique_while = options.unique_while;
  task.unique_period = options.unique_period;
  return task;
}

}  // namespace

TaskStore& Core::tasks() {
  if (auto* const tasks = engine_->tasks()) return *tasks;
  throw InvalidArgument(
      "this layout of the store has no place for tasks: use another store or instance");
}

Queue Core::queue(std::string_view name) {
  check_usable("queue");
  [[maybe_unused]] auto const& tasks = this->tasks();
  check_queue(name);
  return {shared_from_this(), std::string(name)};
}

/// Who has waited for a task will do so again: from then on the ends of its tasks are told to it.
std::vector<AddedTask> Core::add_tasks(AddRequest request) {
  check_usable("add");
  if (waits_for_tasks_.load(std::memory_order_relaxed)) {
    for (auto& task : request.tasks) task.tell = engine_->signals().inbox();
  }
  check_add(request);
  TaskCalls calls(env_, tasks(), engine_->signals());
  auto const answers = run_at_home(calls.add(std::move(request), call_deadline()));
  std::vector<AddedTask> added;
  added.reserve(answers.size());
  for (auto const& answer : answers) added.push_back({answer.id, answer.duplicate});
  return added;
}

Cancellation Core::cancel_task(TaskId const& id) {
  check_usable("cancel");
  return run_at_home(tasks().cancel(id, call_deadline()));
}

std::optional<TaskInfo> Core::find_task(TaskId const& id) {
  check_usable("find");
  return run_at_home(tasks().find(id, call_deadline()));
}

TaskPage Core::list_tasks(std::string const& queue, std::optional<TaskState> state,
                          std::string const& cursor, std::uint32_t limit) {
  check_usable("list");
  return run_at_home(tasks().list(queue, TaskFilter(state), cursor, limit, call_deadline()));
}

TaskCounts Core::count_tasks(std::string const& queue) {
  check_usable("count");
  return run_at_home(tasks().count(queue, call_deadline()));
}

void Core::hear_of_ends() {
  if (waits_for_tasks_.exchange(true)) return;
  try {
    engine_->signals().listen();
  } catch (EngineError const&) {
    return;  // deaf, not wrong: ends are then found by looking
  }
}

std::optional<TaskInfo> Core::wait_for_task(TaskId const& id, std::chrono::milliseconds wait,
                                            std::stop_token const& stop) {
  check_usable("wait");
  if (wait < std::chrono::milliseconds(0)) {
    throw InvalidArgument("a wait below zero is not possible: use 0 to look once");
  }
  hear_of_ends();
  constexpr auto too_long = std::chrono::hours(24 * 365 * 100);
  auto const give_up = wait >= too_long ? Instant::max() : env_.now() + wait;
  std::stop_source either;
  auto const end = [&either] { either.request_stop(); };
  std::stop_callback const stopped(stop, end);
  std::stop_callback const closed(closing(), end);
  TaskCalls calls(env_, tasks(), engine_->signals());
  return run(calls.wait(id, give_up, timeout_, either.get_token()));
}

}  // namespace client

namespace {

/// Of this queue, or refused.
TaskId const& of(std::string const& queue, TaskId const& id) {
  check_task_id(id);
  if (id.queue() == queue) return id;
  throw InvalidArgument("the task " + id.text() + " is not of the queue " + queue);
}

}  // namespace

Queue::Queue(std::shared_ptr<client::Core> core, std::string name) noexcept
    : core_(std::move(core)), name_(std::move(name)) {}

std::string const& Queue::name() const noexcept { return name_; }

AddedTask Queue::add(std::string_view kind, std::string_view payload, TaskOptions options) {
  std::vector<NewTask> tasks;
  tasks.push_back(client::new_task(std::string(kind), std::string(payload), options));
  return core_->add_tasks(AddRequest(name_, std::move(tasks))).at(0);
}

std::vector<AddedTask> Queue::add_many(std::span<TaskDraft const> drafts) {
  if (drafts.empty()) return {};
  std::vector<NewTask> tasks;
  tasks.reserve(drafts.size());
  for (auto const& draft : drafts) {
    tasks.push_back(client::new_task(draft.kind, draft.payload, draft.options));
  }
  return core_->add_tasks(AddRequest(name_, std::move(tasks)));
}

Cancellation Queue::cancel(TaskId const& id) { return core_->cancel_task(of(name_, id)); }
std::optional<TaskInfo> Queue::find(TaskId const& id) { return core_->find_task(of(name_, id)); }
TaskPage Queue::list(std::optional<TaskState> state, std::string const& cursor,
                     std::uint32_t limit) {
  return core_->list_tasks(name_, state, cursor, limit);
}
TaskCounts Queue::count() { return core_->count_tasks(name_); }

std::optional<TaskInfo> Queue::wait(TaskId const& id, std::chrono::milliseconds wait,
                                    std::stop_token stop) {
  return core_->wait_for_task(of(name_, id), wait, stop);
}

Queue Holt::queue(std::string_view name) { return core_->queue(name); }

}  // namespace holt
