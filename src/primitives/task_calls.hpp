// SPDX-License-Identifier: Apache-2.0
#pragma once
// TaskCalls: what callers ask of a queue that takes more than one question to the store: adding
// although a reply got lost, and waiting for a task's end. Runs wherever it is awaited.

#include "base/request_series.hpp"
#include "contracts/env.hpp"
#include "contracts/signal_bus.hpp"
#include "contracts/task_store.hpp"

#include <boost/asio/awaitable.hpp>

#include <optional>
#include <stop_token>
#include <vector>

namespace holt {

class TaskCalls {
 public:
  TaskCalls(Env& env, TaskStore& tasks, SignalBus& signals)
      : env_(env), tasks_(tasks), signals_(signals) {}

  /// Adds all or none, asking again with the same request when a reply got lost. Throws
  /// EngineError; `unknown` if they may have been added.
  asio::awaitable<std::vector<Added>> add(AddRequest request, Instant deadline);

  /// Waits until the task has ended, looking at 20 ms and then less often, up to each second, and
  /// at once when its end is heard of. Nothing: `give_up` passed, `stop` fired, or it is not there.
  /// Each look has `patience`. Throws EngineError.
  asio::awaitable<std::optional<TaskInfo>> wait(TaskId id, Instant give_up, Nanos patience,
                                                std::stop_token stop);

 private:
  Env& env_;
  TaskStore& tasks_;
  SignalBus& signals_;
  RequestSeries series_;
};

}  // namespace holt
