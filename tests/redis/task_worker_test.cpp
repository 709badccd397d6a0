// SPDX-License-Identifier: Apache-2.0
// A worker whose store is behind a bad network: replies get lost, the store is away for longer than
// the lease, and fences that go back are not used.

#include "redis/store_behind_proxy.hpp"

#include <holt/holt.hpp>

#include <algorithm>
#include <atomic>
#include <mutex>
#include <set>

namespace holt::test {
namespace {

constexpr auto queue_name = "q";

class RedisTaskWorkers : public testing::Test {
 protected:
  Worker worker(Holt& holt, Worker::Handler handler, WorkerOptions options = {}) {
    options.queue = queue_name;
    auto made = holt.worker(options);
    made.handle("job", std::move(handler));
    return made;
  }
  std::vector<TaskId> add(std::size_t count) {
    std::vector<TaskId> ids;
    std::vector<TaskDraft> const drafts(count, TaskDraft{"job", "", {}});
    for (auto const& added : queue_.add_many(drafts)) ids.push_back(added.id);
    return ids;
  }

  RedisServer server_;
  TcpProxy proxy_{server_.port()};
  Holt direct_ = open(server_.url());
  Queue queue_ = direct_.queue(queue_name);
};

/// Each answer that is lost is asked for again, as the same owner: nothing is done twice, nobody is
/// told that it lost what it has, and no batch is left with nobody.
TEST_F(RedisTaskWorkers, LostRepliesCostTimeAndNothingElse) {
  constexpr std::size_t tasks = 400;
  auto behind = open(url_of(proxy_));
  std::atomic<std::size_t> starts = 0;
  std::atomic<std::size_t> late = 0;
  auto doing = worker(behind, [&](Job&) { ++starts; }, {.concurrency = 2, .prefetch = 10});
  doing.on_late([&](LateFinish const&) { ++late; });
  doing.start();
  add(tasks);
  for (int i = 0; i < 20; ++i) {
    auto const before = proxy_.cuts();
    proxy_.cut_before(Way::to_client, static_cast<std::uint64_t>(i % 3) * 40);
    if (!wait_until([&] { return proxy_.cuts() > before || starts >= tasks; })) break;
  }
  proxy_.pass();
  EXPECT_TRUE(wait_until([&] { return queue_.count().completed == tasks; }));
  EXPECT_EQ(starts, tasks);
  EXPECT_EQ(late, 0U);
  EXPECT_GE(proxy_.cuts(), 5U);
  EXPECT_TRUE(doing.stop());
}

TEST_F(RedisTaskWorkers, AStoreThatIsAwayForLongerThanTheLeaseIsFoundAgain) {
  auto behind = open(url_of(proxy_), {.timeout = 500ms});
  std::atomic<bool> started = false;
  std::atomic<bool> told_in_time = false;
  std::atomic<bool> stranger_has_it = false;
  std::atomic<int> late = 0;
  auto cut_off =
      worker(behind,
             [&](Job& job) {
               if (started.exchange(true)) return;
               static_cast<void>(wait_until([&] { return job.stop().stop_requested(); }));
               told_in_time = !stranger_has_it && !job.held();
               static_cast<void>(wait_until([&] { return stranger_has_it.load(); }));
             },
             {.concurrency = 1, .ttl = 2s});
  cut_off.on_late([&](LateFinish const&) { ++late; });
  cut_off.start();
  auto const id = add(1).front();
  ASSERT_TRUE(wait_until([&] { return started.load(); }));
  proxy_.black_hole();
  auto next = worker(direct_,
                     [&](Job& job) {
                       stranger_has_it = true;
                       job.result("second");
                     },
                     {.concurrency = 1, .poll = 50ms});
  next.start();
  auto const ended = queue_.wait(id, 30s);
  ASSERT_TRUE(ended);
  EXPECT_EQ(ended->state, TaskState::completed);
  EXPECT_EQ(ended->result, "second");
  EXPECT_TRUE(told_in_time) << "its stop token fires before anybody else can have the task";
  EXPECT_TRUE(next.stop());
  proxy_.pass();
  EXPECT_TRUE(wait_until([&] { return late == 1; }, 40s)) << "what it reports is refused";
  auto const more = add(5);
  for (auto const& each : more) {
    EXPECT_TRUE(queue_.wait(each, 30s)) << "it works on";
  }
}

TEST_F(RedisTaskWorkers, AFenceThatIsNotAboveTheLastIsNotUsed) {
  std::atomic<int> regressions = 0;
  auto watched = open(server_.url(), {.log = [&](LogEvent const& event) {
                        if (event.event == "fence_regression") ++regressions;
                      }});
  std::mutex mutex;
  std::vector<Fence> fences;
  auto doing = worker(watched, [&](Job& job) {
    std::scoped_lock const lock(mutex);
    fences.push_back(job.fence());
  });
  doing.start();
  for (int i = 0; i < 5; ++i) ASSERT_TRUE(queue_.wait(add(1).front(), 30s));
  auto const last = [&] {
    std::scoped_lock const lock(mutex);
    return fences.back();
  }();
  server_.command({"HSET", "holt:default:{q:q}:c", "n", std::to_string(last.value() - 3)});
  auto const ended = queue_.wait(add(1).front(), 30s);
  ASSERT_TRUE(ended);
  EXPECT_EQ(ended->state, TaskState::completed);
  EXPECT_EQ(ended->attempt, 1U) << "those that were not used cost nothing";
  EXPECT_GT(regressions, 0);
  std::scoped_lock const lock(mutex);
  EXPECT_TRUE(std::ranges::is_sorted(fences));
  EXPECT_EQ(std::set(fences.begin(), fences.end()).size(), fences.size());
}

}  // namespace
}  // namespace holt::test
