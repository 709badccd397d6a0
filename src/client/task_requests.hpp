// SPDX-License-Identifier: Apache-2.0
#pragma once
// What users say of tasks as stores understand it, and what stores answer as users do.

#include "contracts/task_store.hpp"

#include <holt/detail/async_tasks.hpp>
#include <holt/queue.hpp>

#include <string>
#include <vector>

namespace holt::client {

NewTask new_task(std::string kind, std::string payload, TaskOptions const& options);
NewTask new_task(detail::TaskToAdd task);

AddedTask added_task(Added added);
std::vector<AddedTask> added_tasks(std::vector<Added> added);

/// Throws InvalidArgument unless it is an id of this queue.
void check_is_of(std::string const& queue, TaskId const& id);

}  // namespace holt::client
