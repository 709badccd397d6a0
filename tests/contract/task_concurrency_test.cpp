// SPDX-License-Identifier: Apache-2.0
// Several adders and claimers at once: each task is given out once and completed once, and no fence
// comes twice.

#include "contract/task_fixture.hpp"

#include <atomic>
#include <future>
#include <map>
#include <mutex>
#include <set>
#include <thread>

namespace holt::test {
namespace {

template <class Work>
void on_threads(int count, Work const& work) {
  std::vector<std::jthread> threads;
  for (int i = 0; i < count; ++i) threads.emplace_back([&work, i] { work(i); });
}

class TaskConcurrency : public TaskTest {
 protected:
  /// Claims and completes by one exchange after the other until nothing comes.
  template <class Took>
  void drain(Client& client, std::uint32_t batch, Took const& took) {
    Held held{client.owner(), {}};
    for (;;) {
      ClaimRequest request(queue, client.owner(), batch, 60s);
      request.answered = held.owner;
      for (std::size_t i = 0; i < held.size(); ++i) {
        request.finishes.push_back(held.finish(TaskOutcome::completed, i));
      }
      auto const owner = request.owner;
      auto claimed = exchange(client, std::move(request));
      for (auto const& finish : claimed.finishes) EXPECT_TRUE(finish);
      for (auto const& task : claimed.tasks) took(task.id, claimed.fence);
      bool const empty = claimed.tasks.empty();
      held = {owner, std::move(claimed)};
      if (empty) return;
    }
  }
};
HOLT_ON_EVERY_ENGINE(TaskConcurrency);

TEST_P(TaskConcurrency, EachTaskIsGivenOutOnce) {
  constexpr std::size_t many = 600;
  add_many(many);
  Client other(*store_);
  std::mutex mutex;
  std::map<TaskId, int> taken;
  on_threads(4, [&](int thread) {
    drain(thread % 2 == 0 ? client_ : other, 7, [&](TaskId const& id, Fence) {
      std::scoped_lock const lock(mutex);
      ++taken[id];
    });
  });
  EXPECT_EQ(taken.size(), many);
  for (auto const& [id, times] : taken) EXPECT_EQ(times, 1) << id.text();
  EXPECT_EQ(count().completed, many);
}

TEST_P(TaskConcurrency, NoFenceIsGivenTwice) {
  add_many(200);
  std::mutex mutex;
  std::map<Fence, std::set<int>> claimers;
  on_threads(4, [&](int thread) {
    drain(client_, 3, [&](TaskId const&, Fence fence) {
      std::scoped_lock const lock(mutex);
      claimers[fence].insert(thread);
    });
  });
  for (auto const& [fence, who] : claimers) EXPECT_EQ(who.size(), 1U) << fence.value();
  EXPECT_GE(claimers.size(), 200U / 3);
}

TEST_P(TaskConcurrency, FencesGrowFromClaimToClaim) {
  add_many(5);
  Fence last;
  for (int i = 0; i < 5; ++i) {
    auto const held = claim_one();
    EXPECT_GT(held.claimed.fence, last);
    last = held.claimed.fence;
    EXPECT_TRUE(return_as(i % 2 == 0 ? TaskOutcome::untouched : TaskOutcome::failed, held));
  }
}

TEST_P(TaskConcurrency, AddersAndClaimersMix) {
  std::atomic<bool> added_all{false};
  std::atomic<std::size_t> completed{0};
  std::jthread adders([&] {
    on_threads(3, [&](int) {
      for (int i = 0; i < 30; ++i) add_many(1 + i % 3);
    });
    added_all = true;
  });
  on_threads(3, [&](int) {
    for (;;) {
      bool const last_round = added_all;
      drain(client_, 5, [&](TaskId const&, Fence) { ++completed; });
      if (last_round) return;
    }
  });
  EXPECT_EQ(completed, 180U);
  EXPECT_EQ(count().pending, 0U);
}

TEST_P(TaskConcurrency, NumbersOfOneAdderGrow) {
  on_threads(4, [&](int) {
    std::uint64_t last = 0;
    for (int i = 0; i < 30; ++i) {
      auto const number = add().number();
      EXPECT_GT(number, last);
      last = number;
    }
  });
  EXPECT_EQ(count().pending, 120U);
}

TEST_P(TaskConcurrency, OfTwoWhoHandInOneWins) {
  for (int round = 0; round < 5; ++round) {
    add();
    auto const held = claim_one();
    std::atomic<int> accepted{0};
    on_threads(4, [&](int) {
      if (complete(held)) ++accepted;
    });
    EXPECT_EQ(accepted, 1);
  }
}

TEST_P(TaskConcurrency, TheSameExchangeTwiceAtOnceIsDoneOnce) {
  add_many(10);
  for (int round = 0; round < 5; ++round) {
    auto const request = asking(2);
    std::mutex mutex;
    std::set<Fence> fences;
    on_threads(3, [&](int) {
      auto const claimed = exchange(request);
      std::scoped_lock const lock(mutex);
      EXPECT_EQ(claimed.tasks.size(), 2U);
      fences.insert(claimed.fence);
    });
    EXPECT_EQ(fences.size(), 1U);
  }
  EXPECT_EQ(count().running, 10U);
}

TEST_P(TaskConcurrency, CallsFromTheLoopWork) {
  std::vector<std::future<bool>> answers;
  for (int i = 0; i < 30; ++i) {
    auto answer = std::make_shared<std::promise<bool>>();
    answers.push_back(answer->get_future());
    AddRequest request(queue, {NewTask("job", "")});
    asio::co_spawn(store_->env().executor(), tasks().add(std::move(request), deadline()),
                   [answer](std::exception_ptr const& error, auto const& added) {
                     answer->set_value(!error && added.size() == 1);
                   });
  }
  for (auto& answer : answers) EXPECT_TRUE(answer.get());
  EXPECT_EQ(count().pending, 30U);
}

}  // namespace
}  // namespace holt::test
