// SPDX-License-Identifier: Apache-2.0
#pragma once
// The fixture of the suites of TaskStore: short words for what tests do with tasks of the queue
// "q". An engine takes part when it is named in `with_tasks` of tests/support/engines.cpp.

#include "contract/engine_test.hpp"

#include <holt/error.hpp>

#include <string>
#include <utility>
#include <vector>

namespace holt::test {

/// A claim and who has it. For tests that lose claims: 1 s, the shortest ttl there is.
struct Held {
  Owner owner;
  Claimed claimed;

  [[nodiscard]] Task const& task(std::size_t index = 0) const { return claimed.tasks.at(index); }
  [[nodiscard]] std::size_t size() const { return claimed.tasks.size(); }
  /// To hand in one of its tasks.
  [[nodiscard]] TaskFinish finish(TaskOutcome how, std::size_t index = 0) const {
    return {task(index).id, owner, claimed.fence, how};
  }
  [[nodiscard]] ClaimRenewal renewal(Nanos ttl = 60s) const {
    return {task().id.queue(), owner, claimed.fence, ttl};
  }
};

using Finished = std::expected<TaskState, Lost>;

class TaskTest : public EngineTest {
 protected:
  static constexpr auto queue = "q";

  TaskStore& tasks() { return tasks(client_); }
  static TaskStore& tasks(Client& client) { return *client.engine().tasks(); }
  /// Long enough for twenty thousand tasks on a busy machine.
  Instant deadline() { return store_->env().now() + 30s; }

  std::vector<Added> add_all(std::vector<NewTask> all, std::string request = {});
  Added add(NewTask task);
  /// A task that differs from the usual in its kind and payload alone.
  TaskId add(std::string const& kind = "job", std::string const& payload = {});
  std::vector<TaskId> add_many(std::size_t count, std::string const& kind = "job");

  /// An exchange that no one asked before, by this client.
  ClaimRequest asking(std::uint32_t want, Nanos ttl = 60s);
  Claimed exchange(ClaimRequest request) { return exchange(client_, std::move(request)); }
  Claimed exchange(Client& client, ClaimRequest request);
  Held claim(std::uint32_t want, Nanos ttl = 60s, std::vector<std::string> kinds = {});
  /// Claims the one task that there is to claim.
  Held claim_one(Nanos ttl = 60s);
  /// The claim's time is over, and another step on the queue has taken its tasks back.
  void lose(Nanos ttl = 1s);

  /// Hands in alone, and answers what came of it.
  Finished hand_in(TaskFinish finish);
  Finished complete(Held const& held, std::string result = {}, std::size_t index = 0);
  Finished fail(Held const& held, std::string error = "failed", Nanos delay = {},
                std::size_t index = 0);
  Finished return_as(TaskOutcome how, Held const& held, Nanos delay = {});
  void give_back(Owner const& owner);

  std::expected<RenewedClaim, Lost> renew(ClaimRenewal renewal);
  Cancellation cancel(TaskId const& id);
  std::optional<TaskInfo> find(TaskId const& id);
  /// Of a task that must be there.
  TaskInfo info(TaskId const& id);
  TaskState state(TaskId const& id) { return info(id).state; }
  TaskPage list(TaskFilter filter = TaskFilter(), std::string cursor = {},
                std::uint32_t limit = 100);
  TaskCounts count();
};

/// The numbers of tasks, in their order.
[[nodiscard]] std::vector<std::uint64_t> numbers(std::vector<Task> const& tasks);
[[nodiscard]] std::vector<std::uint64_t> numbers(std::vector<TaskId> const& ids);

}  // namespace holt::test
