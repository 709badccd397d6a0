// SPDX-License-Identifier: Apache-2.0
#include "sim/faulty_task_store.hpp"

#include <fmt/format.h>

#include <utility>

namespace holt::sim {

asio::awaitable<std::vector<Added>> FaultyTaskStore::add(AddRequest request, Instant deadline) {
  using Answer = std::vector<Added>;
  FaultyLink::Request<Answer> ask = [this, request](Instant by) { return seen_add(request, by); };
  return link_.call<Answer>("add tasks", std::move(ask), deadline);
}

asio::awaitable<Claimed> FaultyTaskStore::claim(ClaimRequest request, Instant deadline) {
  FaultyLink::Request<Claimed> ask = [this, request](Instant by) {
    return seen_claim(request, by);
  };
  return link_.call<Claimed>("claim tasks", std::move(ask), deadline);
}

asio::awaitable<std::vector<std::expected<RenewedClaim, Lost>>> FaultyTaskStore::renew(
    std::vector<ClaimRenewal> renewals, Instant deadline) {
  FaultyLink::Request<Renewed> ask = [this, renewals](Instant by) {
    return seen_renew(renewals, by);
  };
  return link_.call<Renewed>("renew claims", std::move(ask), deadline);
}

asio::awaitable<Cancellation> FaultyTaskStore::cancel(TaskId id, Instant deadline) {
  FaultyLink::Request<Cancellation> ask = [this, id](Instant by) { return seen_cancel(id, by); };
  return link_.call<Cancellation>("cancel a task", std::move(ask), deadline);
}

asio::awaitable<std::optional<TaskInfo>> FaultyTaskStore::find(TaskId id, Instant deadline) {
  using Answer = std::optional<TaskInfo>;
  FaultyLink::Request<Answer> ask = [this, id](Instant by) { return store_.find(id, by); };
  return link_.call<Answer>("find a task", std::move(ask), deadline);
}

asio::awaitable<TaskPage> FaultyTaskStore::list(std::string queue, TaskFilter filter,
                                                std::string cursor, std::uint32_t limit,
                                                Instant deadline) {
  FaultyLink::Request<TaskPage> ask = [this, queue, filter, cursor, limit](Instant by) {
    return store_.list(queue, filter, cursor, limit, by);
  };
  return link_.call<TaskPage>("list tasks", std::move(ask), deadline);
}

asio::awaitable<TaskCounts> FaultyTaskStore::count(std::string queue, Instant deadline) {
  FaultyLink::Request<TaskCounts> ask = [this, queue](Instant by) {
    return store_.count(queue, by);
  };
  return link_.call<TaskCounts>("count tasks", std::move(ask), deadline);
}

asio::awaitable<std::vector<Added>> FaultyTaskStore::seen_add(AddRequest request,
                                                              Instant deadline) {
  auto const visit = ledger_.adding(request);
  auto answer = co_await store_.add(request, deadline);
  if (link_.store_lost()) co_return answer;
  for (auto const& added : answer) {
    link_.say(fmt::format("store adds {}{}", added.id.text(), added.duplicate ? " (taken)" : ""));
  }
  visit->answered();
  ledger_.added(request, answer, visit->started());
  co_return answer;
}

asio::awaitable<Claimed> FaultyTaskStore::seen_claim(ClaimRequest request, Instant deadline) {
  auto const visit = ledger_.claiming(request);
  auto answer = co_await store_.claim(request, deadline);
  if (link_.store_lost()) co_return answer;
  for (std::size_t i = 0; i < answer.finishes.size(); ++i) {
    auto const& finish = request.finishes[i];
    auto const& now = answer.finishes[i];
    link_.say(fmt::format("store takes {} of fence {}: {}", finish.task.text(),
                          finish.fence.value(), now ? to_string(*now) : "refused"));
  }
  for (auto const& task : answer.tasks) {
    link_.say(fmt::format("store gives {} with fence {}, attempt {}", task.id.text(),
                          answer.fence.value(), task.attempt));
  }
  visit->answered();
  ledger_.claimed(request, answer, visit->started());
  co_return answer;
}

asio::awaitable<std::vector<std::expected<RenewedClaim, Lost>>> FaultyTaskStore::seen_renew(
    std::vector<ClaimRenewal> renewals, Instant deadline) {
  auto const started = link_.world().now();
  auto answer = co_await store_.renew(renewals, deadline);
  if (link_.store_lost()) co_return answer;
  for (std::size_t i = 0; i < answer.size(); ++i) {
    link_.say(fmt::format("store renews fence {}: {}", renewals[i].fence.value(),
                          answer[i] ? "done" : to_string(answer[i].error().reason)));
    ledger_.renewed(renewals[i], answer[i], started);
  }
  co_return answer;
}

asio::awaitable<Cancellation> FaultyTaskStore::seen_cancel(TaskId id, Instant deadline) {
  auto const visit = ledger_.cancelling(id);
  auto const answer = co_await store_.cancel(id, deadline);
  if (link_.store_lost()) co_return answer;
  link_.say(fmt::format("store cancels {}: {}", id.text(), to_string(answer)));
  visit->answered();
  ledger_.cancelled(id, answer);
  co_return answer;
}

}  // namespace holt::sim
