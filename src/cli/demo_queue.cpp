// SPDX-License-Identifier: Apache-2.0
// The act of `holt demo` on a queue: workers that share its tasks, one that dies with a task.

#include "cli/demo_stage.hpp"
#include "cli/demo_story.hpp"
#include "cli/demo_telling.hpp"
#include "cli/exit_code.hpp"
#include "cli/failure.hpp"

#include <holt/clock.hpp>
#include <holt/open.hpp>
#include <holt/queue.hpp>
#include <holt/task.hpp>

#include <fmt/format.h>

#include <signal.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace holt::cli {
namespace {

using std::chrono_literals::operator""ms;

constexpr auto time_in_task = 100ms;
/// The long one: who begins it is killed in its middle. The others are done before its lease ends.
constexpr std::size_t fatal = 6;

char letter(std::size_t task) { return static_cast<char>('a' + task); }

std::vector<AddedTask> add_tasks(Queue& queue) {
  std::vector<TaskDraft> drafts;
  drafts.reserve(demo_tasks);
  for (std::size_t i = 0; i < demo_tasks; ++i) {
    drafts.push_back({.kind = i == fatal ? demo_long : demo_short,
                      .payload = std::string(1, letter(i)),
                      .options = {}});
  }
  return queue.add_many(drafts);
}

}  // namespace

bool Facts::each_done_once() const noexcept {
  return all_completed && std::ranges::all_of(done, [](int times) { return times == 1; }) &&
         attempts.one_at_a_time() && attempts.polls() > demo_tasks;
}

void Story::queue() {
  say('\n' +
      fmt::format("The {} that are left do the {} tasks of a queue. The lease of a task lives "
                  "{:.0f} s.",
                  pollers_.size(), demo_tasks, in_s(demo_claim_ttl)));
  for (auto const worker : pollers_) stage_.tell(worker, "work");
  auto queue = holt_.queue(demo_queue);
  auto const tasks = add_tasks(queue);
  watch([this] { return facts_.attempts.poller(fatal) != 0; });
  killed_worker(queue, tasks[fatal].id);
  watch([this] { return std::ranges::count(facts_.done, 0) == 0; }, task_lease_end_);
  finish_work();
  facts_.all_completed = std::ranges::all_of(tasks, [&](AddedTask const& task) {
    auto const info = queue.find(task.id);
    return info && info->state == TaskState::completed;
  });
}

void Story::killed_worker(Queue& queue, TaskId const& task) {
  stage_.pause(time_in_task);
  auto const worker = facts_.attempts.poller(fatal);
  std::erase(pollers_, worker);
  killed_.push_back(worker);
  stage_.signal(worker, SIGKILL);
  auto const killed = BootClock::now();
  watch([&] { return heard("gone", worker); });
  facts_.attempts.dies(worker, killed);
  auto const left = queue.find(task);  // only now: until it was dead it might have renewed it
  if (!left || left->state != TaskState::running) {
    throw Failure(ExitCode::failed, "the store knows no task of the killed one, though it had one");
  }
  task_lease_end_ = BootClock::now() + left->expires_in;
  say_trouble(
      fmt::format("Worker {} is killed (SIGKILL) in the middle of {}. Its lease has {:.2f} s left.",
                  worker, letter(fatal), in_s(task_lease_end_ - killed)));
}

void Story::finish_work() {
  for (auto const worker : pollers_) {
    stage_.tell(worker, "finish");
    watch([&] { return heard("finished", worker); });  // the store knows of all that it did by then
  }
}

void Story::write_down_task(Message const& message) {
  auto const number = [&](std::size_t i) { return message.numbers.at(i); };
  auto const task = static_cast<std::size_t>(number(0));
  if (message.word == "did") {
    facts_.attempts.ends(task, message.worker, instant(number(1)));
    ++facts_.done.at(task);
    return;
  }
  auto const fence = static_cast<std::uint64_t>(number(1));
  auto const at = instant(number(2));
  facts_.attempts.begins(task, message.worker, fence, at);
  std::string again;
  if (task == fatal && number(3) > 1) {
    facts_.task_again = later_than(task_lease_end_, at);
    again = fmt::format("attempt {}, {:.2f} ms after that lease ended", number(3),
                        in_ms(facts_.task_again));
  }
  print(at, message.worker, "begins",
        fmt::format("{}   {}   {}", letter(task), fence_text(fence), again));
}

}  // namespace holt::cli
