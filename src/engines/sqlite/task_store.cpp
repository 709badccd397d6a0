// SPDX-License-Identifier: Apache-2.0
#include "engines/sqlite/task_store.hpp"

#include "contracts/task_rules.hpp"
#include "engines/sqlite/task_add.hpp"
#include "engines/sqlite/task_exchange.hpp"
#include "engines/sqlite/task_queries.hpp"
#include "engines/sqlite/task_steps.hpp"

#include <utility>

namespace holt::sqlite {
namespace {

constexpr int most_rounds = 16;  // of waking others; ask_again sees to the rest

}  // namespace

SqliteTaskStore::SqliteTaskStore(Env& env, TaskFile& file, SignalBus& signals, std::string instance)
    : env_(env), file_(file), signals_(signals), instance_(std::move(instance)) {}

asio::awaitable<std::vector<Added>> SqliteTaskStore::add(AddRequest request, Instant deadline) {
  check_add(request);
  auto* const file = co_await file_.open();
  TaskAddStep step(env_, instance_, request, deadline);
  co_await file->writer.run(step);
  auto const gone = send(step.notices());
  if (gone > 0) co_await wake_others(file->writer, request.queue, gone, deadline);
  co_return std::move(step.result());
}

asio::awaitable<Claimed> SqliteTaskStore::claim(ClaimRequest request, Instant deadline) {
  check_claim(request);
  // Who is to be woken must be reachable.
  bool const listens = request.idle_for > Nanos(0) && request.owner.inbox() == signals_.inbox();
  if (listens) signals_.listen();
  auto* const file = co_await file_.open();
  TaskExchangeStep step(env_, instance_, request, deadline);
  co_await file->writer.run(step);
  auto const gone = send(step.notices());
  if (gone > 0) co_await wake_others(file->writer, request.queue, gone, deadline);
  co_return std::move(step.result());
}

asio::awaitable<std::vector<std::expected<RenewedClaim, Lost>>> SqliteTaskStore::renew(
    std::vector<ClaimRenewal> renewals, Instant deadline) {
  check_renewals(renewals);
  auto* const file = co_await file_.open();
  TaskRenewStep step(env_, instance_, renewals, deadline);
  co_await file->writer.run(step);
  co_return std::move(step.result());
}

asio::awaitable<Cancellation> SqliteTaskStore::cancel(TaskId id, Instant deadline) {
  check_task_id(id);
  auto* const file = co_await file_.open();
  TaskCancelStep step(env_, instance_, id, deadline);
  co_await file->writer.run(step);
  send(step.notices());
  co_return step.result();
}

asio::awaitable<std::optional<TaskInfo>> SqliteTaskStore::find(TaskId id, Instant deadline) {
  check_task_id(id);
  auto* const file = co_await file_.open();
  TaskFindStep step(env_, instance_, id, deadline);
  co_await file->reader.run(step);
  co_return std::move(step.result());
}

asio::awaitable<TaskPage> SqliteTaskStore::list(std::string queue, TaskFilter filter,
                                                std::string cursor, std::uint32_t limit,
                                                Instant deadline) {
  auto const after = check_task_page(queue, filter, cursor, limit);
  auto* const file = co_await file_.open();
  TaskListStep step(env_, instance_, queue, deadline);
  step.select(std::move(filter), after, limit);
  co_await file->reader.run(step);
  co_return std::move(step.result());
}

asio::awaitable<TaskCounts> SqliteTaskStore::count(std::string queue, Instant deadline) {
  check_queue(queue);
  auto* const file = co_await file_.open();
  TaskCountStep step(env_, instance_, queue, deadline);
  co_await file->reader.run(step);
  co_return step.result();
}

/// Answers how many of those who should have been woken are gone.
std::size_t SqliteTaskStore::send(std::vector<Notice> const& notices) {
  std::size_t gone = 0;
  for (auto const& [inbox, signal] : notices) {
    bool const dead = signals_.send(inbox, signal) == Delivery::dead;
    if (dead && signal.topic == topic::work) ++gone;
  }
  return gone;
}

/// In the place of workers that died while they idled. What fails here fails only the hint.
asio::awaitable<void> SqliteTaskStore::wake_others(Writer& writer, std::string const& queue,
                                                   std::size_t gone, Instant deadline) {
  for (int round = 0; gone > 0 && round < most_rounds; ++round) {
    TaskWakeStep step(env_, instance_, queue, gone, deadline);
    try {
      co_await writer.run(step);
    } catch (EngineError const&) {
      co_return;
    }
    gone = send(step.notices());
  }
}

}  // namespace holt::sqlite
