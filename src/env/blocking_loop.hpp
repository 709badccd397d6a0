// SPDX-License-Identifier: Apache-2.0
#pragma once
// BlockingLoop: a loop for work that blocks, with a thread that starts when the loop is first asked
// for. What is under way when it goes is waited for.

#include "env/worker_thread.hpp"

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>

#include <memory>
#include <mutex>

namespace holt {

class BlockingLoop {
 public:
  /// Any thread.
  [[nodiscard]] boost::asio::any_io_executor executor() {
    std::scoped_lock const lock(mutex_);
    if (!running_) running_ = std::make_unique<Running>();
    return running_->io.get_executor();
  }

  void end() {
    std::scoped_lock const lock(mutex_);
    running_.reset();
  }

 private:
  struct Running {
    boost::asio::io_context io{1};
    boost::asio::executor_work_guard<boost::asio::io_context::executor_type> work{
        io.get_executor()};
    WorkerThread thread{"holt-blocking", [this] { io.run(); }};

    ~Running() { work.reset(); }
  };

  std::mutex mutex_;
  std::unique_ptr<Running> running_;
};

}  // namespace holt
