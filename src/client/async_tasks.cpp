// SPDX-License-Identifier: Apache-2.0
#include <holt/detail/async_tasks.hpp>

#include "client/inside.hpp"
#include "client/task_requests.hpp"

#include <utility>

namespace holt::detail {

using client::Inside;

void start_add(Queue const& queue, TaskToAdd task, Done<AddedTask> done) {
  std::vector<NewTask> tasks;
  tasks.push_back(client::new_task(std::move(task)));
  auto& core = Inside::core(queue);
  core.start(core.add_tasks(AddRequest(queue.name(), std::move(tasks))),
             [done = std::move(done)](Outcome<std::vector<Added>> outcome) mutable {
               Outcome<AddedTask> told(std::move(outcome.error), std::move(outcome.client));
               if (outcome.answer) {
                 told.answer.emplace(client::added_task(std::move(outcome.answer->front())));
               }
               done(std::move(told));
             });
}

void start_add_many(Queue const& queue, std::vector<TaskToAdd> tasks,
                    Done<std::vector<AddedTask>> done) {
  if (tasks.empty()) {
    Outcome<std::vector<AddedTask>> nothing;
    nothing.answer.emplace();
    return done(std::move(nothing));
  }
  std::vector<NewTask> made;
  made.reserve(tasks.size());
  for (auto& task : tasks) made.push_back(client::new_task(std::move(task)));
  auto& core = Inside::core(queue);
  core.start(core.add_tasks(AddRequest(queue.name(), std::move(made))),
             [done = std::move(done)](Outcome<std::vector<Added>> outcome) mutable {
               Outcome<std::vector<AddedTask>> told(std::move(outcome.error),
                                                    std::move(outcome.client));
               if (outcome.answer) {
                 told.answer.emplace(client::added_tasks(std::move(*outcome.answer)));
               }
               done(std::move(told));
             });
}

void start_cancel(Queue const& queue, TaskId const& id, Done<Cancellation> done) {
  client::check_is_of(queue.name(), id);
  auto& core = Inside::core(queue);
  core.start(core.cancel_task(id), std::move(done));
}

void start_find(Queue const& queue, TaskId const& id, Done<std::optional<TaskInfo>> done) {
  client::check_is_of(queue.name(), id);
  auto& core = Inside::core(queue);
  core.start(core.find_task(id), std::move(done));
}

void start_list(Queue const& queue, std::optional<TaskState> state, std::string const& cursor,
                std::uint32_t limit, Done<TaskPage> done) {
  auto& core = Inside::core(queue);
  core.start(core.list_tasks(queue.name(), state, cursor, limit), std::move(done));
}

void start_count(Queue const& queue, Done<TaskCounts> done) {
  auto& core = Inside::core(queue);
  core.start(core.count_tasks(queue.name()), std::move(done));
}

void start_wait(Queue const& queue, TaskId const& id, std::chrono::milliseconds wait,
                std::stop_token stop, Done<std::optional<TaskInfo>> done) {
  client::check_is_of(queue.name(), id);
  auto& core = Inside::core(queue);
  core.start(core.wait_for_task(id, wait, std::move(stop)), std::move(done));
}

}  // namespace holt::detail
