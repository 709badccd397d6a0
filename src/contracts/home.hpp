// SPDX-License-Identifier: Apache-2.0
#pragma once
// Home: what an Engine is, too, if it does its work on a loop of its own. A coroutine that runs
// there calls the engine without a hop to another thread, and a caller that waits may do the work
// itself. Other engines work wherever they are called.

#include <boost/asio/any_io_executor.hpp>

#include <functional>
#include <memory>

namespace holt {

namespace asio = boost::asio;

class Home {
 public:
  using Task = std::move_only_function<void()>;

  virtual ~Home() = default;

  /// For coroutines that call the engine. One thread at a time, and nothing there may block.
  [[nodiscard]] virtual asio::any_io_executor home() = 0;

  /// Calls `start` and returns when the task that it was given has been called, at home. This
  /// thread may do home's work meanwhile: then nobody has to wake it. Not at home.
  virtual void host(std::move_only_function<void(Task done)> start) = 0;

  /// While somebody has this, what comes home is done at once; else it may take some milliseconds
  /// after a caller has left. May outlive the engine. Any thread.
  [[nodiscard]] virtual std::shared_ptr<void> attention() = 0;
};

}  // namespace holt
