// SPDX-License-Identifier: Apache-2.0
// What RedisTaskStore shows of tasks. Nothing here writes.

#include "contracts/task_rules.hpp"
#include "engines/redis/task_record.hpp"
#include "engines/redis/task_store.hpp"
#include "redis_scripts.hpp"

#include <algorithm>
#include <utility>

namespace holt::redis {
namespace {

// A page with a filter may have to look at many tasks: not at too many in one call.
constexpr std::size_t listed_per_call = 500;

bool fits(TaskInfo const& task, TaskFilter const& filter) {
  return (!filter.state || task.state == *filter.state) &&
         (filter.kind.empty() || task.kind == filter.kind);
}

std::uint64_t counted(ReplyView const& number) {
  auto const value = static_cast<std::uint64_t>(std::max<std::int64_t>(number.integer(), 0));
  return std::min(value, TaskCounts::limit);
}

}  // namespace

asio::awaitable<std::optional<TaskInfo>> RedisTaskStore::find(TaskId id, Instant deadline) {
  check_task_id(id);
  ScriptCall call(scripts::task_find, QueueCalls::all_keys, 1);
  calls_.add_keys(id.queue(), QueueCalls::all_keys, call);
  call.add(id.number());
  Reply const reply = co_await calls_.send(call, reading, deadline);
  if (reply->is_nil()) co_return std::nullopt;
  co_return info_of(id.queue(), *reply);
}

asio::awaitable<TaskPage> RedisTaskStore::list(std::string queue, TaskFilter filter,
                                               std::string cursor, std::uint32_t limit,
                                               Instant deadline) {
  auto after = std::to_string(check_task_page(queue, filter, cursor, limit));
  TaskPage page;
  while (!after.empty() && page.tasks.size() <= limit) {
    ScriptCall call(scripts::task_list, QueueCalls::all_keys, 2);
    calls_.add_keys(queue, QueueCalls::all_keys, call);
    call.add(after).add(listed_per_call);
    Reply const reply = co_await calls_.send(call, reading, deadline);
    after = (*reply)[0].text();
    auto const found = (*reply)[1];
    for (std::size_t i = 0; i < found.size() && page.tasks.size() <= limit; ++i) {
      auto task = info_of(queue, found[i]);
      if (fits(task, filter)) page.tasks.push_back(std::move(task));
    }
  }
  if (page.tasks.size() > limit) {
    page.tasks.resize(limit);
    page.next = std::to_string(page.tasks.back().id.number());
  }
  co_return page;
}

asio::awaitable<TaskCounts> RedisTaskStore::count(std::string queue, Instant deadline) {
  check_queue(queue);
  ScriptCall call(scripts::task_count, QueueCalls::all_keys, 0);
  calls_.add_keys(queue, QueueCalls::all_keys, call);
  Reply const reply = co_await calls_.send(call, reading, deadline);
  TaskCounts counts;
  counts.scheduled = counted((*reply)[0]);
  counts.pending = counted((*reply)[1]);
  counts.running = counted((*reply)[2]);
  counts.completed = counted((*reply)[3]);
  counts.retrying = counted((*reply)[4]);
  counts.dead = counted((*reply)[5]);
  counts.cancelled = counted((*reply)[6]);
  co_return counts;
}

}  // namespace holt::redis
