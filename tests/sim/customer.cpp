// SPDX-License-Identifier: Apache-2.0
#include "sim/customer.hpp"

#include "sim/crew.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

namespace holt::sim {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr std::uint32_t percent = 10'000;
constexpr std::size_t most_tasks = 60;

}  // namespace

Customer::Customer(Tools tools, TaskStore& tasks, SignalBus& signals, TaskLedger& ledger)
    : tools_(tools),
      tasks_(tasks),
      signals_(signals),
      ledger_(ledger),
      random_(tools.options.seed, fmt::format("customer {}", tools.env.node())),
      calls_(tools.env, tasks, signals) {}

asio::awaitable<void> Customer::run() {
  Event never(tools_.env);
  while (!over() && !tools_.phase.healed) {
    auto const pause = random_.between(milliseconds(1), tools_.options.tasks.every);
    [[maybe_unused]] bool const woken = co_await never.wait_until(tools_.env.now() + pause);
    if (over() || tools_.phase.healed) break;
    auto const some = ours_.empty() ? 0 : random_.between(0, std::ssize(ours_) - 1);
    if (!ours_.empty() && random_.chance(15 * percent)) {
      co_await cancel(ours_[static_cast<std::size_t>(some)]);
    } else if (!ours_.empty() && random_.chance(10 * percent)) {
      co_await wait(ours_[static_cast<std::size_t>(some)]);
    } else if (ours_.size() < most_tasks) {
      co_await add();
    }
  }
  served_ = true;
}

NewTask Customer::choose_task() {
  auto const& options = tools_.options.tasks;
  static constexpr std::array kinds{"mail", "bill"};
  NewTask task(kinds.at(static_cast<std::size_t>(random_.between(0, 1))),
               fmt::format("order {} of {}", ++orders_, tools_.env.node()));
  task.max_attempts = static_cast<std::uint32_t>(random_.between(1, 3));
  task.priority = static_cast<std::int32_t>(random_.between(4, 6));
  if (random_.chance(20 * percent)) task.delay = random_.between(Nanos(0), seconds(2));
  if (random_.chance(20 * percent)) task.timeout = random_.between(milliseconds(20), options.ttl);
  if (random_.chance(30 * percent)) task.tell = signals_.inbox();
  if (options.stuck && random_.chance(10 * percent)) {
    task.kind = stuck_kind;
    task.timeout = random_.between(milliseconds(20), options.ttl);
  }
  if (random_.chance(40 * percent)) {
    task.unique = fmt::format("key-{}", random_.between(1, 3));
    task.unique_while = static_cast<Unique>(random_.between(0, 2));
    bool const period = task.unique_while == Unique::period;
    if (period) task.unique_period = random_.between(milliseconds(100), seconds(3));
  }
  return task;
}

asio::awaitable<void> Customer::add() {
  std::vector<NewTask> wanted;
  for (auto i = random_.between(1, 4); i > 0; --i) wanted.push_back(choose_task());
  AddRequest request(TaskLedger::queue, wanted);
  auto const deadline = tools_.env.now() + random_.between(milliseconds(500), seconds(20));
  std::optional<EngineError> failure;
  std::vector<Added> answer;
  try {
    answer = co_await calls_.add(std::move(request), deadline);
  } catch (EngineError const& error) {
    failure = error;
  }
  if (over()) co_return;
  for (auto const& added : answer) ours_.push_back(added.id);
  if (!failure) co_return;
  fault(*failure);
  if (failure->outcome() == Outcome::unknown) co_return;
  for (auto const& task : wanted) ledger_.never_added(task.payload);
}

asio::awaitable<void> Customer::cancel(TaskId id) {
  std::optional<EngineError> failure;
  try {
    [[maybe_unused]] Cancellation const answer =
        co_await tasks_.cancel(id, tools_.env.now() + seconds(1));
  } catch (EngineError const& error) {
    failure = error;
  }
  if (failure) fault(*failure);
}

asio::awaitable<void> Customer::wait(TaskId id) {
  auto const give_up = tools_.env.now() + random_.between(Nanos(0), seconds(3));
  std::optional<EngineError> failure;
  std::stop_token const nobody;
  try {
    std::optional<TaskInfo> const info = co_await calls_.wait(id, give_up, seconds(1), nobody);
    if (info && !over()) ledger_.seen(*info);
  } catch (EngineError const& error) {
    failure = error;
  }
  if (failure) fault(*failure);
}

void Customer::fault(EngineError const& error) {
  if (!tools_.options.calm || over()) return;
  tools_.checker.violated(std::string("no error without a fault: ") + error.what());
}

}  // namespace holt::sim
