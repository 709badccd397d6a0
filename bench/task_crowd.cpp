// SPDX-License-Identifier: Apache-2.0
#include "task_crowd.hpp"

#include "figures.hpp"

#include <fmt/core.h>

#include <sys/wait.h>

#include <algorithm>
#include <deque>
#include <stdexcept>
#include <thread>

namespace holt::bench {
namespace {

using namespace std::chrono_literals;

void raise(std::atomic<std::int64_t>& value, std::int64_t to) {
  for (auto seen = value.load(); seen < to && !value.compare_exchange_weak(seen, to);) continue;
}

/// A process that works, on its part of the queues.
void work(std::string const& url, std::string const& queue, TaskLoad const& load, int process,
          TaskBoard& board, Worker::Handler const& handler) {
  auto holt = open(url);
  std::deque<Worker> workers;
  int const step = load.queues == 1 ? 1 : load.processes;
  for (int place = load.queues == 1 ? 0 : process; place < load.queues; place += step) {
    auto const name = queue_at(queue, place);
    workers.push_back(holt.worker({.queue = name, .concurrency = load.concurrency}));
    workers.back().handle("noop", handler);
  }
  [[maybe_unused]] auto const connected = holt.queue(queue).count();
  ++board.ready;
  while (!board.go) std::this_thread::sleep_for(200us);
  auto const cpu = cpu_seconds();
  for (auto& worker : workers) worker.start();
  while (!board.stop) std::this_thread::sleep_for(500us);
  for (auto& worker : workers) {
    if (!worker.stop()) throw std::runtime_error("a worker did not stop in good order");
  }
  raise(board.ended, now());
  board.cpu_us += static_cast<std::int64_t>((cpu_seconds() - cpu) * 1e6);
}

}  // namespace

std::vector<double> TaskBoard::all() const {
  return {sample, sample + std::min(samples.load(), most_samples)};
}

TaskBoard& clean_board() {
  static TaskBoard& board = make_board<TaskBoard>();
  board.ready = 0;
  board.go = board.stop = false;
  board.done = board.samples = 0;
  board.began = board.ended = board.cpu_us = 0;
  return board;
}

std::string new_queue() {
  static int number = 0;
  return fmt::format("bench-{}", ++number);
}

std::string queue_at(std::string const& queue, int place) {
  return place == 0 ? queue : fmt::format("{}-{}", queue, place);
}

void finish(pid_t child) {
  int status = 0;
  ::waitpid(child, &status, 0);
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) throw std::runtime_error("a process failed");
}

void add_all(Holt& holt, std::string const& queue, TaskLoad const& load, std::size_t at_a_time) {
  std::string const padding(load.payload, 'x');
  auto const queues = static_cast<std::size_t>(load.queues);
  for (std::size_t place = 0; place < queues; ++place) {
    auto of_one = holt.queue(queue_at(queue, static_cast<int>(place)));
    auto const end = load.count * (place + 1) / queues;
    for (auto at = load.count * place / queues; at < end;) {
      std::vector<TaskDraft> drafts;
      for (; at < end && drafts.size() < at_a_time; ++at) {
        drafts.push_back(
            {"noop", padding.empty() ? fmt::format(R"({{"i":{}}})", at) : padding, {}});
      }
      of_one.add_many(drafts);
    }
  }
}

TaskCrowd::TaskCrowd(std::string const& url, std::string const& queue, TaskLoad const& load,
                     TaskBoard& board, Worker::Handler const& handler)
    : load_(load), board_(board) {
  for (int process = 0; process < load.processes; ++process) {
    children_.push_back(start([&] { work(url, queue, load, process, board, handler); }));
  }
}

void TaskCrowd::begin() {
  await("workers are connected", [this] { return board_.ready == load_.processes; });
  board_.began = now();
  board_.ended = 0;
  board_.go = true;
}

void TaskCrowd::work_off(std::size_t count) {
  begin();
  auto last = board_.done.load();
  auto moved = now();
  while (board_.done < count) {
    std::this_thread::sleep_for(1ms);
    if (board_.done != last) moved = now();
    last = board_.done;
    if (now() - moved > std::chrono::nanoseconds(1min).count()) {
      throw std::runtime_error("tasks are not done");
    }
  }
  end();
}

void TaskCrowd::end() {
  board_.stop = true;
  while (!children_.empty()) {
    auto const child = children_.back();
    children_.pop_back();
    finish(child);
  }
}

}  // namespace holt::bench
