// SPDX-License-Identifier: Apache-2.0
// Wake-ups: who found nothing is told when there is something, and nobody else is.

#include "contract/task_fixture.hpp"

#include <algorithm>
#include <deque>

namespace holt::test {
namespace {

class TaskWake : public TaskTest {
 protected:
  /// One more worker, which finds nothing.
  Client& idle(std::uint32_t want = 1, std::vector<std::string> kinds = {}, Nanos idle_for = 60s) {
    auto& client = workers_.emplace_back(*store_);
    wait_for_work(client, want, std::move(kinds), idle_for);
    return client;
  }
  Claimed wait_for_work(Client& client, std::uint32_t want = 1, std::vector<std::string> kinds = {},
                        Nanos idle_for = 60s) {
    ClaimRequest request(queue, client.owner(), want, 60s);
    request.kinds = std::move(kinds);
    request.idle_for = idle_for;
    return exchange(client, std::move(request));
  }
  static bool is_woken(Client& client) { return client.hears(topic::work, queue); }
  /// How many of them were told, when all has arrived that was sent until now.
  std::size_t woken() {
    for (auto& worker : workers_) settle(worker);
    return static_cast<std::size_t>(std::ranges::count_if(
        workers_, [](Client& worker) { return worker.heard(topic::work, queue); }));
  }
  /// What was sent to it before this call has arrived when it returns: signals of one sender to
  /// one inbox keep their order.
  void settle(Client& client) {
    auto const mark = "mark" + std::to_string(++marks_);
    client_.engine().signals().send(client.engine().signals().inbox(),
                                    {std::string(topic::check), mark});
    EXPECT_TRUE(client.hears(topic::check, mark));
  }

  std::deque<Client> workers_;
  int marks_ = 0;
};
HOLT_ON_EVERY_ENGINE(TaskWake);

TEST_P(TaskWake, AnIdleWorkerHearsOfATask) {
  auto& worker = idle();
  add();
  EXPECT_TRUE(is_woken(worker));
  EXPECT_EQ(wait_for_work(worker).tasks.size(), 1U);
}

TEST_P(TaskWake, OnceAndThenItIsNotIdle) {
  auto& worker = idle();
  add();
  ASSERT_TRUE(is_woken(worker));
  add_many(5);
  settle(worker);
  EXPECT_EQ(worker.times_heard(topic::work, queue), 1U);
}

TEST_P(TaskWake, OneTaskWakesOneWorker) {
  for (int i = 0; i < 4; ++i) idle();
  add();
  EXPECT_TRUE(comes_true([&] { return woken() == 1; }));
}

TEST_P(TaskWake, ABurstWakesThoseWhoseWantsItFills) {
  for (int i = 0; i < 4; ++i) idle(10);
  add_many(15);
  EXPECT_TRUE(comes_true([&] { return woken() == 2; }));
  add_many(100);
  EXPECT_TRUE(comes_true([&] { return woken() == 4; }));
}

TEST_P(TaskWake, OnlyWorkersForItsKindHearOfIt) {
  auto& other = idle(1, {"other"});
  auto& right = idle(1, {"more", "job"});
  add("job");
  EXPECT_TRUE(is_woken(right));
  settle(other);
  EXPECT_FALSE(other.heard(topic::work, queue));
  add("other");
  EXPECT_TRUE(is_woken(other));
}

TEST_P(TaskWake, WhoWasSatisfiedIsNotIdle) {
  auto& worker = idle(1);
  add();
  ASSERT_TRUE(is_woken(worker));
  EXPECT_EQ(wait_for_work(worker).tasks.size(), 1U);
  add();
  settle(worker);
  EXPECT_EQ(worker.times_heard(topic::work, queue), 1U);
}

TEST_P(TaskWake, WhoDidNotAskForItIsNotWoken) {
  auto& worker = idle(1, {}, 0s);
  add();
  settle(worker);
  EXPECT_FALSE(worker.heard(topic::work, queue));
}

TEST_P(TaskWake, WhoseTimeToIdleIsOverIsNotWoken) {
  auto& worker = idle(1, {}, 1s);
  advance(1100ms);
  add();
  settle(worker);
  EXPECT_FALSE(worker.heard(topic::work, queue));
}

TEST_P(TaskWake, WorkersOfAnotherQueueAreNotWoken) {
  auto& worker = idle();
  run(tasks().add(AddRequest("another", {NewTask("job", "")}), deadline()));
  settle(worker);
  EXPECT_FALSE(worker.heard(topic::work, queue));
  EXPECT_FALSE(worker.heard(topic::work, "another"));
}

TEST_P(TaskWake, ATaskForLaterWakesOneIfItIsTheFirstToBeDue) {
  for (int i = 0; i < 2; ++i) idle();
  NewTask task("job", "");
  task.delay = 1h;
  add(task);
  EXPECT_TRUE(comes_true([&] { return woken() == 1; }));
  task.delay = 2h;
  add(task);
  EXPECT_EQ(woken(), 1U);
  task.delay = 30min;
  add(task);
  EXPECT_TRUE(comes_true([&] { return woken() == 2; }));
}

TEST_P(TaskWake, ATaskThatIsGivenBackWakesWhoIsIdle) {
  auto const id = add();
  auto const held = claim_one();
  auto& worker = idle();
  give_back(held.owner);
  EXPECT_TRUE(is_woken(worker));
  EXPECT_EQ(numbers(wait_for_work(worker).tasks), numbers({id}));
}

TEST_P(TaskWake, WhoHoldsTasksHearsThatOthersIdle) {
  EXPECT_FALSE(exchange(asking(1)).others_idle);
  auto& worker = idle(1, {"job"});
  auto request = asking(1);
  EXPECT_TRUE(exchange(request).others_idle);
  request = asking(1);
  request.kinds = {"other"};
  EXPECT_FALSE(exchange(request).others_idle);
  request.owner = client_.owner();
  request.kinds = {"other", "job"};
  EXPECT_TRUE(exchange(request).others_idle);
  EXPECT_FALSE(wait_for_work(worker, 1, {"job"}).others_idle) << "itself";
}

}  // namespace
}  // namespace holt::test
