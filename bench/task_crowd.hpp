// SPDX-License-Identifier: Apache-2.0
#pragma once
// The processes of a measurement of tasks: those that work, and what they share with the one that
// measures.

#include "processes.hpp"
#include "tasks.hpp"

#include <holt/holt.hpp>

#include <atomic>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace holt::bench {

/// Memory of all processes of a measurement.
struct TaskBoard {
  static constexpr std::size_t most_samples = 100'000;

  std::atomic<int> ready = 0;            ///< processes that work
  std::atomic<bool> go = false;          ///< they start
  std::atomic<bool> stop = false;        ///< they stop
  std::atomic<std::size_t> done = 0;     ///< tasks
  std::atomic<std::int64_t> began = 0;   ///< what is measured
  std::atomic<std::int64_t> ended = 0;   ///< and its last part
  std::atomic<std::int64_t> cpu_us = 0;  ///< of processes that work
  std::atomic<std::size_t> samples = 0;
  double sample[most_samples] = {};

  [[nodiscard]] double seconds() const { return static_cast<double>(ended - began) * 1e-9; }
  /// One more sample, if there is room for it.
  void put(double seconds) {
    auto const place = samples++;
    if (place < most_samples) sample[place] = seconds;
  }
  [[nodiscard]] std::vector<double> all() const;
};

/// The one of this process, as it is at first.
TaskBoard& clean_board();

/// A queue's name that was not used before, and those of the others beside it.
std::string new_queue();
std::string queue_at(std::string const& queue, int place);

/// Waits for its end. Throws if it failed.
void finish(pid_t child);
inline void in_child(std::function<void()> const& body) { finish(start(body)); }

/// Adds a load's tasks.
void add_all(Holt& holt, std::string const& queue, TaskLoad const& load, std::size_t at_a_time);

/// Processes that work on a queue, each with a client of its own. They start when `go` says so.
class TaskCrowd {
 public:
  TaskCrowd(std::string const& url, std::string const& queue, TaskLoad const& load,
            TaskBoard& board, Worker::Handler const& handler);
  ~TaskCrowd() { kill_all(children_); }
  TaskCrowd(TaskCrowd const&) = delete;
  TaskCrowd& operator=(TaskCrowd const&) = delete;

  /// Lets them start once all are connected, and waits until so many tasks are done and all have
  /// stopped.
  void work_off(std::size_t count);
  void begin();
  void end();

 private:
  TaskLoad const load_;
  TaskBoard& board_;
  std::vector<pid_t> children_;
};

}  // namespace holt::bench
