// SPDX-License-Identifier: Apache-2.0
#include "tasks.hpp"

#include "task_crowd.hpp"

#include <holt/asio.hpp>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <fmt/core.h>

#include <exception>
#include <stdexcept>
#include <thread>
#include <utility>

namespace holt::bench {
namespace {

using namespace std::chrono_literals;

/// What its adder waits for has a result: of others that ended only the last ones are kept.
constexpr std::string_view awaited = "wait";

Worker::Handler noop(TaskBoard& board, std::int64_t sleep_ns = 0) {
  return [&board, sleep_ns](Job& job) {
    if (job.task().payload == awaited) job.result("done");
    if (sleep_ns > 0) std::this_thread::sleep_for(std::chrono::nanoseconds(sleep_ns));
    board.done.fetch_add(1, std::memory_order_relaxed);
  };
}

void check_empty(std::string const& url, std::string const& queue, TaskLoad const& load) {
  in_child([&] {
    auto holt = open(url);
    for (int place = 0; place < load.queues; ++place) {
      auto const left = holt.queue(queue_at(queue, place)).count();
      if (left.pending + left.running + left.retrying + left.dead == 0) continue;
      throw std::runtime_error("tasks are left in " + queue_at(queue, place));
    }
  });
}

/// Fills a queue, says how long it took, and drains it.
double adding(std::string const& url, std::size_t count,
              std::function<void(Holt&, std::string const&)> const& add) {
  auto& board = clean_board();
  auto const queue = new_queue();
  in_child([&] {
    auto holt = open(url);
    add_all(holt, queue, {.count = 1}, 1);
    board.began = now();
    add(holt, queue);
    board.ended = now();
  });
  auto const took = board.seconds();
  TaskCrowd(url, queue, {.processes = 1}, board, noop(board)).work_off(count + 1);
  return static_cast<double>(count) / took;
}

std::string payload_of(std::size_t number) { return fmt::format(R"({{"i":{}}})", number); }

boost::asio::awaitable<void> add_each(AsyncQueue queue, std::size_t count) {
  for (std::size_t n = 0; n < count; ++n) {
    [[maybe_unused]] auto const added = co_await queue.add("noop", payload_of(n));
  }
}

}  // namespace

Drained drain(std::string const& url, TaskLoad const& load) {
  auto& board = clean_board();
  auto const queue = load.queue.empty() ? new_queue() : load.queue;
  in_child([&] {
    auto holt = open(url);
    board.began = now();
    add_all(holt, queue, load, 10'000);
    board.ended = now();
  });
  auto const count = static_cast<double>(load.count);
  Drained drained;
  drained.adds_per_second = count / board.seconds();
  TaskCrowd crowd(url, queue, load, board, noop(board, load.handler_ns));
  crowd.work_off(load.count);
  drained.per_second = count / board.seconds();
  drained.cpu_us = static_cast<double>(board.cpu_us) / count;
  if (board.done != load.count) throw std::runtime_error("a task was done twice");
  check_empty(url, queue, load);
  return drained;
}

double bulk_adds(std::string const& url, std::size_t count, std::size_t at_a_time) {
  return adding(url, count, [&](Holt& holt, std::string const& queue) {
    add_all(holt, queue, {.count = count}, at_a_time);
  });
}

double single_adds(std::string const& url, int callers, std::size_t count) {
  auto const each = count / static_cast<std::size_t>(callers);
  auto const all = each * static_cast<std::size_t>(callers);
  return adding(url, all, [&](Holt& holt, std::string const& queue) {
    std::vector<std::jthread> threads;
    for (int i = 0; i < callers; ++i) {
      threads.emplace_back([&] {
        auto mine = holt.queue(queue);
        for (std::size_t n = 0; n < each; ++n) mine.add("noop", payload_of(n));
      });
    }
  });
}

double single_adds_async(std::string const& url, int callers, std::size_t count) {
  auto const each = count / static_cast<std::size_t>(callers);
  auto const all = each * static_cast<std::size_t>(callers);
  return adding(url, all, [&](Holt& holt, std::string const& queue) {
    AsyncHolt async(holt);
    boost::asio::io_context io(1);
    for (int i = 0; i < callers; ++i) {
      boost::asio::co_spawn(io, add_each(async.queue(queue), each),
                            [](std::exception_ptr const& error) {
                              if (error) std::rethrow_exception(error);
                            });
    }
    io.run();
  });
}

std::vector<double> pickups(std::string const& url, std::size_t count, bool same_process) {
  auto& board = clean_board();
  auto const queue = new_queue();
  auto const handler = [&board](Job& job) {
    board.put(static_cast<double>(now() - std::stoll(job.task().payload)) * 1e-9);
  };
  TaskCrowd crowd(url, queue, {.processes = same_process ? 0 : 1}, board, handler);
  crowd.begin();
  in_child([&] {
    auto holt = open(url);
    auto worker = holt.worker({.queue = queue});
    worker.handle("noop", handler);
    if (same_process) worker.start();
    auto of_it = holt.queue(queue);
    for (std::size_t i = 0; i < count; ++i) {
      // Idle for a while, and not in step with anything.
      std::this_thread::sleep_for(20ms + std::chrono::microseconds(i * 7919 % 20'000));
      of_it.add("noop", std::to_string(now()));
      await("a task is begun", [&] { return board.samples > i; });
    }
  });
  crowd.end();
  return board.all();
}

std::vector<double> completions(std::string const& url, double per_second, double seconds) {
  constexpr auto tick = 5ms;
  auto& board = clean_board();
  auto const queue = new_queue();
  TaskCrowd crowd(url, queue, {}, board, noop(board));
  crowd.begin();
  auto const until = now() + static_cast<std::int64_t>(seconds * 1e9);
  auto const adder = start([&] {
    auto holt = open(url);
    auto const count = static_cast<std::size_t>(per_second * 0.005);
    for (auto next = now(); next < until; next += std::chrono::nanoseconds(tick).count()) {
      sleep_until(next);
      add_all(holt, queue, {.count = count}, count);
    }
  });
  in_child([&] {
    auto holt = open(url);
    auto of_it = holt.queue(queue);
    while (now() < until) {
      auto const began = now();
      auto const ended = of_it.wait(of_it.add("noop", awaited).id, 1min);
      if (!ended) throw std::runtime_error("a task does not end");
      board.put(static_cast<double>(now() - began) * 1e-9);
      std::this_thread::sleep_for(10ms);
    }
  });
  finish(adder);
  crowd.end();
  return board.all();
}

}  // namespace holt::bench
