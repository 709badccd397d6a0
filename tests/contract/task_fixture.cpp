// SPDX-License-Identifier: Apache-2.0
#include "contract/task_fixture.hpp"

namespace holt::test {

std::vector<Added> TaskTest::add_all(std::vector<NewTask> all, std::string request) {
  AddRequest adding(queue, std::move(all));
  adding.request = RequestId(std::move(request));
  return run(tasks().add(std::move(adding), deadline()));
}

Added TaskTest::add(NewTask task) {
  std::vector<NewTask> one;
  one.push_back(std::move(task));
  return add_all(std::move(one)).at(0);
}

TaskId TaskTest::add(std::string const& kind, std::string const& payload) {
  return add(NewTask(kind, payload)).id;
}

std::vector<TaskId> TaskTest::add_many(std::size_t count, std::string const& kind) {
  std::vector<TaskId> ids;
  for (auto& added : add_all(std::vector<NewTask>(count, NewTask(kind, "")))) {
    ids.push_back(std::move(added.id));
  }
  return ids;
}

ClaimRequest TaskTest::asking(std::uint32_t want, Nanos ttl) {
  return {queue, client_.owner(), want, ttl};
}

Claimed TaskTest::exchange(Client& client, ClaimRequest request) {
  return run(tasks(client).claim(std::move(request), deadline()));
}

Held TaskTest::claim(std::uint32_t want, Nanos ttl, std::vector<std::string> kinds) {
  auto request = asking(want, ttl);
  request.kinds = std::move(kinds);
  auto owner = request.owner;
  return {std::move(owner), exchange(std::move(request))};
}

Held TaskTest::claim_one(Nanos ttl) {
  auto held = claim(1, ttl);
  EXPECT_EQ(held.size(), 1U) << "there is nothing to claim";
  return held;
}

void TaskTest::lose(Nanos ttl) {
  outlive(ttl);
  exchange(asking(0));
}

Finished TaskTest::hand_in(TaskFinish finish) {
  auto request = asking(0);
  request.finishes.push_back(std::move(finish));
  return exchange(std::move(request)).finishes.at(0);
}

Finished TaskTest::complete(Held const& held, std::string result, std::size_t index) {
  auto finish = held.finish(TaskOutcome::completed, index);
  finish.text = std::move(result);
  return hand_in(std::move(finish));
}

Finished TaskTest::fail(Held const& held, std::string error, Nanos delay, std::size_t index) {
  auto finish = held.finish(TaskOutcome::failed, index);
  finish.text = std::move(error);
  finish.delay = delay;
  return hand_in(std::move(finish));
}

Finished TaskTest::return_as(TaskOutcome how, Held const& held, Nanos delay) {
  auto finish = held.finish(how);
  finish.delay = delay;
  return hand_in(std::move(finish));
}

void TaskTest::give_back(Owner const& owner) {
  auto request = asking(0);
  request.give_back.push_back(owner);
  exchange(std::move(request));
}

std::expected<RenewedClaim, Lost> TaskTest::renew(ClaimRenewal renewal) {
  std::vector<ClaimRenewal> one;
  one.push_back(std::move(renewal));
  return run(tasks().renew(std::move(one), deadline())).at(0);
}

Cancellation TaskTest::cancel(TaskId const& id) { return run(tasks().cancel(id, deadline())); }

std::optional<TaskInfo> TaskTest::find(TaskId const& id) {
  return run(tasks().find(id, deadline()));
}

TaskInfo TaskTest::info(TaskId const& id) {
  auto found = find(id);
  EXPECT_TRUE(found) << id.text() << " is not there";
  return found ? std::move(*found) : TaskInfo();
}

TaskPage TaskTest::list(TaskFilter filter, std::string cursor, std::uint32_t limit) {
  return run(tasks().list(queue, std::move(filter), std::move(cursor), limit, deadline()));
}

TaskCounts TaskTest::count() { return run(tasks().count(queue, deadline())); }

std::vector<std::uint64_t> numbers(std::vector<Task> const& tasks) {
  std::vector<std::uint64_t> all;
  for (auto const& task : tasks) all.push_back(task.id.number());
  return all;
}

std::vector<std::uint64_t> numbers(std::vector<TaskId> const& ids) {
  std::vector<std::uint64_t> all;
  for (auto const& id : ids) all.push_back(id.number());
  return all;
}

}  // namespace holt::test
