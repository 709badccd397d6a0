// SPDX-License-Identifier: Apache-2.0
#pragma once
// TasksOnLoop: a module's TaskStore, called on the module's own loop.

#include "contracts/task_store.hpp"
#include "engines/module/at_loop.hpp"

#include <utility>

namespace holt {

class TasksOnLoop final : public TaskStore {
 public:
  TasksOnLoop(TaskStore& inner, SharedLoop& loop) : inner_(inner), loop_(loop) {}

  asio::awaitable<std::vector<Added>> add(AddRequest request, Instant deadline) override {
    return at(loop_, inner_.add(std::move(request), deadline));
  }
  asio::awaitable<Claimed> claim(ClaimRequest request, Instant deadline) override {
    return at(loop_, inner_.claim(std::move(request), deadline));
  }
  asio::awaitable<std::vector<std::expected<RenewedClaim, Lost>>> renew(
      std::vector<ClaimRenewal> renewals, Instant deadline) override {
    return at(loop_, inner_.renew(std::move(renewals), deadline));
  }
  asio::awaitable<Cancellation> cancel(TaskId id, Instant deadline) override {
    return at(loop_, inner_.cancel(std::move(id), deadline));
  }
  asio::awaitable<std::optional<TaskInfo>> find(TaskId id, Instant deadline) override {
    return at(loop_, inner_.find(std::move(id), deadline));
  }
  asio::awaitable<TaskPage> list(std::string queue, TaskFilter filter, std::string cursor,
                                 std::uint32_t limit, Instant deadline) override {
    return at(loop_,
              inner_.list(std::move(queue), std::move(filter), std::move(cursor), limit, deadline));
  }
  asio::awaitable<TaskCounts> count(std::string queue, Instant deadline) override {
    return at(loop_, inner_.count(std::move(queue), deadline));
  }

 private:
  TaskStore& inner_;
  SharedLoop& loop_;
};

}  // namespace holt
