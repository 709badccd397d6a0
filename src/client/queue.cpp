// SPDX-License-Identifier: Apache-2.0
// Queues: the part of Core and of the public API.

#include <holt/queue.hpp>

#include "client/core.hpp"
#include "client/task_requests.hpp"
#include "contracts/task_rules.hpp"

#include <holt/open.hpp>

#include <utility>

namespace holt {
namespace client {

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
asio::awaitable<std::vector<Added>> Core::add_tasks(AddRequest request) {
  check_usable("add");
  if (waits_for_tasks_.load(std::memory_order_relaxed)) {
    for (auto& task : request.tasks) task.tell = engine_->signals().inbox();
  }
  check_add(request);
  return task_calls_->add(std::move(request), call_deadline());
}

asio::awaitable<Cancellation> Core::cancel_task(TaskId const& id) {
  check_usable("cancel");
  return tasks().cancel(id, call_deadline());
}

asio::awaitable<std::optional<TaskInfo>> Core::find_task(TaskId const& id) {
  check_usable("find");
  return tasks().find(id, call_deadline());
}

asio::awaitable<TaskPage> Core::list_tasks(std::string const& queue, std::optional<TaskState> state,
                                           std::string const& cursor, std::uint32_t limit) {
  check_usable("list");
  return tasks().list(queue, TaskFilter(state), cursor, limit, call_deadline());
}

asio::awaitable<TaskCounts> Core::count_tasks(std::string const& queue) {
  check_usable("count");
  return tasks().count(queue, call_deadline());
}

void Core::hear_of_ends() {
  if (waits_for_tasks_.exchange(true)) return;
  try {
    engine_->signals().listen();
  } catch (EngineError const&) {
    return;  // deaf, not wrong: ends are then found by looking
  }
}

asio::awaitable<std::optional<TaskInfo>> Core::wait_for_task(TaskId const& id,
                                                             std::chrono::milliseconds wait,
                                                             std::stop_token stop) {
  check_usable("wait");
  if (wait < std::chrono::milliseconds(0)) {
    throw InvalidArgument("a wait below zero is not possible: use 0 to look once");
  }
  hear_of_ends();
  constexpr auto too_long = std::chrono::hours(24 * 365 * 100);
  auto const give_up = wait >= too_long ? Instant::max() : env_.now() + wait;
  return wait_while_open(id, give_up, std::move(stop));
}

asio::awaitable<std::optional<TaskInfo>> Core::wait_while_open(TaskId id, Instant give_up,
                                                               std::stop_token stop) {
  std::stop_source either;
  auto const end = [&either] { either.request_stop(); };
  std::stop_callback const stopped(std::move(stop), end);
  std::stop_callback const closed(closing(), end);
  std::optional<TaskInfo> ended =
      co_await task_calls_->wait(std::move(id), give_up, timeout_, either.get_token());
  co_return ended;
}

}  // namespace client

Queue::Queue(std::shared_ptr<client::Core> core, std::string name) noexcept
    : core_(std::move(core)), name_(std::move(name)) {}

std::string const& Queue::name() const noexcept { return name_; }

AddedTask Queue::add(std::string_view kind, std::string_view payload, TaskOptions options) {
  std::vector<NewTask> tasks;
  tasks.push_back(client::new_task(std::string(kind), std::string(payload), options));
  auto added = core_->run_at_home(core_->add_tasks(AddRequest(name_, std::move(tasks))));
  return client::added_task(std::move(added.at(0)));
}

std::vector<AddedTask> Queue::add_many(std::span<TaskDraft const> drafts) {
  if (drafts.empty()) return {};
  std::vector<NewTask> tasks;
  tasks.reserve(drafts.size());
  for (auto const& draft : drafts) {
    tasks.push_back(client::new_task(draft.kind, draft.payload, draft.options));
  }
  return client::added_tasks(
      core_->run_at_home(core_->add_tasks(AddRequest(name_, std::move(tasks)))));
}

Cancellation Queue::cancel(TaskId const& id) {
  client::check_is_of(name_, id);
  return core_->run_at_home(core_->cancel_task(id));
}
std::optional<TaskInfo> Queue::find(TaskId const& id) {
  client::check_is_of(name_, id);
  return core_->run_at_home(core_->find_task(id));
}
TaskPage Queue::list(std::optional<TaskState> state, std::string const& cursor,
                     std::uint32_t limit) {
  return core_->run_at_home(core_->list_tasks(name_, state, cursor, limit));
}
TaskCounts Queue::count() { return core_->run_at_home(core_->count_tasks(name_)); }

std::optional<TaskInfo> Queue::wait(TaskId const& id, std::chrono::milliseconds wait,
                                    std::stop_token stop) {
  client::check_is_of(name_, id);
  return core_->run(core_->wait_for_task(id, wait, std::move(stop)));
}

Queue Holt::queue(std::string_view name) { return core_->queue(name); }

}  // namespace holt
