// SPDX-License-Identifier: Apache-2.0
#include "client/task_requests.hpp"

#include "contracts/task_rules.hpp"

#include <utility>

namespace holt::client {

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

NewTask new_task(detail::TaskToAdd task) {
  auto made = new_task(std::move(task.kind), std::move(task.payload), task.options);
  made.metadata = std::move(task.metadata);
  made.unique = std::move(task.unique);
  return made;
}

AddedTask added_task(Added added) { return {std::move(added.id), added.duplicate}; }

std::vector<AddedTask> added_tasks(std::vector<Added> added) {
  std::vector<AddedTask> told;
  told.reserve(added.size());
  for (auto& each : added) told.push_back(added_task(std::move(each)));
  return told;
}

void check_is_of(std::string const& queue, TaskId const& id) {
  check_task_id(id);
  if (id.queue() == queue) return;
  throw InvalidArgument("the task " + id.text() + " is not of the queue " + queue);
}

}  // namespace holt::client
