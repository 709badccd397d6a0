// SPDX-License-Identifier: Apache-2.0
#pragma once
// What the task queue does on a store, measured: adding, draining through real handlers in several
// processes, picking up when idle. Everything of Holt runs in children, so that the process that
// asks can start more of them. Each call uses queues of its own unless told otherwise, and leaves
// them empty.

#include <cstdint>
#include <string>
#include <vector>

namespace holt::bench {

/// How tasks are made and done.
struct TaskLoad {
  std::size_t count = 100'000;
  int processes = 2;              ///< that work
  std::uint32_t concurrency = 5;  ///< of each: as it is unless one says otherwise
  std::size_t payload = 0;        ///< bytes; 0: a few, as `{"i":12345}`
  std::int64_t handler_ns = 0;    ///< that a handler sleeps
  int queues = 1;                 ///< that the tasks are spread over
  std::string queue;              ///< the first one's name; empty: one that was not used before
};

struct Drained {
  double per_second = 0;       ///< until all was handed in and every worker had stopped
  double cpu_us = 0;           ///< of the workers, per task
  double adds_per_second = 0;  ///< 10,000 at a time
};
/// Adds all, and then lets workers start. Throws if a task is left, or was done twice.
Drained drain(std::string const& url, TaskLoad const& load = {});

/// Tasks per second, so many in a call.
double bulk_adds(std::string const& url, std::size_t count, std::size_t at_a_time);
/// Of threads that add one after the other, all together.
double single_adds(std::string const& url, int callers, std::size_t count);
/// Of coroutines that do so, in one thread.
double single_adds_async(std::string const& url, int callers, std::size_t count);

/// Seconds from before the add to the handler's start, of an idle worker, in a process of its own
/// or in the one that adds.
std::vector<double> pickups(std::string const& url, std::size_t count, bool same_process);

/// Seconds from before an add until another process is told that the task is completed, while so
/// many others per second are added and done.
std::vector<double> completions(std::string const& url, double per_second, double seconds);

}  // namespace holt::bench
