// SPDX-License-Identifier: Apache-2.0
#pragma once
// A PostgresCaller's calls on tasks, blocking, in the queue "q".

#include "postgres/caller.hpp"

#include <atomic>
#include <future>
#include <string>
#include <utility>
#include <vector>

namespace holt::test {

class TaskCaller : public PostgresCaller {
 public:
  using PostgresCaller::PostgresCaller;
  static constexpr auto queue = "q";

  [[nodiscard]] TaskStore& tasks() { return *engine().tasks(); }

  std::vector<Added> add_tasks(std::size_t count, std::string request = {}) {
    AddRequest adding(queue, std::vector<NewTask>(count, NewTask("job", "payload")));
    adding.request = RequestId(std::move(request));
    return add_as(std::move(adding));
  }
  std::vector<Added> add_as(AddRequest request) {
    return on_loop(tasks().add(std::move(request), deadline()));
  }
  std::vector<Added> add_tasks(AddRequest adding) {
    return on_loop(tasks().add(std::move(adding), deadline()));
  }
  /// Each one task, together; their numbers.
  std::vector<std::uint64_t> add_together(std::vector<RequestId> ids) {
    std::vector<asio::awaitable<std::vector<Added>>> calls;
    for (auto& id : ids) {
      AddRequest adding(queue, {NewTask("job", "payload")});
      adding.request = std::move(id);
      calls.push_back(tasks().add(std::move(adding), deadline()));
    }
    std::vector<std::uint64_t> numbers;
    for (auto const& added : all_on_loop(std::move(calls))) {
      numbers.push_back(added.at(0).id.number());
    }
    return numbers;
  }
  [[nodiscard]] ClaimRequest asking(std::uint32_t want, Nanos ttl = 60s) {
    return {queue, owner(), want, ttl};
  }
  Claimed exchange(ClaimRequest request) {
    return on_loop(tasks().claim(std::move(request), deadline()));
  }
  /// Those that are begun one right after the other go to the server together.
  std::future<Claimed> begin_exchange(ClaimRequest request) {
    return begin_on_loop(tasks().claim(std::move(request), deadline()));
  }
  /// Finds nothing, and wants to hear of it when there is something.
  Claimed idle() {
    auto request = asking(1);
    request.idle_for = 60s;
    return exchange(std::move(request));
  }
  std::optional<TaskInfo> find_task(TaskId const& id) {
    return on_loop(tasks().find(id, deadline()));
  }
  TaskCounts count() { return on_loop(tasks().count(queue, deadline())); }
};

/// The next exchange of who has `held`: all of it is completed.
inline ClaimRequest completing(TaskCaller& caller, Owner const& by, Claimed const& held,
                               std::uint32_t want) {
  auto request = caller.asking(want);
  request.answered = by;
  for (auto const& task : held.tasks) {
    request.finishes.emplace_back(task.id, by, held.fence, TaskOutcome::completed);
  }
  return request;
}

/// Claims and completes until nothing comes; the numbers of what was completed.
inline std::vector<std::uint64_t> drain(TaskCaller& caller, std::uint32_t batch) {
  std::vector<std::uint64_t> numbers;
  auto request = caller.asking(batch);
  for (;;) {
    auto const owner = request.owner;
    auto const held = caller.exchange(request);
    for (auto const& finish : held.finishes) EXPECT_TRUE(finish);
    if (held.tasks.empty()) return numbers;
    for (auto const& task : held.tasks) numbers.push_back(task.id.number());
    request = completing(caller, owner, held, batch);
  }
}

/// Hears of work in the queue from its making on.
class WorkListener {
 public:
  explicit WorkListener(TaskCaller& caller) : signals_(caller.engine().signals()) {
    id_ = signals_.subscribe(std::string(topic::work), [this](Signal const&) { ++heard_; });
    signals_.listen();
    EXPECT_TRUE(wait_until([&] { return signals_.listening(); }));
  }
  ~WorkListener() { signals_.unsubscribe(id_); }
  WorkListener(WorkListener const&) = delete;
  WorkListener& operator=(WorkListener const&) = delete;

  [[nodiscard]] int heard() const { return heard_; }
  [[nodiscard]] bool hears() const {
    return wait_until([this] { return heard_ > 0; });
  }

 private:
  SignalBus& signals_;
  std::atomic<int> heard_ = 0;
  SignalBus::Subscription id_{};
};

}  // namespace holt::test
