// SPDX-License-Identifier: Apache-2.0
// A hundred thousand tasks, of which one in a hundred kills the process that its handler runs in:
// most of these once, some of them always, a few of those three times. None is lost, none is
// completed twice, none is stuck, and those that always kill end dead.

#include "process/task_crew.hpp"
#include "process/task_processes.hpp"

namespace holt::test {
namespace {

class TasksThatKillTheirWorkers : public TaskPlaceTest {
 protected:
  /// Adds so many; every hundredth kills, every thousandth always.
  void add_all(std::size_t count) {
    constexpr std::size_t together = 10'000;
    std::vector<TaskDraft> drafts;
    for (std::size_t i = 0; i < count; ++i) {
      bool const always = i % 1000 == 500;
      bool const once = i % 100 == 0;
      drafts.push_back({Doer::kind,
                        always ? "die"
                        : once ? "crash " + folder_.file("crashed-" + std::to_string(i))
                               : "",
                        {.max_attempts = always && i % 5000 != 2500 ? 1U : 3U}});
      if (drafts.size() < together && i + 1 < count) continue;
      auto const added = queue_->add_many(drafts);
      for (std::size_t j = 0; j < added.size(); ++j) {
        (drafts[j].payload == "die" ? killers_ : others_).push_back(added[j].id);
      }
      drafts.clear();
    }
  }

  void survive(std::size_t count) {
    add_all(count);
    TaskCrew crew(url_,
                  {.queue = queue_name,
                   .ttl = 1s,
                   .concurrency = 2,
                   .prefetch = 8,
                   .ledger = ledger_,
                   .who = "worker"},
                  4);
    EXPECT_TRUE(all_end(800s));
    EXPECT_TRUE(crew.stop());
    expect_all_completed(others_);
    auto const dead = fences(TaskState::dead);
    EXPECT_EQ(dead.size(), killers_.size());
    for (auto const& id : killers_) EXPECT_TRUE(dead.contains(id)) << id.text();
    EXPECT_GE(book().starts(), count + count / 100) << "some did not kill";
  }

 private:
  std::vector<TaskId> killers_;
  std::vector<TaskId> others_;
};
INSTANTIATE_TEST_SUITE_P(Sqlite, TasksThatKillTheirWorkers, testing::Values(&sqlite_place),
                         [](auto const&) { return "sqlite"; });
INSTANTIATE_TEST_SUITE_P(Redis, TasksThatKillTheirWorkers, testing::Values(&redis_place),
                         [](auto const&) { return "redis"; });
INSTANTIATE_TEST_SUITE_P(Postgres, TasksThatKillTheirWorkers, testing::Values(&postgres_place),
                         [](auto const&) { return "postgres"; });

TEST_P(TasksThatKillTheirWorkers, EndDeadAndAllOthersAreDoneOnce) { survive(100'000); }

}  // namespace
}  // namespace holt::test
